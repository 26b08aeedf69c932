/** Socket to which the bridges of one set of served tools connect, in a folder that only the user can enter. */
import { errorText } from "@pagurus/core/data/error-text";
import { randomBytes, timingSafeEqual } from "node:crypto";
import { lstatSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { PagurusError } from "@pagurus/contract/errors";

const PREFIX = "pagurus-tools-";
const SOCKET = "socket";
/** Longest socket path that every system accepts (macOS; Linux accepts 107). */
const SOCKET_PATH_BYTES = 103;
/** Timeout for a bridge's token, which is the first thing it sends, ms. */
const HELLO_MS = 10_000;
/** A younger folder without a listener may still be in creation. */
const STALE_MS = 60_000;
const TOKEN_BYTES = 32;
/** How long the last answers may take after the harness has closed its end, ms. */
const LINGER_MS = 1_000;

export interface BridgeSocket {
  /** Path of the script that a harness starts with Node. */
  script: string;
  /** Ends connections and removes the files. */
  close(): void;
}

/** Creates a temporary folder whose path is short enough for a socket in it. */
function makeSocketFolder(): string {
  const wanted = tmpdir();
  const length = Buffer.byteLength(join(wanted, `${PREFIX}XXXXXX`, SOCKET));
  return mkdtempSync(join(length > SOCKET_PATH_BYTES ? "/tmp" : wanted, PREFIX));
}

/** Calls `accept` with each connection that has sent the token; later bytes are still unread. */
function admit(socket: Socket, token: Buffer, accept: (socket: Socket) => void): void {
  let held: Buffer = Buffer.alloc(0);
  const timer = setTimeout(() => socket.destroy(), HELLO_MS).unref();
  const look = (chunk: Buffer): void => {
    held = Buffer.concat([held, chunk]);
    if (held.length <= token.length) return;
    clearTimeout(timer);
    socket.off("data", look);
    socket.pause();
    const received = held.subarray(0, token.length);
    if (held[token.length] !== 0x0a || !timingSafeEqual(received, token)) {
      socket.destroy();
      return;
    }
    const rest = held.subarray(token.length + 1);
    if (rest.length > 0) socket.unshift(rest);
    accept(socket);
  };
  socket.on("data", look);
  socket.on("close", () => clearTimeout(timer));
}

async function listen(server: Server, path: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen(path, resolve);
  await promise;
  server.off("error", reject);
  server.on("error", () => undefined);
  // The harness waits for calls; this server alone must not keep the process alive.
  server.unref();
}

/** Runs `work` and ignores its failure: another user's folder, or one that is gone. */
function quietly(work: () => void): void {
  try {
    work();
  } catch {
    // Only disk space; the next host tries again.
    return;
  }
}

/** Removes the folder of a host that was killed, in which no process listens. */
function sweepOne(folder: string): void {
  const found = lstatSync(folder);
  // Another user's folder or a link may lead anywhere.
  if (!found.isDirectory() || found.uid !== process.getuid?.()) return;
  if (Date.now() - found.mtimeMs < STALE_MS) return;
  const probe = connect(join(folder, SOCKET));
  probe.once("connect", () => probe.destroy());
  probe.once("error", ({ code }: NodeJS.ErrnoException) => {
    if (code === "ECONNREFUSED" || code === "ENOENT")
      quietly(() => rmSync(folder, { recursive: true, force: true }));
  });
  probe.unref();
}

function sweep(root: string): void {
  quietly(() => {
    for (const name of readdirSync(root).filter((entry) => entry.startsWith(PREFIX)))
      quietly(() => sweepOne(join(root, name)));
  });
}

/** Throws `runtime_failed` when no socket can be made. */
export async function openBridgeSocket(accept: (socket: Socket) => void): Promise<BridgeSocket> {
  let folder: string | undefined;
  const sockets = new Set<Socket>();
  const remove = (): void => {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  };
  const token = randomBytes(TOKEN_BYTES).toString("hex");
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => sockets.delete(socket));
    admit(socket, Buffer.from(token), accept);
  });
  try {
    folder = makeSocketFolder();
    const path = join(folder, SOCKET);
    const script = join(folder, "bridge.cjs");
    writeFileSync(script, bridgeScript(path, token), { mode: 0o600 });
    await listen(server, path);
    process.once("exit", remove);
    sweep(dirname(folder));
    return {
      script,
      close() {
        process.off("exit", remove);
        server.close();
        for (const socket of sockets) socket.destroy();
        quietly(remove);
      },
    };
  } catch (error) {
    quietly(remove);
    const reason = errorText(error);
    throw new PagurusError(
      "runtime_failed",
      `The host's tools could not be offered to the runtime: ${reason}; is the temporary folder writable?`,
      { cause: error },
    );
  }
}

/**
 * Program that a harness starts as its MCP server: it copies bytes between its standard input and output and the host's
 * socket, without reading them. Plain CommonJS in one string, so that it starts as fast as Node does, from the sources and
 * from the built package alike. `token` is in the file, which only the user can read, and so in no argument and no environment.
 */
export function bridgeScript(socketPath: string, token: string): string {
  return `"use strict";
process.title = "pagurus-tools";
const socket = require("node:net").connect(${JSON.stringify(socketPath)});
socket.write(${JSON.stringify(`${token}\n`)});
socket.on("error", (error) => {
  process.exitCode = 1;
  process.stderr.write("The tools of the host cannot be reached: " + error.message + "\\n");
});
socket.on("close", () => process.exit());
process.stdout.on("error", () => process.exit());
process.stdin.on("error", () => process.exit());
process.stdin.on("end", () => setTimeout(() => process.exit(), ${LINGER_MS}).unref());
process.stdin.pipe(socket).pipe(process.stdout);
`;
}
