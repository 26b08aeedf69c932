/** The real Claude Code, as a long-running program, against a server that only speaks the Messages dialect. */
import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { AssistantMessage, Usage } from "../../../packages/contract/src/message.ts";
import { messagesDialect } from "../../../packages/gateway/src/dialect/messages/messages-dialect.ts";
import type {
  WireFault,
  WireHeaders,
  WireRequest,
} from "../../../packages/gateway/src/dialect/wire-dialect.ts";
import { claudeBinary } from "../programs.ts";
import { inputOf } from "../../runner/child-input.ts";

type Line = Record<string, unknown>;

/** The reply to a request. */
export type Reply =
  | { text: string; usage?: Usage }
  | { message: AssistantMessage["content"]; usage?: Usage }
  | { fault: WireFault };

export interface BenchOptions {
  model?: string;
  env?: Record<string, string>;
  args?: readonly string[];
  /** Tools that run without permission. Default: `Read`. */
  tools?: readonly string[];
}

/** A received request. */
export interface Asked {
  path: string;
  headers: WireHeaders;
  request: WireRequest;
}

const USAGE: Usage = { input: 500, output: 5, totalTokens: 505 };
const LONGEST_MS = 120_000;

export class ClaudeDialectBench {
  readonly root = mkdtempSync(join(tmpdir(), "pagurus-claude-dialect-"));
  readonly asked: Asked[] = [];
  readonly lines: Line[] = [];
  answer: (request: WireRequest, index: number) => Reply;
  readonly #server: Server;
  #child: ChildProcess | undefined;
  #waiting: (() => void) | undefined;

  private constructor(answer: (request: WireRequest, index: number) => Reply) {
    this.answer = answer;
    this.#server = createServer((request, response) => void this.#serve(request, response));
    for (const name of ["work", "home"]) mkdirSync(join(this.root, name));
    writeFileSync(join(this.cwd, "notes.txt"), "The word is harbour.\n");
    writeFileSync(join(this.cwd, "more.txt"), "The other word is anchor.\n");
  }

  static async start(
    answer: (request: WireRequest, index: number) => Reply,
    options: BenchOptions = {},
  ): Promise<ClaudeDialectBench> {
    const bench = new ClaudeDialectBench(answer);
    await new Promise<void>((resolve) => bench.#server.listen(0, "127.0.0.1", resolve));
    bench.#launch(options);
    return bench;
  }

  get cwd(): string {
    return join(this.root, "work");
  }

  get requests(): WireRequest[] {
    return this.asked.map(({ request }) => request);
  }

  /** A line to the program. */
  send(line: object): void {
    if (this.#child) inputOf(this.#child).write(`${JSON.stringify(line)}\n`);
  }

  /** Sends a message, and waits for the end of the turn; returns the line that reports it. */
  async ask(content: string): Promise<Line> {
    const from = this.lines.length;
    this.send({ type: "user", message: { role: "user", content } });
    const until = Date.now() + LONGEST_MS;
    for (;;) {
      const result = this.lines.slice(from).find(({ type }) => type === "result");
      if (result) return result;
      assert.ok(Date.now() < until, `no end of "${content}" after ${this.requests.length} requests`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 500);
        this.#waiting = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  async end(): Promise<void> {
    const child = this.#child;
    if (child?.pid !== undefined && child.exitCode === null && child.signalCode === null) {
      const exited = new Promise((resolve) => child.once("exit", resolve));
      process.kill(-child.pid, "SIGKILL");
      await exited;
    }
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    rmSync(this.root, { recursive: true, force: true, maxRetries: 5 });
  }

  #launch({ model = "claude-sonnet-4-5", env = {}, args = [], tools = ["Read"] }: BenchOptions): void {
    const { port } = this.#server.address() as AddressInfo;
    const streams = ["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"];
    const allowed = ["--permission-mode", "dontAsk", "--allowedTools", tools.join(",")];
    const child = spawn(claudeBinary(), ["-p", ...streams, ...allowed, "--model", model, ...args], {
      cwd: this.cwd,
      detached: true,
      stdio: ["pipe", "pipe", "ignore"],
      env: {
        PATH: process.env["PATH"],
        HOME: join(this.root, "home"),
        CLAUDE_CONFIG_DIR: join(this.root, "config"),
        CLAUDE_CODE_TMPDIR: this.root,
        ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}`,
        ANTHROPIC_API_KEY: "test-key",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
        DISABLE_TELEMETRY: "1",
        DISABLE_ERROR_REPORTING: "1",
        DISABLE_AUTOUPDATER: "1",
        ...env,
      },
    });
    createInterface({ input: child.stdout }).on("line", (line) => {
      this.lines.push(JSON.parse(line) as Line);
      this.#waiting?.();
    });
    this.#child = child;
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const path = (incoming.url ?? "").replace(/^\/v1/, "");
    if (incoming.method !== "POST") return void response.writeHead(404).end();
    const request = messagesDialect.read(path, incoming.headers, Buffer.concat(chunks));
    const index = this.asked.push({ path, headers: incoming.headers, request }) - 1;
    const reply = this.answer(request, index);
    if ("message" in reply) return write(request, reply, response);
    const { status, headers, body } =
      "fault" in reply
        ? messagesDialect.fault(reply.fault, "The context does not fit.")
        : messagesDialect.answer(request, reply.text, reply.usage ?? USAGE);
    response.writeHead(status, headers).end(body);
  }
}

/** Streams like a model's answer: in small parts, the calls at its end. */
function write(
  request: WireRequest,
  { message: content, usage = USAGE }: { message: AssistantMessage["content"]; usage?: Usage },
  response: ServerResponse,
): void {
  const writer = messagesDialect.writer(request);
  response.writeHead(writer.head.status, writer.head.headers);
  for (const part of content) {
    const piece = part.type === "text" ? part.text : part.type === "thinking" ? part.thinking : "";
    const type = part.type === "thinking" ? "thinking" : "text";
    for (let at = 0; at < piece.length; at += 3)
      response.write(writer.write({ type, delta: piece.slice(at, at + 3) }));
  }
  const calls = content.some(({ type }) => type === "toolCall");
  const stopReason = calls ? ("toolUse" as const) : ("stop" as const);
  const message: AssistantMessage = { role: "assistant", content, usage, stopReason };
  response.end(writer.write({ type: "finish", message }));
}
