/** A real process that is killed at a point, and invariants when the next one opens the same home. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { StatusReport } from "../../../packages/contract/src/host/status.ts";
import type { TranscriptEntry } from "../../../packages/contract/src/session/transcript.ts";
import { startServer, type ModelServer, type RecordedRequest, type ReplyStep } from "../../servers/server.ts";
import {
  makeSetting,
  modelConfig,
  finish,
  start,
  type Finished,
  type Running,
  type Setting,
} from "../setting.ts";
import { storedTranscripts } from "../../stores/stored-transcripts.ts";
import { readBody, type WireBody } from "../wire-bodies.ts";
import { assertPairs } from "./pairs.ts";

const ENGINE = resolve(import.meta.dirname, "engines/durable.js");

export interface EngineConfig {
  settle?: "commitTurn" | "afterTurn";
  compact?: "summary" | "rotate";
  rewrites?: number;
  owns?: boolean;
}

/** A line of the engine's own log. */
export interface EngineLine {
  took?: string;
  sessionKey?: string;
  texts?: string[];
  after?: string[];
  duplicate?: string;
  prepared?: string;
  rolledBack?: string;
  ended?: string;
  reason?: string;
}

export type Script = (body: WireBody, request: RecordedRequest) => ReplyStep | Promise<ReplyStep>;

export class KillBench {
  readonly setting: Setting;
  readonly server: ModelServer;
  readonly folder: string;
  #turns = 0;
  /** Bytes of each transcript up to its last commit, before the kill. */
  readonly #kept = new Map<string, Buffer>();
  /** Inputs whose turns must be on the path exactly once. */
  readonly #committed = new Set<string>();

  private constructor(setting: Setting, server: ModelServer, folder: string) {
    this.setting = setting;
    this.server = server;
    this.folder = folder;
  }

  static async open(engine: EngineConfig, script: Script, window = 100_000): Promise<KillBench> {
    const server = await startServer({
      protocol: "openai-completions",
      script: (request) => script(readBody("openai-completions", request), request),
    });
    const setting = makeSetting();
    const folder = join(setting.root, "engine");
    mkdirSync(folder);
    const config = modelConfig(
      "openai-completions",
      server.url,
      { contextWindow: window, maxTokens: 500 },
      {
        agents: { defaults: { compaction: { keepRecentTokens: 500 } } },
        plugins: {
          slots: { contextEngine: "durable" },
          load: { paths: [ENGINE] },
          entries: { durable: { config: { ...engine, folder } } },
        },
      },
    );
    writeFileSync(join(setting.home, "pagurus.json"), JSON.stringify(config));
    return new KillBench(setting, server, folder);
  }

  async end(): Promise<void> {
    await this.server.close();
    this.setting.remove();
  }

  /** Starts a turn with an input of its own, followed by `words`. */
  begin(words = ""): { running: Running; input: string } {
    const { args, input } = this.#next(words);
    return { running: start(this.setting, args), input };
  }

