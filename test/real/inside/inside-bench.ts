/** The real Claude Code with the mod that `pagurus install` writes, against a local endpoint, and the host that answers the mod. */
import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { createPagurus } from "../../../packages/app/src/app.ts";
import type { Pagurus } from "../../../packages/contract/src/host/host.ts";
import { startServer, type ModelServer, type RecordedRequest, type ReplyStep } from "../../servers/server.ts";
import { LAUNCHER } from "../../runner/program.ts";
import { claudeBinary } from "../programs.ts";
import { isClaudeCompaction, MODEL_SUMMARY } from "../wire/compactions-words.ts";
import { inputOf } from "../../runner/child-input.ts";

type Fields = Record<string, unknown>;
type Block = Fields;

const LONGEST_MS = 400_000;
/** Deadlines of the mod, ms: other programs use this machine too. */
const PATIENT = { deadlineMs: 30_000, compactionMs: 60_000 };
export const WINDOW = { CLAUDE_CODE_AUTO_COMPACT_WINDOW: "100000" };
export const FULL_USAGE = { input: 99_000, output: 10 };

/** One `claude -p` that reads lines. */
export class ClaudeLines {
  readonly all: Fields[] = [];
  readonly #child: ChildProcess;
  readonly #waits: ((line: Fields) => void)[] = [];
  readonly #closed: Promise<void>;
  #errors = "";

  constructor(child: ChildProcess) {
    this.#child = child;
    this.#closed = new Promise((resolve) => void child.once("close", () => resolve()));
    child.stderr?.on("data", (chunk: Buffer) => void (this.#errors += chunk.toString()));
    if (child.stdout)
      createInterface({ input: child.stdout }).on("line", (text) => {
        const line = JSON.parse(text) as Fields;
        this.all.push(line);
        if (line["type"] === "result") this.#waits.shift()?.(line);
      });
  }

  /** Sends a message without waiting for its end. */
  send(content: string): Promise<unknown> {
    const done = new Promise<unknown>((resolve, reject) => {
      const timer = setTimeout(
        () =>
          reject(
            new Error(
              `no end of "${content.slice(0, 60)}": ${this.#errors.slice(-500)} ${JSON.stringify(this.all.slice(-2))}`,
            ),
          ),
        LONGEST_MS,
      );
      this.#waits.push((line) => {
        clearTimeout(timer);
        resolve(line["result"]);
      });
    });
    inputOf(this.#child).write(`${JSON.stringify({ type: "user", message: { role: "user", content } })}\n`);
    return done;
  }

  async end(): Promise<void> {
    inputOf(this.#child).end();
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), LONGEST_MS);
    await this.#closed;
    clearTimeout(timer);
  }

  get sessionId(): string {
    return String(this.all.find(({ subtype }) => subtype === "init")?.["session_id"]);
  }

  /** Triggers of the compactions that Claude Code reported. */
  get boundaries(): unknown[] {
    return this.all
      .filter(({ subtype }) => subtype === "compact_boundary")
      .map((line) => (line["compact_metadata"] as Fields)["trigger"]);
  }

  /** The lines that the mod has shown. */
  get notices(): string[] {
    return this.all.filter(({ subtype }) => subtype === "ui_log").map(({ text }) => String(text));
  }
}

export type Script = (nth: number, request: RecordedRequest) => ReplyStep;

export class InsideBench {
  /** A short path: sockets have a limit. */
  readonly root = mkdtempSync(join(tmpdir(), "pg-in-"));
  readonly server: ModelServer;
  #host: ChildProcess | undefined;
  #relay: Server | undefined;
  readonly #children: ClaudeLines[] = [];

  private constructor(server: ModelServer) {
    this.server = server;
    for (const name of ["work", "claude", "home"]) mkdirSync(join(this.root, name));
  }

  /** `script`: the answer to the nth main request, from 1. `summary`: the model's answer where the program compacts by itself. */
  static async open(script: Script, { summary = MODEL_SUMMARY } = {}): Promise<InsideBench> {
    let nth = 0;
    const server = await startServer({
      protocol: "anthropic-messages",
      script: (request) => {
        if (isClaudeCompaction(request)) return { text: `<summary>${summary}</summary>` };
        nth += 1;
        return script(nth, request);
      },
    });
    return new InsideBench(server);
  }

  get home(): string {
    return join(this.root, "home");
  }

  get cwd(): string {
    return join(this.root, "work");
  }

  get config(): string {
    return join(this.root, "claude");
  }

  get mod(): string {
    return join(this.config, "skills", "pagurus");
  }

  env(more: Record<string, string> = {}): NodeJS.ProcessEnv {
    return {
      PATH: process.env["PATH"],
      HOME: this.root,
      PAGURUS_HOME: this.home,
      PAGURUS_NO_PROBE: "1",
      CLAUDE_CONFIG_DIR: this.config,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_TELEMETRY: "1",
      DISABLE_AUTOUPDATER: "1",
      ANTHROPIC_API_KEY: "key-of-inside-tests",
      ANTHROPIC_BASE_URL: this.server.url.replace(/\/v1$/, ""),
      ...more,
    };
  }

  /** Runs a command of ours, which has to succeed, and returns its output. */
  async pagurus(...args: string[]): Promise<string> {
    const child = spawn(process.execPath, [LAUNCHER, ...args], { cwd: this.cwd, env: this.env() });
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => void (output += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => void (output += chunk.toString()));
    const code = await new Promise((resolve) => child.once("close", resolve));
    assert.equal(code, 0, output);
    return output;
  }

