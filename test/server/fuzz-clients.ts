/** Clients of the fuzz: they send one request each and wait until the server has taken it. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { WebSocket } from "ws";
import { LAUNCHER } from "../runner/program.ts";
import type { Setting } from "../turn/setting.ts";
import type { FuzzRequest } from "./fuzz-requests.ts";
import type { ServeProcess } from "./serve-setting.ts";

const ANSWER_MS = 120_000;
/** Status of a message that has no answer of its own. */
const TAKEN = 101;

/** Sends a request over HTTP or a WebSocket; returns its status. */
export async function send(server: ServeProcess, request: FuzzRequest): Promise<number> {
  const { method, path, headers, body } = request;
  const key = { authorization: `Bearer ${server.key}` };
  if (request.how === "socket") return await sendMessage(`ws://127.0.0.1:${server.port}${path}`, key, body);
  const answer = await fetch(`${server.url}${path}`, {
    method,
    headers: { ...key, ...headers },
    signal: AbortSignal.timeout(ANSWER_MS),
    ...(method === "GET" || method === "HEAD" ? {} : { body }),
  });
  await answer.text();
  return answer.status;
}

async function sendMessage(url: string, headers: Record<string, string>, body: string): Promise<number> {
  const socket = new WebSocket(url, { headers });
  await once(socket, "open");
  socket.send(body);
  // An answer to the ping comes after the message was taken.
  socket.ping();
  await Promise.race([once(socket, "pong"), once(socket, "close")]);
  socket.terminate();
  return TAKEN;
}

/** `pagurus acp`: each message is followed by a request that has to be answered. */
export class StdioClient {
  readonly #child: ChildProcess;
  readonly #answered = new Map<string, () => void>();
  #count = 0;

  constructor(setting: Setting) {
    this.#child = spawn(process.execPath, [LAUNCHER, "acp"], {
      cwd: setting.workspace,
      env: { ...setting.env, NODE_OPTIONS: "" },
      stdio: ["pipe", "pipe", "ignore"],
    });
    const { stdout } = this.#child;
    if (stdout)
      createInterface(stdout).on("line", (line) => {
        const id = /"id":"(mark-\d+)"/.exec(line)?.[1];
        if (id !== undefined) this.#answered.get(id)?.();
      });
  }

  async send(body: string): Promise<number> {
    const id = `mark-${this.#count++}`;
    const answered = new Promise<void>((resolve) => this.#answered.set(id, resolve));
    const asked = { jsonrpc: "2.0", id, method: "session/list", params: {} };
    this.#child.stdin?.write(`${body}\n${JSON.stringify(asked)}\n`);
    const ended = once(this.#child, "exit", { signal: AbortSignal.timeout(ANSWER_MS) });
    const isOver = await Promise.race([answered.then(() => false), ended.then(() => true)]);
    ended.catch(() => undefined);
    this.#answered.delete(id);
    if (isOver) throw new Error(`pagurus acp ended at ${body.slice(0, 1_000)}`);
    return TAKEN;
  }

  async end(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const ended = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await ended;
  }
}

export interface HealthProbe {
  /** Ends the probe. `longestMs`: the longest wait for an answer; `failed`: answers that were not "ok". */
  end(): Promise<{ longestMs: number; asked: number; failed: number }>;
}

/** Asks `/health` every 50 ms in a process of its own, until its end or that of the test, whose signal is `signal`. */
export function probeHealth(url: string, signal: AbortSignal): HealthProbe {
  const code = `let longestMs = 0, asked = 0, failed = 0;
    process.on("SIGTERM", () => { console.log(JSON.stringify({ longestMs, asked, failed })); process.exit(); });
    setInterval(async () => {
      const from = performance.now();
      asked += 1;
      const answer = await fetch(${JSON.stringify(`${url}/health`)}).then((got) => got.text(), String);
      if (answer !== "ok\\n") failed += 1;
      longestMs = Math.max(longestMs, performance.now() - from);
    }, 50);
    console.log("ready");`;
  const child = spawn(process.execPath, ["-e", code], { stdio: ["ignore", "pipe", "inherit"] });
  signal.addEventListener("abort", () => child.kill("SIGKILL"), { once: true });
  let printed = "";
  const ready = once(child.stdout, "data");
  child.stdout.setEncoding("utf8").on("data", (text: string) => (printed += text));
  return {
    end: async () => {
      await ready;
      child.kill();
      await once(child, "close");
      return JSON.parse(printed.slice(printed.indexOf("{"))) as Awaited<ReturnType<HealthProbe["end"]>>;
    },
  };
}
