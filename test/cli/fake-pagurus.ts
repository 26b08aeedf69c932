import type { TurnEvent } from "../../packages/contract/src/host/events.ts";
import type { Pagurus } from "../../packages/contract/src/host/host.ts";
import type { RunRequest, SpawnRequest, TurnRun } from "../../packages/contract/src/host/run.ts";
import type { StatusReport } from "../../packages/contract/src/host/status.ts";
import type { SkillReport } from "../../packages/contract/src/host/skill.ts";
import type { Receipt, ReceiptPart } from "../../packages/contract/src/session/receipt.ts";
import type { SessionHold, SessionStore } from "../../packages/contract/src/session/store.ts";
import type {
  OpenNotice,
  SessionReader,
  SessionRecord,
  SessionWriter,
} from "../../packages/contract/src/session/writer.ts";
import type { TranscriptEntry } from "../../packages/contract/src/session/transcript.ts";
import { PagurusError } from "../../packages/contract/src/errors.ts";

export const completed: TurnEvent = {
  type: "turn.completed",
  sessionKey: "main",
  sessionId: "s1",
  turnId: "t1",
  runtime: "embedded",
  seam: "embedded",
  model: "offline/extract",
  engine: "legacy",
  stopReason: "stop",
  usage: { input: 1, output: 1, totalTokens: 2 },
  degraded: [],
};

export const failed = (code: string, message: string): TurnEvent => ({
  type: "turn.failed",
  error: { code, message },
  degraded: [],
});

export function statusReport(changes: Partial<StatusReport> = {}): StatusReport {
  return {
    home: "/home/someone/.pagurus",
    configFile: "/home/someone/.pagurus/pagurus.json",
    configFound: false,
    configWarnings: [],
    agentId: "main",
    sessionKey: "main",
    interruptedTurns: [],
    problems: [],
    model: { ref: "offline/extract", source: "default", contextWindow: 32_000 },
    Execution: "in process",
    Runtime: { id: "embedded", rule: "default" },
    engine: {
      selected: "legacy",
      effective: "legacy",
      source: "default",
      contract: "pagurus.engine/1",
      lifecycle: "classic",
    },
    context: { tokens: 8_000, budget: 16_000 },
    compactions: 0,
    recentCompactions: [],
    memory: { selected: "files", effective: "files" },
    subagents: [],
    degraded: [],
    permission: "ask",
    sandbox: "none",
    ...changes,
  };
}

export function part(changes: Partial<ReceiptPart> & { hash: string }): ReceiptPart {
  return { source: "history", role: "user", tokens: 10, bytes: 40, ...changes };
}

export function receipt(changes: Partial<Receipt> & { parts: ReceiptPart[] }): Receipt {
  return {
    turnId: "t1",
    request: 0,
    timestamp: "2026-01-02T03:04:05.000Z",
    seam: "embedded",
    runtime: "embedded",
    engine: "legacy",
    model: "offline/extract",
    liveFrom: 0,
    sharedParts: 0,
    sharedTokens: 0,
    tokens: 100,
    tokenBudget: 1000,
    ...changes,
  };
}

export function record(sessionKey: string, changes: Partial<SessionRecord> = {}): SessionRecord {
  return {
    sessionKey,
    sessionId: `id-${sessionKey}`,
    file: `/nowhere/${sessionKey}.jsonl`,
    cwd: "/",
    createdAt: "2026-01-01T00:00:00.000Z",
    updatedAt: "2026-01-02T00:00:00.000Z",
    entryCount: 3,
    bytes: 2048,
    current: true,
    generation: 1,
    ...changes,
  };
}

const nothing = (what: string) => (): never => {
  throw new PagurusError("internal", `The test does not expect ${what}.`);
};

/** A store whose session `main` has these entries on its path; `file` is the whole file in order. */
export class FakeStore implements SessionStore {
  path: TranscriptEntry[];
  file: TranscriptEntry[];
  records: SessionRecord[] = [record("main")];
  rewinds: (string | null)[] = [];
  interrupted: string[] = [];
  notices: OpenNotice[] = [];
  runningIn: SessionReader["runningIn"];

  constructor(path: TranscriptEntry[] = [], file: TranscriptEntry[] = path) {
    this.path = path;
    this.file = file;
  }

