/** A `pagurus serve` process over a home with a local model, and a client of its API. */
import { spawn, type ChildProcess } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { LAUNCHER } from "../runner/program.ts";
import type { Setting } from "../turn/setting.ts";

/** Below those that systems choose for connections: one of these may take a port as soon as it is free. */
const PORTS = { first: 10_000, last: 32_000 };
const chosen = new Set<number>();

/** A port for a program that is started later, and may be started again. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(PORTS.first, PORTS.last);
    if (chosen.has(port)) continue;
    chosen.add(port);
    const server = createServer();
    const isFree = once(server, "listening").then(
      () => true,
      () => false,
    );
    server.listen(port, "127.0.0.1");
    if (!(await isFree)) continue;
    server.close();
    await once(server, "close");
    return port;
  }
}

/** Starts of a process whose port another program has taken meanwhile. */
const MOST_STARTS = 20;

export interface Answer {
  status: number;
  body: Record<string, unknown>;
  headers: Headers;
}

export interface StreamedEvent {
  id: number;
  type: string;
  data: Record<string, unknown>;
}

export class ServeProcess {
  readonly setting: Setting;
  readonly #launcher: string;
  /** 0 until the first start; later ones take the same. */
  #port = 0;
  child!: ChildProcess;
  stderr = "";

  constructor(setting: Setting, launcher = LAUNCHER) {
    this.setting = setting;
    this.#launcher = launcher;
  }

  static async start(
    setting: Setting,
    args: readonly string[] = [],
    launcher = LAUNCHER,
  ): Promise<ServeProcess> {
    const made = new ServeProcess(setting, launcher);
    await made.begin(args);
    return made;
  }

  get port(): number {
    return this.#port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  get key(): string {
    return readFileSync(join(this.setting.home, "server", "local-key"), "utf8").trim();
  }

  /** Starts the process and waits until it listens, each time at the same port. */
  async begin(args: readonly string[] = []): Promise<void> {
    if (this.#port === 0) this.#port = await freePort();
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#begin(args);
      } catch (error) {
        if (tries === MOST_STARTS || !(error as Error).message.includes("another program uses the port"))
          throw error;
        await pause(500);
      }
    }
  }

  async #begin(args: readonly string[]): Promise<void> {
    this.child = spawn(process.execPath, [this.#launcher, "serve", "--port", String(this.#port), ...args], {
      cwd: this.setting.workspace,
      env: this.setting.env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let stdout = "";
    this.child.stderr?.setEncoding("utf8").on("data", (text: string) => (this.stderr += text));
    await new Promise<void>((resolve, reject) => {
      this.child.stdout?.setEncoding("utf8").on("data", (text: string) => {
        stdout += text;
        if (!stdout.includes("Stop it:")) return;
        this.#port = Number(/ at http\S*:(\d+)\n/.exec(stdout)?.[1]);
        resolve();
      });
      // After "exit" a part of the output may still come.
      this.child.once("close", (code) => reject(new Error(`serve ended with ${code}: ${this.stderr}`)));
    });
  }

  async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    this.child.kill(signal);
    await once(this.child, "exit");
  }

  /** One request with the local key, unless headers say otherwise. */
  async call(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const answer = await fetch(`${this.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.key}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    const parsed: unknown = text.startsWith("{") ? JSON.parse(text) : { text };
    return { status: answer.status, body: parsed as Record<string, unknown>, headers: answer.headers };
  }

  /** Events until one fits, which is the last. */
  async events(
    path: string,
    isLast: (event: StreamedEvent) => boolean,
    headers: Record<string, string> = {},
  ): Promise<StreamedEvent[]> {
    const events: StreamedEvent[] = [];
    for await (const event of this.follow(path, headers)) {
      events.push(event);
      if (isLast(event)) break;
    }
    return events;
  }

  async *follow(
    path: string,
    headers: Record<string, string> = {},
    signal?: AbortSignal,
  ): AsyncGenerator<StreamedEvent> {
    const answer = await fetch(`${this.url}${path}`, {
      headers: { authorization: `Bearer ${this.key}`, ...headers },
      ...(signal ? { signal } : {}),
    });
    if (!answer.ok || !answer.body) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    yield* eventsOf(answer.body);
  }

  /** The outcome of a piece of work, when it has ended. */
  async ended(id: string): Promise<Record<string, unknown>> {
    for (;;) {
      const { body } = await this.call("GET", `/api/v1/work/${id}`);
      if (body["state"] === "ended") return body;
      await pause(25);
    }
  }
}

export async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamedEvent> {
  let open = "";
  const decoder = new TextDecoder();
  for await (const chunk of body) {
    open += decoder.decode(chunk, { stream: true });
    for (let end = open.indexOf("\n\n"); end >= 0; end = open.indexOf("\n\n")) {
      const frame = open.slice(0, end);
      open = open.slice(end + 2);
      if (frame.startsWith(":")) continue;
      const fields = Object.fromEntries(
        frame.split("\n").map((line) => {
          const colon = line.indexOf(": ");
          return [line.slice(0, colon), line.slice(colon + 2)];
        }),
      );
      yield {
        id: Number(fields["id"]),
        type: fields["event"] ?? "",
        data: JSON.parse(fields["data"] ?? "{}") as Record<string, unknown>,
      };
    }
  }
}
