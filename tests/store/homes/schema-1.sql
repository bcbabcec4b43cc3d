-- A home of schema 1, as the program of that version wrote it: three revisions, a conflict, an open call, a begun operation.
PRAGMA application_id=1381321544;
PRAGMA user_version=1;
BEGIN TRANSACTION;
CREATE TABLE active (one INTEGER PRIMARY KEY CHECK (one = 1), sequence INTEGER NOT NULL REFERENCES revision) STRICT;
INSERT INTO "active" VALUES(1,3);
CREATE TABLE audit (sequence INTEGER PRIMARY KEY AUTOINCREMENT, at_ms INTEGER NOT NULL, event TEXT NOT NULL,
  surface TEXT NOT NULL, subject TEXT NOT NULL, about TEXT NOT NULL, detail TEXT NOT NULL) STRICT;
INSERT INTO "audit" VALUES(1,1000001,'trust.added','cli','user:local','acme.notes','5555555555555555555555555555555555555555555555555555555555555555');
INSERT INTO "audit" VALUES(2,1000002,'source.added','cli','user:local','local','/releases');
INSERT INTO "audit" VALUES(3,1000004,'profile.published','cli','user:local','r1-af4c58933554a6c8','op_first');
INSERT INTO "audit" VALUES(4,1000006,'release.staged','cli','user:local','acme.notes@1.0.0','5555555555555555555555555555555555555555555555555555555555555555');
INSERT INTO "audit" VALUES(5,1000006,'profile.published','cli','user:local','r2-2cc6421ee0d8b426','op_second');
INSERT INTO "audit" VALUES(6,1000008,'release.staged','cli','user:local','acme.notes@2.0.0','5555555555555555555555555555555555555555555555555555555555555555');
INSERT INTO "audit" VALUES(7,1000008,'profile.published','cli','user:local','r3-d237a61193c61b65','op_third');
INSERT INTO "audit" VALUES(8,1000010,'profile.conflicted','cli','user:local','r3-d237a61193c61b65','op_lost');
INSERT INTO "audit" VALUES(9,1000011,'task.issued','cli','user:local','task_hbeg5na3hilga46fyueo4kx6wq','desk');
INSERT INTO "audit" VALUES(10,1000012,'invocation.captured','cli','user:local','inv_done','acme.notes/add');
INSERT INTO "audit" VALUES(11,1000013,'invocation.finished','cli','user:local','inv_done','succeeded');
INSERT INTO "audit" VALUES(12,1000014,'invocation.captured','cli','user:local','inv_open','acme.notes/add');
CREATE TABLE command (generation TEXT NOT NULL, identity TEXT NOT NULL, record TEXT NOT NULL,
  PRIMARY KEY (generation, identity)) STRICT, WITHOUT ROWID;
INSERT INTO "command" VALUES('g0','acme.notes/add','{"identity":"acme.notes/add","package":"acme.notes"}');
INSERT INTO "command" VALUES('g1','acme.notes/add','{"identity":"acme.notes/add","package":"acme.notes"}');
INSERT INTO "command" VALUES('g2','acme.notes/add','{"identity":"acme.notes/add","package":"acme.notes"}');
INSERT INTO "command" VALUES('g9','acme.notes/add','{"identity":"acme.notes/add","package":"acme.notes"}');
CREATE TABLE export (projection TEXT NOT NULL, endpoint TEXT NOT NULL, identity TEXT NOT NULL, tail TEXT NOT NULL,
  PRIMARY KEY (projection, endpoint, identity)) STRICT, WITHOUT ROWID;
