/** Turns on a fake Codex with a fake gateway, which record what both receive. */
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PagurusError } from "../../../packages/contract/src/errors.ts";
import { CODEX_VERSION } from "../../../packages/runtimes/src/codex/codex-version.ts";
import type { TurnEvent } from "../../../packages/contract/src/host/events.ts";
import type {
  AssembledContext,
  HarnessBinding,
  HarnessTurn,
  TurnContext,
  TurnIo,
} from "../../../packages/contract/src/harness/harness.ts";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import type { WireRoute, WireRouteRequest, WireTurn } from "../../../packages/contract/src/harness/wire.ts";
import type {
  AppServer,
  ThreadListener,
} from "../../../packages/runtimes/src/codex/app-server/app-server.ts";
import type { TurnSurroundings } from "../../../packages/runtimes/src/codex/codex-place.ts";
import { codexRun } from "../../../packages/runtimes/src/codex/run-codex-turn.ts";
import { Threads } from "../../../packages/runtimes/src/codex/codex-threads.ts";
import { WireRoutes } from "../../../packages/runtimes/src/codex/wire/codex-wire.ts";
import { RpcError } from "../../../packages/core/src/rpc/peer.ts";

export interface Asked {
  method: string;
  params: Record<string, unknown>;
}

/** A route that records the turns it has served. */
export class PlayedRoute implements WireRoute {
  readonly baseUrl: string;
  readonly headers: Record<string, string>;
  readonly request: WireRouteRequest;
  readonly served: (string | undefined)[] = [];
  turn: WireTurn | undefined;
  isClosed = false;

  constructor(request: WireRouteRequest, number: number) {
    this.request = request;
    this.baseUrl = `http://127.0.0.1:1/route-${number}/v1`;
    this.headers = { "x-token": `token-${number}` };
  }

  serve(turn: WireTurn | undefined): void {
    this.turn = turn;
    this.served.push(turn?.turnId);
  }

  close(): Promise<void> {
    this.isClosed = true;
    return Promise.resolve();
  }
}

/** A fake `codex app-server`: answers requests, and each turn ends at once unless `during` does more. */
export class PlayedCodex {
  readonly asked: Asked[] = [];
  readonly folder: string;
  readonly version = CODEX_VERSION;
  isAlive = true;
  refuses: Record<string, string> = {};
  /** Runs inside a native turn; its result is the end of the turn. */
  during: (thread: string, turn: string) => Promise<Record<string, unknown>> = () =>
    Promise.resolve({ status: "completed" });
  readonly #listeners = new Map<string, ThreadListener>();
  #threads = 0;
  #turns = 0;

  constructor(folder: string) {
    this.folder = folder;
  }

  async request<T>(method: string, params: Record<string, unknown>): Promise<T> {
    this.asked.push({ method, params });
    const refusal = this.refuses[method];
    if (refusal !== undefined) throw new RpcError(refusal, -32_600);
    return this.#answer(method, params) as T;
  }

  listen(threadId: string, listener: ThreadListener): () => void {
    this.#listeners.set(threadId, listener);
    return () => this.#listeners.delete(threadId);
  }

  notify(threadId: string, method: string, params: object): void {
    this.#listeners.get(threadId)?.notification(method, { threadId, ...params });
  }

  /** Sends the host a request in a turn. */
  ask(threadId: string, method: string, params: object): Promise<unknown> | undefined {
    return this.#listeners.get(threadId)?.request(method, { threadId, ...params });
  }

  /** Ends it and notifies the listeners. */
  end(): void {
    this.isAlive = false;
    for (const listener of this.#listeners.values())
      listener.closed(new PagurusError("runtime_failed", "Codex has ended."));
  }

  of(method: string): Record<string, unknown>[] {
    return this.asked.filter((each) => each.method === method).map(({ params }) => params);
  }

  #answer(method: string, params: Record<string, unknown>): unknown {
    if (method === "thread/start") return { thread: { id: `thread-${++this.#threads}` } };
    if (method === "thread/resume") {
      const id = String(params["threadId"]);
      const path = join(this.folder, `${id}.jsonl`);
      writeFileSync(path, "");
      return { thread: { id, path } };
    }
    if (method !== "turn/start") return {};
    const id = `native-${++this.#turns}`;
    const thread = String(params["threadId"]);
    setImmediate(() => {
      void this.during(thread, id).then((turn) =>
        this.notify(thread, "turn/completed", { turn: { id, ...turn } }),
      );
    });
    return { turn: { id } };
  }

  /** Appends a line to the file of a resumed thread. */
  write(thread: string, line: object): void {
    appendFileSync(join(this.folder, `${thread}.jsonl`), `${JSON.stringify(line)}\n`);
  }
}

export interface PlayedTurn {
  turn: HarnessTurn;
  events: TurnEvent[];
  degraded: string[];
  receipts: object[];
}

