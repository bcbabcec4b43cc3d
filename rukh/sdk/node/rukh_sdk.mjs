// What a Rukh extension in JavaScript imports: one file, no dependency, Node 18 or newer. Vendor it into the release.
//
//     import { Failed, serve } from "./rukh_sdk.mjs";
//
//     await serve({
//       greet(inputs, context) {
//         if (!inputs.name) throw new Failed("nobody to greet", 2);
//         return { greeting: `Hello, ${inputs.name}` };
//       },
//     });
//
// The functions stand under the ids of the descriptor's commands. One gets the inputs by parameter id, with defaults
// applied (an optional parameter without default is absent when it was not supplied), and the context. It returns the
// declared data, or a promise of it, or throws. `text(function)` marks a command whose declared result is a text.
//
// How a session goes, in the order of RK-AUTHOR-001 to RK-AUTHOR-008:
//
// 1. Importing this file confirms the session and takes the request, so import it first. Descriptor 3 is the channel,
//    4 the token; what is written to stdout and stderr is the command's own.
// 2. `serve` calls the function of the request.
// 3. The process goes on until nothing is left to do, as any program of Node does. Then, in its `exit` event, the
//    report is sent, and the process leaves with the status that it reported. Nothing thrown, rejected or exited goes
//    unreported; a signal does, and the host sees it.

import { closeSync, fstatSync, readSync, writeSync } from "node:fs";
import { Socket } from "node:net";

const PROTOCOL = "rukh.channel/1";
const NAME = "rukh-sdk-node/1";
const CHANNEL = 3;
const TOKEN = 4;
const FRAME_BYTES = 256 * 1024; // one frame with its LF
const DEPTH = 24;
const MEMBERS = 4096;
const MESSAGE_LENGTH = 4096; // code points
const LAST_EXIT_CODE = 63;
const FAILED = 1;
const CAUSES = ["caller", "owner", "deadline", "scope_closed"];
const STATUSES = ["done", "denied", "unavailable", "refused", "uncertain", "failed"];
const TEXT = Symbol("a text is the declared result");

const isText = (value) => typeof value === "string";
const isName = (value) => isText(value) && value !== "" && [...value].length <= 128;
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isTexts = (value) => Array.isArray(value) && value.every(isText);
const isOrdinal = (value) => Number.isSafeInteger(value) && value >= 1;
const isOneOf = (...words) => (value) => words.includes(value);

// What the host may say: type -> [required members, optional members], each with its form.
const FRAMES = {
  hello: [{ protocol: isOneOf(PROTOCOL), session: isName }, {}],
  execute: [{ command: isName, inputs: isObject, supplied: isTexts }, {}],
  describe: [{ command: isName, path: isTexts }, {}],
  operation_result: [{ n: isOrdinal, status: isOneOf(...STATUSES) }, { data: () => true, reason: isObject }],
  cancel: [{ cause: isOneOf(...CAUSES) }, {}],
};

/** The command has failed in a way it knows: `exitCode` is 1 to 63, `result` an optional declared result. */
export class Failed extends Error {
  constructor(message, exitCode = FAILED, result = undefined) {
    super(message);
    if (!Number.isInteger(exitCode) || exitCode < 1 || exitCode > LAST_EXIT_CODE) {
      throw new RangeError(`an exit code is 1 to ${LAST_EXIT_CODE}, not ${exitCode}`);
    }
    this.name = "Failed";
    this.exitCode = exitCode;
    this.result = result;
  }
}

/** Mark the function of a command that declares a text as its result. */
export function text(action) {
  action[TEXT] = true;
  return action;
}

/** The call: `command` as the host named it, `supplied` the set of parameter ids that the caller gave. */
class Context {
  constructor(command, supplied) {
    this.command = command;
    this.supplied = new Set(supplied);
  }

  /** Whether the host has asked for an end. A command that looks here ends well; one that does not is ended. */
  get cancelled() {
    session.look();
    return session.cause !== "";
  }

  /** The same for what takes a signal, such as `fetch` or a timer. */
  get signal() {
    session.listen();
    return session.abort.signal;
  }

  /** Tell how far the work is; never prolongs a deadline. */
  progress(progress, total = undefined, message = undefined) {
    const frame = { type: "progress", progress };
    if (total !== undefined) frame.total = total;
    if (message !== undefined) frame.message = [...message].slice(0, MESSAGE_LENGTH).join("");
    session.say(frame);
  }

  /** Ask the host to act; a promise of `{status, data?, reason?}`. One waits for the other. */
  operation(operation, resource, input) {
    const asked = session.last.then(() => session.ask(operation, resource, input));
    session.last = asked.catch(() => undefined);
    return asked;
  }
}