INSERT INTO "export" VALUES('01822ae94293760ad299312fd80a9f5e8349f8cb08e340e73d648c8a00bf95a0','desk','acme.notes/add','tg0');
INSERT INTO "export" VALUES('0cb750035aaeb7d649772e79f30a96e41a8f124de6933c35373574d076d92501','desk','acme.notes/add','tg1');
INSERT INTO "export" VALUES('4e5c3c07de648969f281ea172ac128826a7224566b0900900d1241262e4a8ffd','desk','acme.notes/add','tg9');
INSERT INTO "export" VALUES('7dcb58166033543a5fbfcb37ea04184b3d8b7ba381f1988c4ffcff5da72be142','desk','acme.notes/add','tg2');
CREATE TABLE invocation (id TEXT PRIMARY KEY, surface TEXT NOT NULL, subject TEXT NOT NULL, actor TEXT NOT NULL,
  task TEXT, revision TEXT NOT NULL, identity TEXT NOT NULL, tree TEXT NOT NULL, outcome TEXT, envelope TEXT,
  stdout BLOB, stdout_dropped INTEGER, stderr BLOB, stderr_dropped INTEGER,
  captured_ms INTEGER NOT NULL, finished_ms INTEGER, keep_until_ms INTEGER) STRICT, WITHOUT ROWID;