  /** Installs the mod, with more patience than it has by itself. `wakes`: it may start a host. */
  async install({ wakes = false } = {}): Promise<void> {
    await this.pagurus("install", "claude-code", "--yes");
    const file = join(this.mod, "place.json");
    const place = JSON.parse(readFileSync(file, "utf8")) as Fields;
    writeFileSync(file, JSON.stringify({ ...place, ...(wakes ? {} : { wake: [] }), ...PATIENT }));
  }

  async startHost(): Promise<void> {
    this.#host = spawn(process.execPath, [LAUNCHER, "resident-host"], {
      cwd: this.home,
      env: this.env(),
      stdio: "ignore",
    });
    await this.#until(() => existsSync(join(this.home, "resident", "inside.sock")), "a host that listens");
  }

  /** Puts a relay between the mod and the host, which stops the host as soon as it is asked for this path; then `asked` resolves. */
  async stopHostAt(path: string): Promise<{ asked: Promise<void> }> {
    const file = join(this.mod, "place.json");
    const place = JSON.parse(readFileSync(file, "utf8")) as Fields;
    const socket = join(this.root, "relay.sock");
    const seen = Promise.withResolvers<void>();
    this.#relay = createServer((near) => {
      const far = connect(String(place["socket"]));
      near.on("data", (chunk: Buffer) => {
        if (!chunk.includes(path)) return;
        this.#host?.kill("SIGSTOP");
        seen.resolve();
      });
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const)
        one
          .on("error", () => other.destroy())
          .on("close", () => other.destroy())
          .pipe(other);
    });
    await new Promise<void>((resolve) => this.#relay?.listen(socket, resolve));
    writeFileSync(file, JSON.stringify({ ...place, socket }));
    return { asked: seen.promise };
  }

  /** Kills the host and waits for its end. */
  async killHost(): Promise<void> {
    const host = this.#host;
    if (!host || host.exitCode !== null || host.signalCode !== null) return;
    const ended = new Promise((resolve) => host.once("exit", resolve));
    host.kill("SIGKILL");
    await ended;
    rmSync(join(this.home, "resident", "inside.sock"), { force: true });
  }

  claude(args: readonly string[] = [], env: Record<string, string> = {}): ClaudeLines {
    const streams = ["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"];
    const allowed = [
      "--permission-mode",
      "dontAsk",
      "--allowedTools",
      "Bash,Agent,Task,mcp__pagurus__open,mcp__pagurus__search",
    ];
    const child = spawn(
      claudeBinary(),
      ["-p", ...streams, ...allowed, "--model", "claude-sonnet-4-5", ...args],
      { cwd: this.cwd, env: this.env(env), stdio: ["pipe", "pipe", "pipe"] },
    );
    const lines = new ClaudeLines(child);
    this.#children.push(lines);
    return lines;
  }

  /** Requests for a compaction. */
  get compactions(): RecordedRequest[] {
    return this.server.requests.filter(isClaudeCompaction);
  }

  get mains(): RecordedRequest[] {
    return this.server.requests.filter((request) => !isClaudeCompaction(request));
  }

  async look<T>(work: (pagurus: Pagurus) => Promise<T>): Promise<T> {
    const pagurus = await createPagurus({ home: this.home, env: this.env() });
    try {
      return await work(pagurus);
    } finally {
      await pagurus.close();
    }
  }

  /** Texts of all messages of a conversation of Claude Code that we keep. */
  async stored(sessionId: string): Promise<string[]> {
    return this.look(async (pagurus) => {
      const reader = pagurus.sessions().openReader(`inside/claude-code/${sessionId}`);
      const texts: string[] = [];
      for await (const entry of reader.cursor.forward())
        if (entry.type === "message") texts.push(JSON.stringify(entry.message.content));
      reader.close();
      return texts;
    });
  }

  async #until(condition: () => boolean, what: string): Promise<void> {
    for (const end = Date.now() + LONGEST_MS; !condition(); await pause(50))
      if (Date.now() > end) throw new Error(`no ${what}`);
  }

  async end(): Promise<void> {
    for (const child of this.#children) await child.end();
    await this.killHost();
    this.#relay?.close();
    await this.server.close();
    rmSync(this.root, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** What Claude Code adds to messages by itself. */
const ADDED = /^\s*<(?:system-reminder|local-command|command-)/;

/** The blocks of a request's conversation, without marks for the cache and without what Claude Code adds. */
export function blocksOf(request: RecordedRequest | undefined): Block[] {
  const messages = (request?.body["messages"] ?? []) as { content: string | Block[] }[];
  return messages
    .flatMap(({ content }) => (typeof content === "string" ? [{ type: "text", text: content }] : content))
    .map(({ cache_control: _mark, ...block }) => block)
    .filter(({ text }) => !ADDED.test(String(text)));
}

export function isHead({ text }: Block): boolean {
  return String(text).startsWith("<conversation_summary>");
}

/** Asserts that each call has its result in the next message and each result its call. */
export function assertWholePairs(request: RecordedRequest | undefined): void {
  const blocks = blocksOf(request);
  const calls = blocks.filter(({ type }) => type === "tool_use").map(({ id }) => id);
  const results = blocks.filter(({ type }) => type === "tool_result").map(({ tool_use_id: id }) => id);
  assert.deepEqual(new Set(results), new Set(calls));
  assert.equal(results.length, calls.length);
}