export interface TurnOptions {
  turnId?: string;
  system?: string;
  epoch?: string;
  tools?: string;
  history?: AgentMessage[];
  degraded?: string;
  governs?: boolean;
  more?: Partial<HarnessTurn>;
  context?: Partial<TurnContext>;
  io?: Partial<TurnIo>;
}

export class WireBench {
  readonly folder = mkdtempSync(join(tmpdir(), "pagurus-codex-wire-"));
  readonly routes: PlayedRoute[] = [];
  codex = new PlayedCodex(this.folder);
  binding: HarnessBinding | undefined;
  /** Why no route can be opened. */
  closed: string | undefined;
  endpoint: TurnSurroundings["endpoint"] = () => ({ baseUrl: "http://model.test/v1", headers: { key: "k" } });
  around = this.surroundings();

  surroundings(more: Partial<TurnSurroundings> = {}): TurnSurroundings {
    const routes = new WireRoutes(async () => ({
      open: (request) => {
        if (this.closed !== undefined) throw new PagurusError("gateway_failed", this.closed);
        const route = new PlayedRoute(request, this.routes.length + 1);
        this.routes.push(route);
        return Promise.resolve(route);
      },
    }));
    return {
      env: {},
      home: this.folder,
      trusts: () => true,
      seam: "wire",
      endpoint: (model) => this.endpoint(model),
      log: { debug: () => undefined, warn: () => undefined },
      servers: {
        get: () => Promise.resolve(this.codex),
        running: () => Promise.resolve(this.codex),
      } as unknown as TurnSurroundings["servers"],
      catalogs: { file: () => Promise.resolve("/catalog.json") } as unknown as TurnSurroundings["catalogs"],
      threads: new Threads((id) => routes.leave(id)),
      routes,
      ...more,
    };
  }

  /** Restarts the host, in a process of its own. */
  restart(more: Partial<TurnSurroundings> = {}): void {
    this.codex = new PlayedCodex(this.folder);
    this.around = this.surroundings(more);
  }

  get server(): AppServer {
    return this.codex as unknown as AppServer;
  }

  turn(options: TurnOptions = {}): PlayedTurn {
    const { turnId = "turn", system = "Be brief.", epoch, tools = "tools", history = [], degraded } = options;
    const events: TurnEvent[] = [];
    const reasons: string[] = [];
    const receipts: object[] = [];
    const input: HarnessTurn["input"] = { role: "user", content: [{ type: "text", text: "Go." }] };
    const context: AssembledContext = {
      system,
      messages: [...history, input],
      historyCount: history.length,
      estimatedTokens: 10,
      ...(epoch === undefined ? {} : { projection: { mode: "thread_bootstrap" as const, epoch } }),
      ...(degraded === undefined ? {} : { degraded }),
    };
    const turn: Partial<HarnessTurn> = {
      sessionKey: "main",
      sessionId: "session",
      turnId,
      cwd: this.folder,
      model: { provider: "p", id: "m", ref: "p/m", api: "openai-responses" } as HarnessTurn["model"],
      input,
      instructions: system,
      maxSteps: 10,
      tools: { specs: [], fingerprint: tools } as unknown as HarnessTurn["tools"],
      permissionMode: "auto",
      engine: { id: "e", governs: options.governs ?? true, ownsCompaction: true },
      signal: new AbortController().signal,
      context: {
        assemble: () => Promise.resolve(context),
        fallback: (failure) => Promise.reject(failure),
        receipt: (request) => void receipts.push(request),
        answerCompaction: () => Promise.resolve(undefined),
        fragments: [],
        additionalContext: { tab: { kind: "application", value: "open" } } as never,
        fragmentsLost: () => [],
        messages: () => [],
        newestEntryId: () => "entry",
        ...options.context,
      },
      thread: {
        binding: () => this.binding,
        bind: (binding) => {
          this.binding = binding;
        },
      },
      io: {
        takeInputs: () => Promise.resolve([]),
        inputArrives: () => new Promise(() => undefined),
        emit: (event) => {
          events.push(event);
          return Promise.resolve();
        },
        degrade: (_stage, reason) => void reasons.push(reason),
        ...options.io,
      },
      ...options.more,
    };
    return { turn: turn as HarnessTurn, events, degraded: reasons, receipts };
  }

  /** Runs a turn to its end. */
  async run(options: TurnOptions = {}): Promise<PlayedTurn> {
    const played = this.turn(options);
    await codexRun(played.turn, this.around).run();
    return played;
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** The provider of a thread, as Codex received it. */
export function providerOf(params: Record<string, unknown> | undefined): Record<string, unknown> | undefined {
  const config = params?.["config"] as
    | { model_providers?: Record<string, Record<string, unknown>> }
    | undefined;
  return config?.model_providers?.["pagurus"];
}