INSERT INTO "invocation" VALUES('inv_done','cli','user:local','user:local',NULL,'r3-d237a61193c61b65','acme.notes/add','2222222222222222222222222222222222222222222222222222222222222222','succeeded','{"outcome":"succeeded"}',X'6F7574',0,X'',0,1000012,1000013,605800013);
INSERT INTO "invocation" VALUES('inv_open','cli','user:local','user:local',NULL,'r3-d237a61193c61b65','acme.notes/add','2222222222222222222222222222222222222222222222222222222222222222',NULL,NULL,NULL,NULL,NULL,NULL,1000014,NULL,NULL);
CREATE TABLE meta (name TEXT PRIMARY KEY, value ANY NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO "meta" VALUES('high_water_ms',1000015);
INSERT INTO "meta" VALUES('last_sequence',3);
CREATE TABLE namespace (endpoint TEXT PRIMARY KEY, namespace TEXT NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO "namespace" VALUES('desk','acme.desk');
CREATE TABLE operation (id TEXT PRIMARY KEY, digest TEXT NOT NULL, expected TEXT NOT NULL, state TEXT NOT NULL,
  revision TEXT, detail TEXT NOT NULL, begun_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO "operation" VALUES('op_begun','c5f006b0aab73aa4afc0555c2336a84a443109c92896919f161b271d84715e3e','r3-d237a61193c61b65','begun',NULL,'',1000015);
INSERT INTO "operation" VALUES('op_first','4b748bffdb7c456f577c5d65dd8c867a516548499b507e01badb91431e60ef33','','committed','r1-af4c58933554a6c8','',1000003);
INSERT INTO "operation" VALUES('op_lost','1b0315b1fb73ddf14465f4e6fd684f7bccd83c8e00da74cf4270dcb0da4700de','r2-2cc6421ee0d8b426','conflicted','r3-d237a61193c61b65','',1000009);
INSERT INTO "operation" VALUES('op_second','be03e8ded2c248b51a29cf7dbcf8ed62978410e48636e8e46666cb7cfff3ecd9','r1-af4c58933554a6c8','committed','r2-2cc6421ee0d8b426','',1000005);
INSERT INTO "operation" VALUES('op_third','74d9f2a389a76ecd1010e49c2b06bec4e6fe701f4df9d7846285029def927f2f','r2-2cc6421ee0d8b426','committed','r3-d237a61193c61b65','',1000007);
CREATE TABLE reference (invocation TEXT PRIMARY KEY, tree TEXT NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO "reference" VALUES('inv_open','2222222222222222222222222222222222222222222222222222222222222222');
CREATE TABLE release (tree TEXT PRIMARY KEY, package TEXT NOT NULL, version TEXT NOT NULL, signer TEXT NOT NULL,
  artifact TEXT NOT NULL, descriptor TEXT NOT NULL, staged_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO "release" VALUES('1111111111111111111111111111111111111111111111111111111111111111','acme.notes','1.0.0','5555555555555555555555555555555555555555555555555555555555555555','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd',1000006);
INSERT INTO "release" VALUES('2222222222222222222222222222222222222222222222222222222222222222','acme.notes','2.0.0','5555555555555555555555555555555555555555555555555555555555555555','bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb','dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd',1000008);
CREATE TABLE revision (sequence INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, profile TEXT NOT NULL,
  generation TEXT NOT NULL, projection TEXT NOT NULL, operation TEXT NOT NULL UNIQUE,
  published_ms INTEGER NOT NULL) STRICT;
INSERT INTO "revision" VALUES(1,'r1-af4c58933554a6c8','{"endpoints":{"desk":{"namespace":"acme.desk"}},"environment":{},"format":"rukh.profile/1","limits":{},"mark":"one","packages":{},"rules":[]}','g0','01822ae94293760ad299312fd80a9f5e8349f8cb08e340e73d648c8a00bf95a0','op_first',1000004);
INSERT INTO "revision" VALUES(2,'r2-2cc6421ee0d8b426','{"endpoints":{"desk":{"namespace":"acme.desk"}},"environment":{},"format":"rukh.profile/1","limits":{},"mark":"two","packages":{"acme.notes":{"descriptor":"dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd","mount":[],"signer":"5555555555555555555555555555555555555555555555555555555555555555","tree":"1111111111111111111111111111111111111111111111111111111111111111","version":"1.0.0"}},"rules":[]}','g1','0cb750035aaeb7d649772e79f30a96e41a8f124de6933c35373574d076d92501','op_second',1000006);
INSERT INTO "revision" VALUES(3,'r3-d237a61193c61b65','{"endpoints":{"desk":{"namespace":"acme.desk"}},"environment":{},"format":"rukh.profile/1","limits":{},"mark":"three","packages":{"acme.notes":{"descriptor":"dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd","mount":[],"signer":"5555555555555555555555555555555555555555555555555555555555555555","tree":"2222222222222222222222222222222222222222222222222222222222222222","version":"2.0.0"}},"rules":[]}','g2','7dcb58166033543a5fbfcb37ea04184b3d8b7ba381f1988c4ffcff5da72be142','op_third',1000008);
CREATE TABLE route (generation TEXT NOT NULL, path TEXT NOT NULL, kind TEXT NOT NULL, identity TEXT NOT NULL,
  summary TEXT NOT NULL, PRIMARY KEY (generation, path)) STRICT, WITHOUT ROWID;
INSERT INTO "route" VALUES('g0','w0','command','acme.notes/add','Adds');
INSERT INTO "route" VALUES('g1','w1','command','acme.notes/add','Adds');
INSERT INTO "route" VALUES('g2','w2','command','acme.notes/add','Adds');
INSERT INTO "route" VALUES('g9','w9','command','acme.notes/add','Adds');
CREATE TABLE seen (package TEXT NOT NULL, signer TEXT NOT NULL, version TEXT NOT NULL,
  PRIMARY KEY (package, signer)) STRICT, WITHOUT ROWID;
INSERT INTO "seen" VALUES('acme.notes','5555555555555555555555555555555555555555555555555555555555555555','2.0.0');
CREATE TABLE source (name TEXT PRIMARY KEY, location TEXT NOT NULL, added_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO "source" VALUES('local','/releases',1000002);
CREATE TABLE tail (digest TEXT PRIMARY KEY, document TEXT NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO "tail" VALUES('tg0','{}');
INSERT INTO "tail" VALUES('tg1','{}');
INSERT INTO "tail" VALUES('tg2','{}');
INSERT INTO "tail" VALUES('tg9','{}');
CREATE TABLE task (id TEXT PRIMARY KEY, endpoint TEXT NOT NULL, binding TEXT NOT NULL, state TEXT NOT NULL,
  calls_limit INTEGER, calls_used INTEGER NOT NULL, window_ms INTEGER, window_from_ms INTEGER NOT NULL,
  issued_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO "task" VALUES('task_hbeg5na3hilga46fyueo4kx6wq','desk','{"endpoint":"desk"}','active',10,0,NULL,1000011,1000011);
CREATE TABLE trust (package TEXT NOT NULL, key_id TEXT NOT NULL, public_key TEXT NOT NULL, added_ms INTEGER NOT NULL,
  PRIMARY KEY (package, key_id)) STRICT, WITHOUT ROWID;
INSERT INTO "trust" VALUES('acme.notes','5555555555555555555555555555555555555555555555555555555555555555','PEM',1000001);
CREATE UNIQUE INDEX task_of_endpoint ON task (endpoint) WHERE state = 'active';
CREATE INDEX reference_tree ON reference (tree);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('audit',12);
COMMIT;
