/*
 * The thin entry: passes a command to the resident host of the home and copies what that writes. It loads nothing but node:fs and
 * node:net, which Node.js has in memory at its start, and node:tty. Without a host that takes the command, the command line is loaded
 * instead (start.js), and nothing has happened by then.
 *
 * A frame is 4 bytes of length (of what follows, big-endian), one letter, and a payload. In order:
 *   client H  {"argv", "cwd", "env", "tty", "columns", "canAsk", "place", "key", "entry"}   asks whether the host takes the command
 *   host   R  takes it; or N, and the client runs it itself
 *   client G  begins it: from here on the command runs in the host alone
 *   host   B  it has begun: a client that never gets this runs the command itself
 *   host   O, A  bytes for standard output, for standard error
 *   host   P, Q  "0" standard input or "1" the controlling terminal: send one more piece of it; stop
 *   client I, E  "0" or "1": a piece of it; its end. Z "0": nothing came of it so far
 *   client S  "SIGINT": a signal; host K  "SIGINT": the command does not listen to it, so that it ends the client as usual
 *   client W {"columns"}: the window was resized. L {"fd", "code", "errno", "message"}: a write failed
 *   host   F  all is written; client F: all has reached its reader
 *   host   X  {"code"}
 */
"use strict";

const fs = require("node:fs");
const net = require("node:net");
const tty = require("node:tty");
const { blankEnvironmentBlock } = require("./environment.js");

/** How long the host may take to answer, ms: one that is stopped, or that hangs, would never. */
const ANSWER_MS = 1_000;
const RETRY_MS = 5;
/** A standard input that sends nothing for this long, ms, is reported as silent: the command may do without it. */
const SILENT_MS = 100;
const SIGNALS = ["SIGINT", "SIGTERM"];
const MOST_SIGNALS = 3;
const NAMESPACES = ["ipc", "mnt", "net", "pid", "user", "uts"];

/** Commands of a moment. */
function isForwarded([command, second]) {
  if (command === "sessions") return second === "list";
  return command === "run" || command === "-p" || command === "--print" || command === "status";
}

/** The folder of the resident host; undefined where only the command line itself can tell which it is. */
function residentFolder(env) {
  const base = env.PAGURUS_HOME || (env.HOME && `${env.HOME}/.pagurus`);
  return base && base.startsWith("/") ? `${base}/resident` : undefined;
}

function lines(file, pattern) {
  return fs
    .readFileSync(file, "latin1")
    .split("\n")
    .filter((line) => pattern.test(line));
}

/**
 * What a process passes on to the programs that it starts and cannot be told in a request: its user, its groups, its umask, its limits,
 * and on Linux its namespaces and what confines it. A command of another place is not taken by the host: it would leave its sandbox or container.
 */
function place() {
  const facts = [process.version, process.getuid(), process.getgroups().join(), process.umask()];
  if (process.platform === "linux") {
    facts.push(...NAMESPACES.map((name) => fs.readlinkSync(`/proc/self/ns/${name}`)));
    facts.push(...lines("/proc/self/status", /^(?:NoNewPrivs|Seccomp|CapEff|CapBnd):/));
    facts.push(...lines("/proc/self/limits", /^Max (?!open files)/));
  }
  return facts.join("\n");
}

function frame(letter, payload) {
  const body = Buffer.from(payload === undefined ? "" : payload);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(body.length + 1);
  head.write(letter, 4, "latin1");
  return Buffer.concat([head, body]);
}

/** Writes all of it, also where the reader of a pipe is slow. */
function writeAll(fd, bytes) {
  for (let at = 0; at < bytes.length;) {
    try {
      at += fs.writeSync(fd, bytes, at);
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
    }
  }
}

function hasControllingTerminal() {
  try {
    fs.closeSync(fs.openSync("/dev/tty", "r"));
    return true;
  } catch {
    // There is none.
    return false;
  }
}

/** The command of this process, for the host. */
function request(argv, key) {
  const terminals = [0, 1, 2].map((fd) => tty.isatty(fd));
  return {
    argv,
    cwd: process.cwd(),
    env: { ...process.env },
    tty: terminals,
    columns: terminals[1] ? process.stdout.columns : undefined,
    errorColumns: terminals[2] ? process.stderr.columns : undefined,
    canAsk: terminals[2] && !terminals[0] && hasControllingTerminal(),
    place: place(),
    key,
    entry: __filename,
  };
}

/** One forwarded command, from the host's yes on. */
class Forwarded {
  constructor(socket, argv, otherwise) {
    this.socket = socket;
    this.argv = argv;
    this.otherwise = otherwise;
    this.begun = false;
    this.inputs = new Map();
    this.lost = new Set();
    this.signals = 0;
    this.interrupt = (signal) => {
      this.signals += 1;
      // A host that hangs cannot keep its client.
      if (this.signals >= MOST_SIGNALS) this.endBy(signal);
      else this.send("S", signal);
    };
  }

  begin() {
    blankEnvironmentBlock();
    if (tty.isatty(1)) process.stdout.on("resize", () => this.send("W", `${process.stdout.columns}`));
    this.socket.on("close", () => this.hostGone());
    for (const signal of SIGNALS) process.on(signal, this.interrupt);
    this.send("G");
  }