  inFolder = (): SessionRecord[] => this.records;
  firstKey = (): string => "main";
  hold = (sessionKey: string): SessionHold => ({ sessionKey, release: () => undefined });
  begin = (): SessionHold => this.hold("main");

  openReader(key: string): SessionReader {
    const found = this.find(key);
    if (!found) throw new PagurusError("session_not_found", `No session "${key}".`);
    const entries = this.path;
    const all = this.file;
    return {
      record: found,
      leafId: entries.at(-1)?.id ?? null,
      notices: this.notices,
      ...(this.runningIn ? { runningIn: this.runningIn } : {}),
      cursor: {
        async *forward() {
          yield* entries;
        },
        async *backward() {
          yield* entries.toReversed();
        },
        get: (id) => Promise.resolve(all.find((entry) => entry.id === id)),
      },
      contextMessages: () => ({ messages: [], complete: true }),
      interruptedTurns: () => this.interrupted,
      close: () => undefined,
    };
  }
  openWriter(key: string): SessionWriter {
    const reader = this.openReader(key);
    return {
      ...reader,
      listen: () => undefined,
      unfinalizedTurns: () => [],
      recordedTurn: () => undefined,
      append: nothing("append"),
      commitTurn: nothing("commitTurn"),
      markFinalized: nothing("markFinalized"),
      rewind: (target) => {
        if (target !== null && !this.file.some((entry) => entry.id === target)) {
          throw new PagurusError("entry_not_found", `No entry "${target}" in session "${key}".`);
        }
        this.rewinds.push(target);
      },
      rewrite: nothing("rewrite"),
      place: nothing("place"),
      close: () => undefined,
    };
  }
  list(): SessionRecord[] {
    return this.records;
  }
  find(key: string): SessionRecord | undefined {
    return this.records.find((one) => one.sessionKey === key && one.current);
  }
  search: SessionStore["search"] = () => [];
  renew = (key: string): SessionRecord => record(key, { sessionId: "renewed" });
  fork = (_key: string, newKey: string): Promise<SessionRecord> => Promise.resolve(record(newKey));
  reserveId: SessionStore["reserveId"] = nothing("reserveId");
  create: SessionStore["create"] = nothing("create");
  rotate: SessionStore["rotate"] = nothing("rotate");
  /** Deletion goes through the host, which notifies hooks and engines. */
  delete: SessionStore["delete"] = nothing("delete");
  async *export(): AsyncIterable<Uint8Array> {
    const lines = [{ type: "session", version: 3, id: "id-main" }, ...this.file];
    const bytes = Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    // Cut at an odd place, as in file reads.
    yield bytes.subarray(0, 37);
    yield bytes.subarray(37);
  }
  import: SessionStore["import"] = () => Promise.resolve(record("imported"));
  close(): void {}
}

export interface Script {
  /** Events of each run, in order; the last script repeats. */
  turns?: (TurnEvent[] | ((request: RunRequest, turn: FakeTurn) => AsyncIterable<TurnEvent>))[];
  store?: FakeStore;
  status?: StatusReport;
  receipts?: Receipt[];
  preview?: Pagurus["context"]["preview"];
  compact?: Pagurus["compact"];
  native?: Partial<Pagurus["native"]>;
  running?: Partial<Pagurus["running"]>;
  runtimes?: Pagurus["runtimes"];
  skills?: SkillReport;
  customCommands?: Partial<Pagurus["customCommands"]>;
  /** What a plugin's commands answer, by name. */
  commands?: Record<string, (args: string) => string>;
}

export interface FakeTurn {
  steered: string[];
  aborted: boolean;
}

export class FakePagurus implements Pagurus {
  readonly requests: RunRequest[] = [];
  readonly turns: FakeTurn[] = [];
  readonly store: FakeStore;
  closed = 0;
  renewed: string[] = [];
  deleted: { sessionKey: string; agentId?: string }[] = [];
  readonly #script: Script;

  readonly plugins: Pagurus["plugins"] = {
    facts: () => [],
    cli: () => [],
    withCli: () => [],
    programs: () => [],
    channels: () => [],
    isDeliveryWatched: () => false,
    deliver: async ({ content }) => ({ content }),
  };

  constructor(script: Script = {}) {
    this.#script = script;
    this.store = script.store ?? new FakeStore();
  }

