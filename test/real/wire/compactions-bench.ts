/** The real Codex and Claude Code under a wrap in this process, whose engine answers compactions as a test specifies. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { createPagurus } from "../../../packages/app/src/app.ts";
import { loadConfig } from "../../../packages/core/src/config/load-config.ts";
import type { TurnEvent } from "../../../packages/contract/src/host/events.ts";
import type { Pagurus, PagurusOptions } from "../../../packages/contract/src/host/host.ts";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import type { ProgramWrap, WrapLaunch } from "../../../packages/contract/src/harness/wrap.ts";
import { openWrap, type OpenWrap, type WrapReport } from "../../../packages/gateway/src/wrap/wrap-program.ts";
import { serveTools } from "../../../packages/host/src/mcp/serve/serve-tools.ts";
import { createFileLogger } from "../../../packages/core/src/platform/log.ts";
import { killGroup } from "../../../packages/core/src/platform/process-group.ts";
import { claudeWrap } from "../../../packages/runtimes/src/claude/claude-wrap.ts";
import { codexWrap } from "../../../packages/runtimes/src/codex/wire/codex-wrap.ts";
import type { RecordedRequest, ReplyStep } from "../../servers/server.ts";
import { codexBinary } from "../codex-binary.ts";
import { claudeBinary } from "../programs.ts";
import { answeringEngine, ENGINE_ID, type Answering, type Asked } from "./compactions-engine.ts";
import { WrapRun } from "./wrap-bench.ts";
import { inputOf } from "../../runner/child-input.ts";

type Fields = Record<string, unknown>;

const SESSION = "wrapped";
const LONGEST_MS = 120_000;
/** Timeout for a hanging engine, seconds. */
const PATIENCE = 1;

export interface BenchOptions {
  /** Undefined: the engine of the slot is lossless. */
  how?: Answering;
  script: (request: RecordedRequest, index: number) => ReplyStep;
  /** Lines at the top of Codex's configuration, and the name of its provider. */
  top?: string;
  provider?: string;
  /** Of Claude Code. */
  env?: Record<string, string>;
  /** Of Claude Code. Default: one without adaptive thinking. */
  model?: string;
  lossless?: Fields;
}

interface Wait {
  is(line: Fields): boolean;
  resolve(line: Fields): void;
}

/** One long-running program, the lines from it and to it. */
class Lines {
  readonly all: Fields[] = [];
  readonly #waits: Wait[] = [];
  readonly #stop: () => Promise<void>;
  readonly #write: (line: object) => void;

  constructor({ command, args, env }: WrapLaunch, cwd: string) {
    const child = spawn(command, args, {
      cwd,
      env: env as NodeJS.ProcessEnv,
      detached: true,
      stdio: ["pipe", "pipe", "ignore"],
    });
    const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
    createInterface({ input: child.stdout }).on("line", (line) => this.#recorded(JSON.parse(line) as Fields));
    this.#write = (line) => void inputOf(child).write(`${JSON.stringify(line)}\n`);
    this.#stop = async () => {
      inputOf(child).end();
      const timer = setTimeout(() => killGroup(child, "SIGKILL"), 3_000);
      await ended;
      clearTimeout(timer);
    };
  }

  send(line: object): void {
    this.#write(line);
  }

  /** The next line of a kind from now on. */
  next(what: string, is: (line: Fields) => boolean): Promise<Fields> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`no ${what}; the last lines: ${JSON.stringify(this.all.slice(-3))}`)),
        LONGEST_MS,
      );
      this.#waits.push({
        is,
        resolve: (line) => {
          clearTimeout(timer);
          resolve(line);
        },
      });
    });
  }

  #recorded(line: Fields): void {
    this.all.push(line);
    for (const wait of this.#waits.filter(({ is }) => is(line))) {
      this.#waits.splice(this.#waits.indexOf(wait), 1);
      wait.resolve(line);
    }
  }

  end(): Promise<void> {
    return this.#stop();
  }
}

interface Parts {
  wrap: OpenWrap;
  lines: Lines;
  asked: Asked[];
  events: TurnEvent[];
}