/** What stands between the bytes of the channel and the command. */
class Session {
  constructor() {
    this.bytes = Buffer.alloc(0);
    this.cause = ""; // of the cancellation; "" without one
    this.abort = new AbortController();
    this.last = Promise.resolve(); // settled when no operation is outstanding
    this.n = 0;
    this.answer = null; // who waits for the result of operation n
    this.socket = null;
    this.ended = false;
  }

  /** Confirm the session and take the request. */
  open() {
    if (!started()) broken("this program is started by a host, which gives it descriptors 3 and 4");
    const token = readAll(TOKEN);
    const hello = this.next("hello");
    this.say({ type: "confirm", session: hello.session, token, sdk: NAME });
    let request = this.next("execute", "describe", "cancel");
    if (request.type === "cancel") process.exit(0); // before anything was asked of the command
    return request;
  }

  /** Read until there is a frame, which must be one of `types`. */
  next(...types) {
    for (;;) {
      const frame = this.take();
      if (frame !== null && types.includes(frame.type)) return frame;
      if (frame !== null) broken(`${frame.type} stands where ${types.join(" or ")} belongs`);
      const data = readSome(CHANNEL);
      if (data === null) pause();
      else if (data.length === 0) broken("the host has gone");
      else this.bytes = Buffer.concat([this.bytes, data]);
    }
  }

  /** The frame of the first whole line, or null. */
  take() {
    const end = this.bytes.indexOf(10);
    if ((end < 0 ? this.bytes.length : end) >= FRAME_BYTES) broken("a frame of the host is too large");
    if (end < 0) return null;
    const line = this.bytes.subarray(0, end);
    this.bytes = this.bytes.subarray(end + 1);
    try {
      return checked(read(line));
    } catch (error) {
      return broken(error.message);
    }
  }

  /** Take what is there without waiting. */
  look() {
    this.listen();
    if (this.ended) return;
    const data = readSome(CHANNEL);
    if (data !== null) this.heard(data);
  }

  /** From here on bytes of the host are taken as they come; they keep no process alive unless an answer is due. */
  listen() {
    if (this.socket !== null) return;
    this.socket = new Socket({ fd: CHANNEL, readable: true, writable: false, allowHalfOpen: true });
    this.socket.on("data", (data) => this.heard(data));
    this.socket.on("end", () => this.heard(Buffer.alloc(0)));
    this.socket.on("error", () => this.heard(Buffer.alloc(0)));
    this.socket.unref();
    this.meet(); // what came together with the request
  }

  meet() {
    for (let frame = this.take(); frame !== null; frame = this.take()) this.met(frame);
  }

  heard(data) {
    if (this.ended) return;
    this.bytes = Buffer.concat([this.bytes, data]);
    this.meet();
    if (data.length > 0) return;
    this.ended = true; // nobody is left who could ask, or answer: the same as being asked to end
    this.cancel("scope_closed");
    if (this.answer !== null) broken("the host has gone");
  }

  met(frame) {
    if (frame.type === "cancel" && this.cause === "") return this.cancel(frame.cause);
    if (frame.type !== "operation_result" || this.answer === null || frame.n !== this.n) {
      return broken(`${frame.type} was not to come now`);
    }
    const answer = this.answer;
    this.answer = null;
    this.socket.unref();
    const { type, n, ...rest } = frame;
    return answer(rest);
  }

  cancel(cause) {
    if (this.cause !== "") return;
    this.cause = cause;
    this.abort.abort(new Error(`cancelled: ${cause}`));
  }

  ask(operation, resource, input) {
    this.listen();
    this.say({ type: "operation", n: this.n + 1, operation, resource, input });
    this.n += 1;
    this.socket.ref();
    return new Promise((resolve) => {
      this.answer = resolve;
    });
  }

  say(frame) {
    writeAll(Buffer.from(`${write(frame, "")}\n`));
  }
}

// What becomes of the call. Whatever ends the process, one report is sent, in the last moment.

const report = { served: false, settled: false, drained: false, frame: null, status: 0, fault: "" };

/** Call the function of `actions` that has the id of the request. The promise settles when its outcome is known. */
export async function serve(actions) {
  if (report.served) throw new Error("serve is called once, with all functions of the file");
  report.served = true;
  try {
    const id = request.command.slice(request.command.lastIndexOf("/") + 1);
    const action = Object.hasOwn(actions, id) ? actions[id] : undefined;
    if (typeof action !== "function") throw new Error(`no function is given for the command ${id}`);
    await attempt(action);
  } catch (error) {
    thrown(error);
  }
  report.settled = true;
  process.removeListener("exit", leave); // behind every handler that the command has put there
  process.on("exit", leave);
}