  run(request: RunRequest): TurnRun {
    const scripts = this.#script.turns ?? [[completed]];
    const script = scripts[Math.min(this.requests.length, scripts.length - 1)] ?? [];
    this.requests.push(request);
    const turn: FakeTurn = { steered: [], aborted: false };
    this.turns.push(turn);
    const events = typeof script === "function" ? script(request, turn) : each(script);
    return {
      steer: (text) => {
        turn.steered.push(text);
        return true;
      },
      abort: () => {
        turn.aborted = true;
      },
      [Symbol.asyncIterator]: () => events[Symbol.asyncIterator](),
    };
  }

  checkInput: Pagurus["checkInput"] = () => Promise.resolve();
  sessions = (): SessionStore => this.store;
  /** Keys that are in use by others. */
  busy: string[] = [];
  released: string[] = [];
  claim: Pagurus["claim"] = ({ sessionKey = "main" } = {}) => {
    if (this.busy.includes(sessionKey))
      return Promise.reject(new PagurusError("session_locked", `The session ${sessionKey} is in use.`));
    return Promise.resolve({ sessionKey, release: () => void this.released.push(sessionKey) });
  };
  sessionKey: Pagurus["sessionKey"] = ({ sessionKey = "main" } = {}) => sessionKey;
  context: Pagurus["context"] = {
    preview: (request) => (this.#script.preview ?? nothing("preview"))(request),
    recall: nothing("recall"),
    receipts: ({ turnId }) => {
      const all = this.#script.receipts ?? [];
      const wanted = turnId ?? all.at(-1)?.turnId;
      return Promise.resolve(all.filter((one) => one.turnId === wanted));
    },
  };
  compact: Pagurus["compact"] = (request) => (this.#script.compact ?? nothing("compact"))(request);
  maintain: Pagurus["maintain"] = nothing("maintain");
  skills: Pagurus["skills"] = () =>
    Promise.resolve(this.#script.skills ?? { skills: [], problems: [], tokens: 0 });
  get customCommands(): Pagurus["customCommands"] {
    const list = { commands: [], problems: [] };
    return {
      list: () => Promise.resolve(list),
      expand: () => Promise.resolve(undefined),
      ...this.#script.customCommands,
    };
  }
  commands: Pagurus["commands"] = () =>
    Object.keys(this.#script.commands ?? {}).map((name) => ({ name, usage: "", summary: `Does ${name}.` }));
  command: Pagurus["command"] = ({ name, args = "" }) =>
    Promise.resolve((this.#script.commands?.[name] ?? nothing(name))(args));
  rewindFiles: Pagurus["rewindFiles"] = () =>
    Promise.resolve({ changes: [], files: [], kept: [], problem: "there is no checkpoint" });
  renew: Pagurus["renew"] = ({ sessionKey = "main", reason }) => {
    this.renewed.push(reason);
    return Promise.resolve(this.store.renew(sessionKey));
  };
  spawn = (request: SpawnRequest): Promise<never> => nothing(`spawn ${request.task}`)();
  deleteSession: Pagurus["deleteSession"] = (request) => {
    if (!this.store.find(request.sessionKey))
      return Promise.reject(new PagurusError("session_not_found", `No session "${request.sessionKey}".`));
    this.deleted.push(request);
    return Promise.resolve({ sessions: 1, bytes: 2048 });
  };
  get runtimes(): Pagurus["runtimes"] {
    return this.#script.runtimes ?? { list: () => Promise.resolve([]), explain: nothing("an explanation") };
  }
  get native(): Pagurus["native"] {
    const none = { threads: nothing("threads"), bind: nothing("bind"), status: nothing("a status") };
    const others = { answerCompaction: nothing("an answer"), tools: nothing("tools") };
    return { ...none, ...others, ...this.#script.native };
  }
  get running(): Pagurus["running"] {
    return { steer: nothing("steer"), stop: nothing("stop"), ...this.#script.running };
  }
  reload: Pagurus["reload"] = nothing("reload");
  status = (): Promise<StatusReport> => Promise.resolve(this.#script.status ?? statusReport());
  close(): Promise<void> {
    this.closed += 1;
    return Promise.resolve();
  }
}

async function* each(events: TurnEvent[]): AsyncGenerator<TurnEvent> {
  yield* events;
}