export class CompactionBench {
  readonly run: WrapRun;
  /** The compaction requests to the engine. */
  readonly asked: Asked[] = [];
  readonly events: TurnEvent[] = [];
  report: WrapReport | undefined;
  readonly #wrap: OpenWrap;
  readonly #lines: Lines;

  constructor(run: WrapRun, parts: Parts) {
    this.run = run;
    this.#wrap = parts.wrap;
    this.#lines = parts.lines;
    this.asked = parts.asked;
    this.events = parts.events;
  }

  static async codex(options: BenchOptions): Promise<Codex> {
    const run = await WrapRun.with("openai-responses", options.script);
    run.setCodex(options.top);
    if (options.provider !== undefined) {
      const file = join(run.root, "codex", "config.toml");
      writeFileSync(
        file,
        readFileSync(file, "utf8").replace('name = "mock"', `name = "${options.provider}"`),
      );
    }
    const env = run.env({ MOCK_KEY: "key-of-mock" });
    const made = await start(run, options, { program: codexWrap, command: codexBinary(), args: [], env });
    const codex = new Codex(run, made);
    await codex.introduce();
    return codex;
  }

  static async claude(options: BenchOptions): Promise<Claude> {
    const run = await WrapRun.with("anthropic-messages", options.script);
    const env = run.env({
      ANTHROPIC_BASE_URL: run.server.url.replace(/\/v1$/, ""),
      ANTHROPIC_API_KEY: "key-of-test",
      ...options.env,
    });
    const streams = ["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"];
    const allowed = ["--permission-mode", "dontAsk", "--allowedTools", "Bash"];
    const args = ["-p", ...streams, ...allowed, "--model", options.model ?? "claude-sonnet-4-5"];
    return new Claude(
      run,
      await start(run, options, { program: claudeWrap, command: claudeBinary(), args, env }),
    );
  }

  get requests(): RecordedRequest[] {
    return this.run.server.requests;
  }

  protected get lines(): Lines {
    return this.#lines;
  }

  /** The compactions that were reported as done within a turn. */
  get completed(): unknown[] {
    return this.events.flatMap((event) =>
      event.type === "compaction.completed"
        ? [[event.lane, event.trigger, event.handledBy, event.backend]]
        : [],
    );
  }