async function attempt(action) {
  const context = new Context(request.command, request.supplied);
  try {
    report.frame = completed(action, "succeeded", await action(request.inputs, context));
  } catch (error) {
    if (!(error instanceof Failed)) throw error;
    report.status = error.exitCode;
    report.frame = completed(action, "command_failed", error.result, {
      exitCode: error.exitCode,
      message: printable(error.message),
    });
  }
}

function completed(action, status, value, more = {}) {
  const frame = { type: "completion", status, ...more };
  if (value !== undefined && value !== null) {
    frame.commandResult = action[TEXT] ? { kind: "text", text: value } : { kind: "structured", data: value };
  }
  write(frame, ""); // what is no JSON is the command's failure, and is told while there is time
  return frame;
}

/** Print what was not caught, as Node does; the command has failed. */
function thrown(error) {
  writeError(error instanceof Error && error.stack ? error.stack : named(error));
  fail(FAILED, named(error));
}

function named(error) {
  return error instanceof Error ? `${error.name}: ${error.message}` : `thrown: ${String(error)}`;
}

function fail(status, message) {
  report.status = status;
  report.frame = { type: "completion", status: "command_failed", exitCode: status, message: printable(message) };
}

/** The last word. `process.exitCode` is the status with which the command, or Node on its behalf, wants to leave. */
function leave() {
  const wanted = Number(process.exitCode ?? 0);
  if (report.fault !== "") fail(FAILED, report.fault);
  else if (!report.settled && report.drained) fail(FAILED, unfinished());
  else if (wanted !== 0 && wanted !== report.status) {
    fail(wanted >= 1 && wanted <= LAST_EXIT_CODE ? wanted : FAILED, `exit status ${wanted}`);
  } else if (!report.settled) report.frame = { type: "completion", status: "succeeded" };
  process.exitCode = report.status;
  if (!session.ended) session.say(report.frame);
}

/** Nothing is left to do, and there is no outcome. */
function unfinished() {
  const message = report.served
    ? "the function never settled: it waits for something that nobody will do"
    : "the script has ended without a call of serve";
  writeError(`rukh_sdk: ${message}`);
  return message;
}

/** A message may hold anything, halves of characters too. */
function printable(message) {
  const whole = Buffer.from(String(message)).toString().replaceAll("\0", "\ufffd");
  return [...whole].slice(0, MESSAGE_LENGTH).join("");
}

// JSON as the channel wants it: nothing twice, nothing rounded, nothing left out.

/** The value of one line; throws SyntaxError. */
function read(line) {
  const source = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(line);
  let at = 0;
  let members = 0;
  const refuse = (message) => {
    throw new SyntaxError(`the host's line is not as the protocol has it: ${message} at character ${at + 1}`);
  };
  const match = (form) => {
    form.lastIndex = at;
    const found = form.exec(source);
    if (found === null) return null;
    at = form.lastIndex;
    return found[0];
  };
  const skip = () => match(/[ \t\r]*/y);
  const expect = (character) => {
    skip();
    if (source[at] !== character) refuse(`${character} is missing`);
    at += 1;
  };
  const count = (depth) => {
    members += 1;
    if (members > MEMBERS) refuse("too many members");
    return value(depth + 1);
  };
  const string = () => {
    skip();
    const token = match(/"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*"/y);
    if (token === null) refuse("text is missing");
    const decoded = JSON.parse(token);
    if (/\p{Surrogate}|\0/u.test(decoded)) refuse("a half character or NUL");
    return decoded;
  };
  const number = () => {
    const token = match(/-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y);
    if (token === null) refuse("a value is missing");
    const result = Number(token);
    const rounded = /^-?[0-9]+$/.test(token) && !Number.isSafeInteger(result) && String(result) !== token;
    const vanished = result === 0 && /[1-9]/.test(token.split(/[eE]/)[0]);
    if (!Number.isFinite(result) || rounded || vanished) refuse("a number that is not exact");
    return result + 0 === 0 ? 0 : result;
  };
  const list = (depth) => {
    const items = [];
    at += 1;
    skip();
    if (source[at] === "]") at += 1;
    else {
      do {
        items.push(count(depth));
        skip();
      } while (source[at] === "," && (at += 1));
      expect("]");
    }
    return items;
  };
  const object = (depth) => {
    const found = {};
    at += 1;
    skip();
    if (source[at] === "}") at += 1;
    else {
      do {
        const name = string();
        if (Object.hasOwn(found, name)) refuse(`${JSON.stringify(name)} twice`);
        expect(":");
        const member = { value: count(depth), writable: true, enumerable: true, configurable: true };
        Object.defineProperty(found, name, member); // a plain assignment of __proto__ would be something else
        skip();
      } while (source[at] === "," && (at += 1));
      expect("}");
    }
    return found;
  };
  const value = (depth) => {
    if (depth > DEPTH) refuse("too many levels");
    skip();
    if (source[at] === "{") return object(depth);
    if (source[at] === "[") return list(depth);
    if (source[at] === '"') return string();
    const word = match(/true|false|null/y);
    return word === null ? number() : JSON.parse(word);
  };
  const whole = value(1);
  skip();
  if (at !== source.length) refuse("more behind the value");
  return whole;
}