  send(letter, payload) {
    this.socket.write(frame(letter, payload));
  }

  receive(letter, payload) {
    if (letter === "B") this.begun = true;
    else if (letter === "O") this.write(1, payload);
    else if (letter === "A") this.write(2, payload);
    else if (letter === "P") this.input(String(payload)).resume();
    else if (letter === "Q") this.input(String(payload)).pause();
    else if (letter === "K") this.endBy(String(payload));
    else if (letter === "F") this.send("F");
    else if (letter === "X") process.exit(JSON.parse(payload).code);
  }

  /** A failure is the host's to judge, as it would be in its own process. */
  write(fd, bytes) {
    if (this.lost.has(fd)) return;
    try {
      writeAll(fd, bytes);
    } catch (error) {
      const { code, errno, message } = error;
      this.lost.add(fd);
      this.send("L", JSON.stringify({ fd, code, errno, message }));
    }
  }

  /** Standard input, or the controlling terminal: one piece for each request, so that nothing is read that nobody asked for. */
  input(name) {
    const known = this.inputs.get(name);
    if (known) return known;
    let stream;
    try {
      stream = name === "0" ? process.stdin : new tty.ReadStream(fs.openSync("/dev/tty", "r"));
    } catch {
      // Closed, or gone: an input that is at its end.
      stream = fs.createReadStream("/dev/null");
    }
    this.inputs.set(name, stream);
    let ended = false;
    let heard = false;
    const end = () => {
      if (!ended) this.send("E", name);
      ended = true;
      heard = true;
    };
    // Measured here, since the host is further away; what has come by then is read before it is judged. A file has an end.
    const judge = () => setImmediate(() => heard || this.send("Z", name));
    if (name === "0" && !(stream instanceof fs.ReadStream)) setTimeout(judge, SILENT_MS);
    stream.on("data", (bytes) => {
      heard = true;
      stream.pause();
      this.send("I", Buffer.concat([Buffer.from(name), bytes]));
    });
    stream.on("end", end).on("error", end);
    return stream;
  }

  endBy(signal) {
    for (const each of SIGNALS) process.removeListener(each, this.interrupt);
    process.kill(process.pid, signal);
  }

  hostGone() {
    for (const signal of SIGNALS) process.removeListener(signal, this.interrupt);
    if (!this.begun) return this.otherwise();
    const message =
      "The resident host ended during this command; what it had recorded is kept. Run the command again, or with pagurus --no-server.";
    if (this.argv[0] === "run" && this.argv.includes("--json")) {
      const failed = { type: "turn.failed", error: { code: "server_failed", message }, degraded: [] };
      this.write(1, Buffer.from(`${JSON.stringify(failed)}\n`));
    }
    this.write(2, Buffer.from(`pagurus: ${message} [server_failed]\n`));
    return process.exit(1);
  }
}

/** Calls `receive` with each frame that arrives. */
function readFrames(socket, receive) {
  let open = Buffer.alloc(0);
  socket.on("data", (bytes) => {
    open = open.length === 0 ? bytes : Buffer.concat([open, bytes]);
    while (open.length >= 5) {
      const end = 4 + open.readUInt32BE(0);
      if (open.length < end) return;
      const letter = open.toString("latin1", 4, 5);
      const payload = open.subarray(5, end);
      open = open.subarray(end);
      receive(letter, payload);
    }
  });
}

/** The key of the home's host; undefined where the command is not one for a host, or no host runs. */
function keyFor(argv, folder) {
  if (process.platform === "win32" || !isForwarded(argv) || folder === undefined) return undefined;
  // A child of a host ends with that host; options of node are for this process.
  if (process.env.PAGURUS_HOST || process.env.PAGURUS_CHILD || process.execArgv.length > 0) return undefined;
  try {
    return fs.readFileSync(`${folder}/key`, "latin1");
  } catch {
    // No host runs, or it is not this user's.
    return undefined;
  }
}

/** Runs the command of this process in the resident host; `otherwise` where none takes it. */
exports.forward = function forward(otherwise) {
  const argv = process.argv.slice(2);
  const folder = residentFolder(process.env);
  const key = keyFor(argv, folder);
  if (key === undefined) return otherwise();
  let command;
  let asked = false;
  const socket = net.connect(`${folder}/host.sock`);
  const refuse = () => {
    if (asked) return;
    asked = true;
    clearTimeout(timer);
    socket.destroy();
    otherwise();
  };
  const timer = setTimeout(refuse, ANSWER_MS);
  socket.on("error", refuse).on("close", refuse);
  readFrames(socket, (letter, payload) => {
    if (command) return command.receive(letter, payload);
    if (letter !== "R") return refuse();
    if (asked) return undefined;
    asked = true;
    clearTimeout(timer);
    command = new Forwarded(socket, argv, otherwise);
    return command.begin();
  });
  socket.write(frame("H", JSON.stringify(request(argv, key))));
  return undefined;
};

exports.place = place;
exports.readFrames = readFrames;
exports.frame = frame;