  /** Ends the program and the wrap; the session can be read afterwards. */
  async finish(): Promise<WrapReport> {
    if (this.report) return this.report;
    await this.#lines.end();
    return (this.report = await this.#wrap.close());
  }

  /** All messages of the session, and its compactions. */
  async session(): Promise<{ messages: AgentMessage[]; noted: unknown[] }> {
    return this.run.look(async (pagurus) => {
      const reader = pagurus.sessions().openReader(SESSION);
      const messages: AgentMessage[] = [];
      const noted: unknown[] = [];
      for await (const entry of reader.cursor.forward()) {
        if (entry.type === "message") messages.push({ ...entry.message, entryId: entry.id });
        if (entry.type === "custom" && entry.customType === "pagurus.native_compaction") {
          const { trigger, handledBy } = entry.data as Fields;
          noted.push([trigger, handledBy]);
        }
      }
      reader.close();
      return { messages, noted };
    });
  }

  /** Epochs of the engine's context in the requests, in order. */
  async epochs(): Promise<string[]> {
    const turnIds = this.events.flatMap((event) => (event.type === "turn.started" ? [event.turnId] : []));
    return this.run.look(async (pagurus) => {
      const found = new Set<string>();
      for (const turnId of turnIds)
        for (const { epoch } of await pagurus.context.receipts({ sessionKey: SESSION, turnId }))
          if (epoch !== undefined) found.add(epoch);
      return [...found];
    });
  }

  async end(): Promise<void> {
    await this.finish();
    await this.run.end();
  }
}

interface Program {
  program: ProgramWrap;
  command: string;
  args: string[];
  env: NodeJS.ProcessEnv;
}

async function start(
  run: WrapRun,
  options: BenchOptions,
  { program, command, args, env }: Program,
): Promise<Parts> {
  const { how, lossless } = options;
  const asked: Asked[] = [];
  const events: TurnEvent[] = [];
  mkdirSync(run.home, { recursive: true });
  writeFileSync(
    join(run.home, "pagurus.json"),
    JSON.stringify({
      agents: { defaults: { compaction: { timeoutSeconds: PATIENCE } } },
      plugins: { entries: lossless ? { lossless: { config: lossless } } : {} },
    }),
  );
  const home = run.home;
  const surveyed = await program.survey({
    command,
    args,
    env,
    cwd: run.cwd,
    folder: join(home, "runtimes", program.id),
  });
  const open = async (made: PagurusOptions): Promise<Pagurus> => {
    const engines = how ? { [ENGINE_ID]: () => answeringEngine(how, (each) => asked.push(each)) } : {};
    return recorded(await createPagurus({ ...made, engines }), events);
  };
  const { id, label, api } = program;
  const wrap = await openWrap({
    home,
    env,
    loaded: loadConfig({ home }),
    logger: createFileLogger(home, "debug"),
    program: surveyed,
    id,
    label,
    api,
    sessionKey: SESSION,
    agentId: "main",
    engine: how ? ENGINE_ID : "lossless",
    capture: false,
    observe: false,
    open,
    serveTools: (tools, name) => serveTools({ tools: () => tools, name }),
  });
  const launch = await surveyed.launch(wrap.route);
  if (id === "codex") launch.args.push("app-server");
  return { wrap, lines: new Lines(launch, run.cwd), asked, events };
}

/** The host, with the events of its turns recorded. */
function recorded(pagurus: Pagurus, events: TurnEvent[]): Pagurus {
  const begin = pagurus.run.bind(pagurus);
  pagurus.run = (request) => {
    const run = begin(request);
    return {
      steer: (...inputs) => run.steer(...inputs),
      abort: () => run.abort(),
      async *[Symbol.asyncIterator]() {
        for await (const event of run) {
          events.push(event);
          yield event;
        }
      },
    };
  };
  return pagurus;
}

/** `codex app-server`, as the interactive program runs it inside. */
export class Codex extends CompactionBench {
  #last = 0;
  #thread = "";

  async introduce(): Promise<void> {
    await this.#request("initialize", {
      clientInfo: { name: "bench", title: "bench", version: "0.0.1" },
      capabilities: { experimentalApi: true, requestAttestation: false },
    });
    this.lines.send({ method: "initialized" });
    const { thread } = await this.#request("thread/start", { cwd: this.run.cwd });
    this.#thread = String((thread as Fields)["id"]);
  }

  /** Sends a message and waits for the end of the turn; returns its outcome. */
  async ask(text: string): Promise<unknown> {
    return this.#turn("turn/start", { input: [{ type: "text", text, text_elements: [] }] });
  }

  /** Does what `/compact` does. */
  async compact(): Promise<unknown> {
    return this.#turn("thread/compact/start", {});
  }

  async #turn(method: string, params: Fields): Promise<unknown> {
    const done = this.lines.next("end of the turn", (line) => line["method"] === "turn/completed");
    await this.#request(method, { threadId: this.#thread, ...params });
    const { turn } = (await done)["params"] as { turn: Fields };
    return turn["status"];
  }

  async #request(method: string, params: Fields): Promise<Fields> {
    this.#last += 1;
    const id = this.#last;
    const answer = this.lines.next(`answer to ${method}`, (line) => line["id"] === id);
    this.lines.send({ id, method, params });
    const { result, error } = await answer;
    if (error !== undefined) throw new Error(`${method}: ${JSON.stringify(error)}`);
    return result as Fields;
  }
}

/** A long-running `claude -p` that reads lines. */
export class Claude extends CompactionBench {
  /** Sends a message and waits for the end of the turn; returns its result. */
  async ask(content: string): Promise<unknown> {
    const done = this.lines.next(`end of "${content}"`, ({ type }) => type === "result");
    this.lines.send({ type: "user", message: { role: "user", content } });
    return (await done)["result"];
  }

  /** Triggers of the compactions that Claude Code reported. */
  get boundaries(): unknown[] {
    return this.lines.all
      .filter(({ type, subtype }) => type === "system" && subtype === "compact_boundary")
      .map((line) => (line["compact_metadata"] as Fields)["trigger"]);
  }
}
