/** Clients of the fuzz: they send one request each and wait until the server has taken it. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { WebSocket } from "ws";
import { LAUNCHER } from "../runner/program.ts";
import type { Setting } from "../turn/setting.ts";
import type { FuzzRequest } from "./fuzz-requests.ts";
import type { ServeProcess } from "./serve-setting.ts";
import { inputOf } from "../runner/child-input.ts";

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
  readonly #exited: Promise<true>;
  #count = 0;

  constructor(setting: Setting) {
    this.#child = spawn(process.execPath, [LAUNCHER, "acp"], {
      cwd: setting.workspace,
      env: { ...setting.env, NODE_OPTIONS: "" },
      stdio: ["pipe", "pipe", "ignore"],
    });
    this.#exited = once(this.#child, "exit").then(() => true);
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
    inputOf(this.#child).write(`${body}\n${JSON.stringify(asked)}\n`);
    const late = setTimeout(() => this.#child.kill("SIGKILL"), ANSWER_MS);
    const isOver = await Promise.race([answered.then(() => false), this.#exited]);
    clearTimeout(late);
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

/** Answers of `/health` in a time. `failed`: those that were not "ok". */
export interface Health {
  longestMs: number;
  /** The longest without the time in which the server's main thread and the probe waited for a processor: that of the machine's other work. */
  ownMs: number;
  asked: number;
  failed: number;
}

export function addHealth(sum: Health, more: Health): void {
  sum.longestMs = Math.max(sum.longestMs, more.longestMs);
  sum.ownMs = Math.max(sum.ownMs, more.ownMs);
  sum.asked += more.asked;
  sum.failed += more.failed;
}

export interface HealthProbe {
  /** The answers since the last call, or the start; asks no more until `resume`. */
  pause(): Promise<Health>;
  resume(): void;
  end(): Promise<void>;
}

/** Asks `/health` 50 ms after each answer in a process of its own, until its end or that of the test, whose signal is `signal`. */
export async function probeHealth(
  { url, child: { pid } }: { url: string; child: { pid?: number | undefined } },
  signal: AbortSignal,
): Promise<HealthProbe> {
  const code = `const { readFileSync } = require("node:fs");
    const start = () => ({ longestMs: 0, ownMs: 0, asked: 0, failed: 0 });
    let health = start();
    // The second number of schedstat: nanoseconds of waiting for a processor.
    const waited = () => {
      try {
        return ["/proc/${pid}/task/${pid}/schedstat", "/proc/self/schedstat"]
          .map((file) => Number(readFileSync(file, "utf8").split(" ")[1]) / 1e6)
          .reduce((one, other) => one + other);
      } catch {
        return 0;
      }
    };
    let resumed;
    let isPaused = false;
    process.on("message", (message) => {
      isPaused = message === "pause";
      resumed?.();
    });
    // Between two questions: none is open while the prober is paused.
    const paused = async () => {
      process.send(health);
      health = start();
      await new Promise((resolve) => (resumed = resolve));
      resumed = undefined;
    };
    process.on("disconnect", () => process.exit());
    // One after another: a probe that waits for its answer waits for no processor.
    const ask = async () => {
      const [from, waitedBefore] = [performance.now(), waited()];
      const answer = await fetch(${JSON.stringify(`${url}/health`)}).then((got) => got.text(), String);
      const ms = performance.now() - from;
      health.asked += 1;
      if (answer !== "ok\\n") health.failed += 1;
      health.longestMs = Math.max(health.longestMs, ms);
      health.ownMs = Math.max(health.ownMs, ms - (waited() - waitedBefore));
      await new Promise((resolve) => setTimeout(resolve, 50));
      if (isPaused) await paused();
      void ask();
    };
    void ask();
    process.send("ready");`;
  const child = spawn(process.execPath, ["-e", code], { stdio: ["ignore", "ignore", "inherit", "ipc"] });
  signal.addEventListener("abort", () => child.kill("SIGKILL"), { once: true });
  await once(child, "message");
  return {
    pause: async () => {
      const answered = once(child, "message");
      child.send("pause");
      const [health] = (await answered) as [Health];
      return health;
    },
    resume: () => void child.send("resume"),
    end: async () => {
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    },
  };
}
