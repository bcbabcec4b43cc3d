"""The tables of the one database, and the steps from each schema version to the next (forward only).

The application id marks the file as Rukh's; the user version counts the steps. Both are checked again in every write
transaction, so that a newer program that migrated meanwhile is never written behind. RK-STORE-010 RK-STORE-011
"""

from __future__ import annotations

APPLICATION_ID = 0x52554B48  # "RUKH"

_FIRST = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value ANY NOT NULL) STRICT, WITHOUT ROWID;

-- Publication: contents are addressed by digest and written ahead; `active` is the one pointer.
CREATE TABLE command (generation TEXT NOT NULL, identity TEXT NOT NULL, record TEXT NOT NULL,
  PRIMARY KEY (generation, identity)) STRICT, WITHOUT ROWID;
CREATE TABLE route (generation TEXT NOT NULL, path TEXT NOT NULL, kind TEXT NOT NULL, identity TEXT NOT NULL,
  summary TEXT NOT NULL, PRIMARY KEY (generation, path)) STRICT, WITHOUT ROWID;
CREATE TABLE tail (digest TEXT PRIMARY KEY, document TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE export (projection TEXT NOT NULL, endpoint TEXT NOT NULL, identity TEXT NOT NULL, tail TEXT NOT NULL,
  PRIMARY KEY (projection, endpoint, identity)) STRICT, WITHOUT ROWID;
CREATE TABLE revision (sequence INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, profile TEXT NOT NULL,
  generation TEXT NOT NULL, projection TEXT NOT NULL, operation TEXT NOT NULL UNIQUE,
  published_ms INTEGER NOT NULL) STRICT;
CREATE TABLE active (one INTEGER PRIMARY KEY CHECK (one = 1), sequence INTEGER NOT NULL REFERENCES revision) STRICT;
CREATE TABLE namespace (endpoint TEXT PRIMARY KEY, namespace TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE operation (id TEXT PRIMARY KEY, digest TEXT NOT NULL, expected TEXT NOT NULL, state TEXT NOT NULL,
  revision TEXT, detail TEXT NOT NULL, begun_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;

-- Trust and installation.
CREATE TABLE trust (package TEXT NOT NULL, key_id TEXT NOT NULL, public_key TEXT NOT NULL, added_ms INTEGER NOT NULL,
  PRIMARY KEY (package, key_id)) STRICT, WITHOUT ROWID;
CREATE TABLE source (name TEXT PRIMARY KEY, location TEXT NOT NULL, added_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE release (tree TEXT PRIMARY KEY, package TEXT NOT NULL, version TEXT NOT NULL, signer TEXT NOT NULL,
  artifact TEXT NOT NULL, descriptor TEXT NOT NULL, staged_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE seen (package TEXT NOT NULL, signer TEXT NOT NULL, version TEXT NOT NULL,
  PRIMARY KEY (package, signer)) STRICT, WITHOUT ROWID;

-- Authority.
CREATE TABLE task (id TEXT PRIMARY KEY, endpoint TEXT NOT NULL, binding TEXT NOT NULL, state TEXT NOT NULL,
  calls_limit INTEGER, calls_used INTEGER NOT NULL, window_ms INTEGER, window_from_ms INTEGER NOT NULL,
  issued_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX task_of_endpoint ON task (endpoint) WHERE state = 'active';

-- Calls.
CREATE TABLE invocation (id TEXT PRIMARY KEY, surface TEXT NOT NULL, subject TEXT NOT NULL, actor TEXT NOT NULL,
  task TEXT, revision TEXT NOT NULL, identity TEXT NOT NULL, tree TEXT NOT NULL, outcome TEXT, envelope TEXT,
  stdout BLOB, stdout_dropped INTEGER, stderr BLOB, stderr_dropped INTEGER,
  captured_ms INTEGER NOT NULL, finished_ms INTEGER, keep_until_ms INTEGER) STRICT, WITHOUT ROWID;
CREATE TABLE reference (invocation TEXT PRIMARY KEY, tree TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX reference_tree ON reference (tree);
CREATE TABLE audit (sequence INTEGER PRIMARY KEY AUTOINCREMENT, at_ms INTEGER NOT NULL, event TEXT NOT NULL,
  surface TEXT NOT NULL, subject TEXT NOT NULL, about TEXT NOT NULL, detail TEXT NOT NULL) STRICT;
"""

# Version 2: who owes an answer (`holder`, until the outcome is acknowledged), how far a begun operation has come, what
# an operation would bind, revoked keys, collected releases. An operation that a program of version 1 had begun cannot
# be committed any more, because that program refuses the newer schema; its open calls are ended by the next recovery.
_SECOND = """
ALTER TABLE operation ADD COLUMN step TEXT NOT NULL DEFAULT 'begun';
ALTER TABLE operation ADD COLUMN holder TEXT;
ALTER TABLE operation ADD COLUMN generation TEXT;
ALTER TABLE operation ADD COLUMN projection TEXT;
UPDATE operation SET state = 'aborted', detail = 'the home was brought to schema 2' WHERE state = 'begun';
CREATE INDEX operation_owed ON operation (holder) WHERE holder IS NOT NULL;

ALTER TABLE invocation ADD COLUMN holder TEXT;
UPDATE invocation SET holder = 'hold_of_schema_1' WHERE outcome IS NULL;
CREATE INDEX invocation_open ON invocation (holder) WHERE outcome IS NULL;

-- What an operation's candidate binds: of a committed one, what its revision binds.
CREATE TABLE binding (operation TEXT NOT NULL, package TEXT NOT NULL, tree TEXT NOT NULL, signer TEXT NOT NULL,
  PRIMARY KEY (operation, package)) STRICT, WITHOUT ROWID;
CREATE INDEX binding_tree ON binding (tree);
CREATE INDEX export_tail ON export (tail);
INSERT INTO binding SELECT r.operation, p.key, json_extract(p.value, '$.tree'),
  coalesce(json_extract(p.value, '$.signer'), '') FROM revision r, json_each(r.profile, '$.packages') p;

ALTER TABLE trust ADD COLUMN revoked_ms INTEGER;
ALTER TABLE release ADD COLUMN collected_ms INTEGER;
"""

MIGRATIONS = (_FIRST, _SECOND)
SCHEMA_VERSION = len(MIGRATIONS)