/** A frame whose members are those of its type; throws SyntaxError. */
function checked(frame) {
  const known = isObject(frame) && isText(frame.type) && Object.hasOwn(FRAMES, frame.type);
  if (!known) throw new SyntaxError("the host's line is no frame of a known type");
  const [required, optional] = FRAMES[frame.type];
  for (const name of Object.keys(required)) {
    if (!Object.hasOwn(frame, name)) throw new SyntaxError(`${frame.type} of the host lacks ${name}`);
  }
  for (const [name, value] of Object.entries(frame)) {
    const form = required[name] ?? optional[name];
    if (name !== "type" && !(form && form(value))) {
      throw new SyntaxError(`${frame.type} of the host has no such ${JSON.stringify(name)}`);
    }
  }
  return frame;
}

/** JSON of `value`; throws TypeError or RangeError, with the place, for what JSON.stringify would change or drop. */
function write(value, place) {
  const refuse = (message) => {
    throw new TypeError(`${message}${place === "" ? "" : ` at ${place}`}`);
  };
  if (value === null || typeof value === "boolean") return String(value);
  if (isText(value)) {
    if (/\p{Surrogate}/u.test(value)) refuse("half a character stands in a text");
    return JSON.stringify(value);
  }
  if (typeof value === "number") return Number.isFinite(value) ? JSON.stringify(value) : refuse(`${value} is no JSON number`);
  if (typeof value === "bigint") {
    const exact = value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER;
    return exact ? String(value) : refuse(`${value} lies beyond 2^53-1`);
  }
  if (Array.isArray(value)) {
    return `[${Array.from(value, (item, index) => write(item, `${place}/${index}`)).join(",")}]`;
  }
  const plain = isObject(value) && [Object.prototype, null].includes(Object.getPrototypeOf(value));
  if (!plain) refuse(`${typeof value === "object" ? value.constructor?.name : typeof value} is not a JSON value`);
  const members = Object.entries(value).map(
    ([name, member]) => `${write(name, place)}:${write(member, `${place}/${name}`)}`,
  );
  return `{${members.join(",")}}`;
}

// Bytes.

/** Some bytes of a descriptor, empty at its end, or null when there are none now. */
function readSome(descriptor) {
  const buffer = Buffer.allocUnsafe(65536);
  try {
    return buffer.subarray(0, readSync(descriptor, buffer));
  } catch (error) {
    if (error.code === "EAGAIN") return null;
    if (error.code === "ECONNRESET") return buffer.subarray(0, 0);
    throw error;
  }
}

/** Whether the two descriptors are what a host gives; without one, Node itself uses these numbers. */
function started() {
  try {
    return fstatSync(CHANNEL).isSocket() && fstatSync(TOKEN).isFIFO();
  } catch {
    return false;
  }
}

function readAll(descriptor) {
  const parts = [];
  for (let data = readSome(descriptor); data === null || data.length > 0; data = readSome(descriptor)) {
    if (data === null) pause();
    else parts.push(data);
  }
  closeSync(descriptor);
  return Buffer.concat(parts).toString();
}

function writeAll(data) {
  while (data.length > 0) {
    try {
      data = data.subarray(writeSync(CHANNEL, data));
    } catch (error) {
      if (error.code === "EPIPE") return; // nobody listens any more; that the host has gone is met by reading
      if (error.code !== "EAGAIN") throw error;
      pause();
    }
  }
}

function writeError(message) {
  try {
    writeSync(2, `${message}\n`);
  } catch {
    // there is nowhere left to say so
  }
}

/** A moment, for a channel that is full or empty and does not block. */
function pause() {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
}

/** The host is not one, or has gone: there is nobody to report to. */
function broken(message) {
  writeError(`rukh_sdk: ${message}`);
  process.removeListener("exit", leave);
  process.exit(FAILED);
}

const session = new Session();
const request = session.open();
// Where the work is done before the process ends, Node says so first; where it does not, an end was asked for.
process.on("beforeExit", () => {
  report.drained = true;
});
process.on("uncaughtExceptionMonitor", (error) => {
  report.fault = named(error);
});
process.on("exit", leave);
if (request.type === "describe") {
  session.say({ type: "completion", status: "command_failed", message: "there is no contextual help" });
  process.removeListener("exit", leave);
  process.exit(FAILED);
}
