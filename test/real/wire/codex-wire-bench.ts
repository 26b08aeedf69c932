/** A real Codex against a server that answers as the test specifies, byte by byte. */
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { openAiResponses } from "../../../packages/testkit/src/endpoint/openai-responses.ts";
import type { ReplyStep } from "../../servers/script.ts";
import { codexBinary } from "../codex-binary.ts";
import { inputOf } from "../../runner/child-input.ts";

export interface Asked {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

export interface Reply {
  status?: number;
  headers: Record<string, string>;
  body: readonly Buffer[];
  /** Delay before each piece of the body, ms. */
  delayMs?: number;
}

export type Answer = (asked: Asked, index: number) => Reply | Promise<Reply>;

/** A reply of the scripted server. */
export function scripted(step: ReplyStep, index: number): Reply {
  const { input, output, ...more } = step.usage ?? { input: 100, output: 10 };
  const frames = openAiResponses(step, { index, model: "mock-model", usage: { input, output, ...more } });
  return {
    headers: { "content-type": "text/event-stream" },
    body: frames.map(({ event, data }) => Buffer.from(`event: ${event ?? ""}\ndata: ${data}\n\n`)),
    ...(step.delayMs === undefined ? {} : { delayMs: step.delayMs }),
  };
}

type Fields = Record<string, unknown>;

interface Wait {
  method: string;
  threadId: string | undefined;
  resolve(params: Fields): void;
}

export interface CodexSettings {
  /** Lines at the top of `config.toml`. */
  top?: readonly string[];
  /** Name of the provider; "OpenAI" has Codex compact by `compaction_trigger`. */
  provider?: string;
}

/** One `codex app-server` in its own folder. */
export class CodexWire {
  readonly root = mkdtempSync(join(tmpdir(), "codex-wire-"));
  readonly asked: Asked[] = [];
  readonly #server = createServer();
  readonly #answers = new Map<number, (message: Fields) => void>();
  readonly #waits: Wait[] = [];
  #send: (message: Fields) => void = () => {};
  #ended: () => Promise<void> = async () => {};
  #last = 0;

  private constructor(answer: Answer) {
    this.#server.on("request", (incoming, response) => {
      const chunks: Buffer[] = [];
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
      incoming.on("end", () => {
        const { method = "", url = "", headers } = incoming;
        const asked = { method, path: url, headers, body: Buffer.concat(chunks) };
        if (method !== "POST") return void response.writeHead(404).end();
        const index = this.asked.push(asked) - 1;
        void (async () => {
          const notification = await answer(asked, index);
          response.writeHead(notification.status ?? 200, notification.headers);
          for (const piece of notification.body) {
            if (notification.delayMs !== undefined) await pause(notification.delayMs);
            response.write(piece);
          }
          response.end();
        })().catch((error: unknown) => response.destroy(error as Error));
      });
    });
  }

  static async start(answer: Answer, settings: CodexSettings = {}): Promise<CodexWire> {
    const wire = new CodexWire(answer);
    await new Promise<void>((resolve) => wire.#server.listen(0, "127.0.0.1", resolve));
    const { port } = wire.#server.address() as AddressInfo;
    wire.#configure(`http://127.0.0.1:${port}/v1`, settings);
    return wire;
  }

  get env(): Record<string, string | undefined> {
    return { PATH: process.env["PATH"], HOME: this.root, CODEX_HOME: join(this.root, "codex") };
  }

  get cwd(): string {
    return join(this.root, "work");
  }

  #configure(url: string, { top = [], provider = "mock" }: CodexSettings): void {
    mkdirSync(this.cwd, { recursive: true });
    mkdirSync(join(this.root, "codex"), { recursive: true });
    const lines = [
      'model = "mock-model"',
      'model_provider = "mock"',
      'approval_policy = "never"',
      'sandbox_mode = "danger-full-access"',
      "check_for_update_on_startup = false",
      ...top,
      "[model_providers.mock]",
      `name = "${provider}"`,
      `base_url = "${url}"`,
      'wire_api = "responses"',
      "request_max_retries = 0",
      "stream_max_retries = 0",
      "[features]",
      "plugins = false",
      "apps = false",
      "[analytics]",
      "enabled = false",
    ];
    writeFileSync(join(this.root, "codex/config.toml"), lines.join("\n"));
    writeFileSync(join(this.cwd, "AGENTS.md"), "Answer in one line.\n");
  }

  /** Starts and initializes the app-server. */
  async connect(): Promise<void> {
    const stdio = ["pipe", "pipe", "ignore"] as const;
    const child = spawn(codexBinary(), ["app-server"], { cwd: this.cwd, env: this.env, stdio: [...stdio] });
    if (!child.stdout) throw new Error("Codex has no output");
    createInterface({ input: child.stdout }).on("line", (line) => this.#receive(JSON.parse(line) as Fields));
    this.#send = (message) => void inputOf(child).write(`${JSON.stringify(message)}\n`);
    const closed = new Promise<void>((resolve) => child.on("close", () => resolve()));
    this.#ended = async () => {
      inputOf(child).end();
      const timer = setTimeout(() => child.kill("SIGKILL"), 5000);
      await closed;
      clearTimeout(timer);
    };
    await this.request("initialize", {
      clientInfo: { name: "recorder", title: "recorder", version: "0.0.1" },
      capabilities: { experimentalApi: true, requestAttestation: false },
    });
    this.#send({ method: "initialized" });
  }

  #receive(message: Fields): void {
    const { id, method, params = {} } = message as { id?: unknown; method?: string; params?: Fields };
    if (typeof id === "number" && method === undefined) this.#answers.get(id)?.(message);
    const index = this.#waits.findIndex(
      (wait) => wait.method === method && (wait.threadId ?? params["threadId"]) === params["threadId"],
    );
    if (index >= 0) this.#waits.splice(index, 1)[0]?.resolve(params);
  }

  async request(method: string, params: unknown): Promise<Fields> {
    this.#last += 1;
    const id = this.#last;
    const answer = new Promise<Fields>((resolve) => this.#answers.set(id, resolve));
    this.#send({ id, method, params });
    const { result, error } = await answer;
    if (error) throw new Error(`${method}: ${JSON.stringify(error)}`);
    return result as Fields;
  }

  /** The next notification of the method (and thread). */
  notification(method: string, threadId?: string): Promise<Fields> {
    return new Promise((resolve) => this.#waits.push({ method, threadId, resolve }));
  }

  async thread(more: object = {}): Promise<string> {
    const { thread } = (await this.request("thread/start", more)) as unknown as { thread: { id: string } };
    return thread.id;
  }

  /** Runs a turn to its end; returns the content of `turn/completed`. */
  async turn(threadId: string, text: string, more: object = {}): Promise<Fields> {
    const done = this.notification("turn/completed", threadId);
    await this.request("turn/start", {
      threadId,
      input: [{ type: "text", text, text_elements: [] }],
      ...more,
    });
    return (await done)["turn"] as Fields;
  }

  async compact(threadId: string): Promise<Fields> {
    const done = this.notification("turn/completed", threadId);
    await this.request("thread/compact/start", { threadId });
    return (await done)["turn"] as Fields;
  }

  async end(): Promise<void> {
    await this.#ended();
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
    rmSync(this.root, { recursive: true, force: true });
  }
}