  #next(words: string): { args: string[]; input: string } {
    const input = `Input-${++this.#turns};`;
    return { args: ["run", "--json", `${input} ${words}`], input };
  }

  /**
   * Runs a turn to its end, in the short form in the test's own process, and checks that everything committed before still
   * exists.
   */
  async whole(words = ""): Promise<Finished & { input: string; body: WireBody }> {
    const from = this.server.requests.length;
    const { args, input } = this.#next(words);
    const finished = await finish(this.setting, args);
    assert.equal(finished.code, 0, `${finished.stdout.slice(-600)} ${finished.stderr}`);
    const bodies = this.server.requests.slice(from).map((request) => readBody("openai-completions", request));
    for (const body of bodies) assertPairs(body);
    const body = bodies.findLast(({ messages }) => messages.some(({ text }) => text.includes(input)));
    assert.ok(body, "the turn's own request");
    this.#committed.add(input);
    this.assertConsistent(input);
    const { last } = finished;
    assert.ok(last?.type === "turn.completed");
    assert.equal(last.sessionId, this.sessionId(), "the current generation is the one that its header says");
    if (!last.degraded.some(({ stage }) => stage === "trim")) this.#assertSeen(body);
    return { ...finished, input, body };
  }

  /** The model saw the summary, if there is one, and every input after it. */
  #assertSeen(body: WireBody): void {
    const path = this.path();
    const compaction = path.findLast((entry) => entry.type === "compaction");
    const text = body.messages.map((message) => message.text).join("\n");
    if (compaction) assert.ok(text.includes(compaction.summary), "the summary is in the request");
    for (const entry of path) {
      if (entry.type !== "message" || entry.message.role !== "user") continue;
      const [input] = /Input-\d+;/.exec(JSON.stringify(entry.message.content)) ?? [];
      const kept = compaction === undefined || entry.id >= compaction.firstKeptEntryId;
      if (kept && input !== undefined) assert.ok(text.includes(input), `${input} is in the request`);
    }
  }

  async kill(running: Running): Promise<boolean> {
    running.child.kill("SIGKILL");
    return (await running.finished).signal === "SIGKILL";
  }

  hold(point: string): void {
    writeFileSync(join(this.folder, `hold-${point}`), "");
  }

  /** Lets the next process pass all points. */
  release(): void {
    for (const name of readdirSync(this.folder)) {
      if (/^(hold|at)-/.test(name)) rmSync(join(this.folder, name));
    }
  }

  /** Resolves when the engine has reached a point; false when the process ended before. */
  async reached(point: string, running: Running): Promise<boolean> {
    let ended = false;
    void running.finished.then(() => {
      ended = true;
    });
    while (!existsSync(join(this.folder, `at-${point}`))) {
      if (ended) return false;
      await pause(1);
    }
    return true;
  }

  engineLog(): EngineLine[] {
    const file = join(this.folder, "engine.log");
    if (!existsSync(file)) return [];
    const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
    return lines.map((line) => JSON.parse(line) as EngineLine);
  }

  /** Records the durable state; call it after a kill, before the next process. */
  snapshot(): void {
    for (const [name, bytes] of this.#transcripts()) {
      // A child that never ran may be removed.
      const durable = committed(bytes);
      if (durable.length > 0) this.#kept.set(name, Buffer.from(durable));
    }
  }

  /** Transcript of the current generation. */
  current(key = "main"): TranscriptEntry[] {
    const { lines } = this.#generation(key);
    return lines.slice(1, -1).map((line) => JSON.parse(line) as TranscriptEntry);
  }

  /** Id of the current generation, from the headers. */
  sessionId(key = "main"): string {
    return this.#generation(key).header.id;
  }

  #generation(key: string): { header: Header; lines: string[] } {
    const found = [...this.#transcripts()]
      .map(([, bytes]) => bytes.toString("utf8").split("\n"))
      .map((lines) => ({ header: JSON.parse(lines[0] ?? "{}") as Header, lines }))
      .filter(({ header }) => header.key === key)
      .toSorted((a, b) => order(a.header) - order(b.header))
      .at(-1);
    assert.ok(found, `a transcript of ${key}`);
    return found;
  }

  /** Root to leaf. */
  path(key = "main"): TranscriptEntry[] {
    const entries = this.current(key);
    const byId = new Map(entries.map((entry) => [entry.id, entry]));
    const path: TranscriptEntry[] = [];
    const next = (entry: TranscriptEntry): TranscriptEntry | undefined => {
      const id = entry.type === "rewind" ? entry.targetId : entry.parentId;
      return id === null ? undefined : byId.get(id);
    };
    for (let at = entries.at(-1); at; at = next(at)) path.unshift(at);
    return path;
  }

  async status(): Promise<StatusReport> {
    return JSON.parse((await finish(this.setting, ["status", "--json"])).stdout) as StatusReport;
  }

  /** No committed byte has changed; each committed input and its answer are on the path once, in order. */
  assertConsistent(newest: string): void {
    const now = this.#transcripts();
    for (const [name, bytes] of this.#kept) {
      assert.ok(now.get(name)?.subarray(0, bytes.length).equals(bytes), `${name} was only appended to`);
    }
    const recorded = this.path().flatMap((entry) => (entry.type === "message" ? [entry.message] : []));
    const inputs = recorded.flatMap((message) => {
      const found = message.role === "user" ? /Input-\d+;/.exec(JSON.stringify(message.content)) : null;
      return found ? [found[0]] : [];
    });
    assert.equal(new Set(inputs).size, inputs.length, `no input stands twice: ${inputs.join(" ")}`);
    assert.deepEqual(
      inputs,
      inputs.toSorted((a, b) => number(a) - number(b)),
      "in the order of their turns",
    );
    for (const input of this.#committed) assert.ok(inputs.includes(input), `${input} is on the path`);
    assert.equal(inputs.at(-1), newest);
  }

  /** Records that a killed turn was committed: its input may not get lost. */
  noteCommitted(input: string): boolean {
    const entries = this.current();
    const ended = new Set(entries.flatMap((entry) => (entry.type === "turn_commit" ? [entry.turnId] : [])));
    const entry = entries.find(
      (each) => each.type === "message" && JSON.stringify(each.message.content).includes(input),
    );
    const done = entry?.turnId !== undefined && ended.has(entry.turnId);
    if (done) this.#committed.add(input);
    return done;
  }

  /** Each ended turn was taken once, and nothing else was. */
  assertTakenOnce(): void {
    const took = this.engineLog().flatMap((line) => (line.took === undefined ? [] : [line.took]));
    assert.equal(new Set(took).size, took.length, "no turn was taken twice");
    const recorded = new Set(
      this.path().flatMap((entry) => (entry.type === "message" ? [entry.turnId] : [])),
    );
    const ended = this.path().flatMap((entry) => (entry.type === "turn_commit" ? [entry.turnId] : []));
    const due = [...new Set(ended)].filter((turnId) => recorded.has(turnId));
    const here = this.engineLog().flatMap(({ took: turnId, sessionKey }) =>
      turnId !== undefined && sessionKey === "main" ? [turnId] : [],
    );
    assert.deepEqual(here.toSorted(), due.toSorted(), "the engine took what the transcript has");
  }

  #transcripts(): Map<string, Buffer> {
    return storedTranscripts(this.setting.home);
  }
}

interface Header {
  id: string;
  key?: string;
  generation?: number;
  precedence?: number;
}

const order = ({ precedence, generation }: Header): number => precedence ?? generation ?? 0;
const number = (input: string): number => Number(/\d+/.exec(input)?.[0]);

/** The file up to the end of its last commit marker. */
function committed(bytes: Buffer): Buffer {
  const whole = bytes.subarray(0, unfinishedRewrite(bytes) ?? bytes.lastIndexOf("\n") + 1);
  const at = whole.lastIndexOf('"type":"turn_commit"');
  return at < 0 ? Buffer.alloc(0) : whole.subarray(0, whole.indexOf("\n", at) + 1);
}

/** Start of the lines of a rewrite that the kill cut short: they count together or not at all. */
function unfinishedRewrite(bytes: Buffer): number | undefined {
  const at = bytes.lastIndexOf('"branch":{');
  if (at < 0) return undefined;
  const from = bytes.lastIndexOf("\n", at) + 1;
  const lines = bytes.subarray(from).toString("utf8").split("\n").slice(0, -1);
  const [first] = lines;
  if (first === undefined) return from;
  const { branch } = JSON.parse(first) as { branch: { entries: number } };
  return lines.length < branch.entries ? from : undefined;
}
