/** Subagents over a real session store, with a recording engine and turns that a test writes. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { TestContext } from "node:test";
import type { ContextEngine } from "../../../packages/contract/src/engine/engine.ts";
import type {
  SubagentEndedParams,
  SubagentSpawnParams,
} from "../../../packages/contract/src/engine/engine-params.ts";
import { PagurusError } from "../../../packages/contract/src/errors.ts";
import type { TurnEvent } from "../../../packages/contract/src/host/events.ts";
import type { AgentHarness } from "../../../packages/contract/src/harness/harness.ts";
import type { AssistantMessage } from "../../../packages/contract/src/message.ts";
import type { ModelInfo } from "../../../packages/contract/src/model.ts";
import type { RunRequest } from "../../../packages/contract/src/host/run.ts";
import type { SessionStore } from "../../../packages/contract/src/session/store.ts";
import type { SubagentConfig } from "../../../packages/core/src/config/config-types.ts";
import { IdSource } from "../../../packages/core/src/platform/ids.ts";
import { silentLogger } from "../../../packages/core/src/platform/log.ts";
import { openSessionStore } from "../../../packages/host/src/stores/files/session-store.ts";
import { EngineSlot } from "../../../packages/host/src/turn/engine/engine-slot.ts";
import { Guard } from "../../../packages/host/src/turn/guard/guard.ts";
import type { AgentHost } from "../../../packages/host/src/turn/agent/agent-host.ts";
import type { RunTurn } from "../../../packages/host/src/turn/subagents/subagent-child.ts";
import { Subagents } from "../../../packages/host/src/turn/subagents/manager.ts";
import type { ParentTurn } from "../../../packages/host/src/turn/agent/subagent-port.ts";

/** The turn of a child: it may send text, and ends when the promise does. */
export type Script = (turn: {
  request: RunRequest;
  signal: AbortSignal;
  say: (text: string) => void;
}) => Promise<void> | void;

export interface Options {
  engine?: Partial<ContextEngine>;
  script?: Script;
  subagents?: SubagentConfig;
  deadlines?: Record<string, number>;
}

export class Setting {
  readonly root: string;
  readonly store: SessionStore;
  /** What happened, in order: engine calls, runs, events. */
  readonly log: string[] = [];
  readonly prepared: SubagentSpawnParams[] = [];
  readonly ended: SubagentEndedParams[] = [];
  readonly requests: RunRequest[] = [];
  readonly engine: ContextEngine;
  readonly host: AgentHost;
  readonly subagents: Subagents;
  readonly #options: Options;

  /** With `root` over the folder of another, as after a restart. */
  constructor(t: Pick<TestContext, "after">, options: Options = {}, root?: string) {
    this.#options = options;
    this.root = root ?? mkdtempSync(join(tmpdir(), "pagurus-subagents-"));
    this.store = openSessionStore({ agentDir: this.root, agentId: "main" });
    this.engine = this.#engine(options.engine ?? {});
    this.host = this.#host();
    this.subagents = new Subagents({ host: () => this.host, runTurn: this.#runTurn });
    t.after(async () => {
      await this.subagents.close();
      this.store.close();
      if (root === undefined) rmSync(this.root, { recursive: true, force: true });
    });
  }

  parent(more: Partial<ParentTurn> = {}): ParentTurn {
    const sessionKey = more.sessionKey ?? "main";
    const record = this.store.find(sessionKey) ?? this.store.create(sessionKey, { cwd: this.root });
    return {
      sessionKey,
      sessionId: record.sessionId,
      turnId: "turn-1",
      cwd: this.root,
      modelRef: "test/model",
      permission: "deny",
      harness: HARNESS,
      engine: this.engine,
      guard: this.guard(),
      forkAt: () => null,
      signal: new AbortController().signal,
      emit: (event) => this.note(event),
      ...more,
    };
  }

  guard(): Guard {
    return new Guard({
      engineId: "recording",
      turnId: "turn-1",
      logger: silentLogger,
      report: ({ stage }) => this.log.push(`degraded ${stage}`),
      deadlines: this.#options.deadlines,
    });
  }

  note(event: TurnEvent): void {
    if (event.type === "subagent.ended") this.log.push(`ended ${event.childSessionKey} ${event.outcome}`);
    else this.log.push(event.type);
  }

  /** Calls the tool of a turn; returns the key of the child. */
  async call(parent: ParentTurn, params: Record<string, unknown>): Promise<string> {
    const tool = this.subagents.tool(parent);
    if (!tool) throw new Error("the turn has no tool");
    const { sessionKey, sessionId, cwd, signal } = parent;
    const outcome = await tool.execute(params, { sessionKey, sessionId, cwd, signal });
    return String(outcome.details?.["childSessionKey"]);
  }

  /** Runs a statement on the registry, as a process that died would have left it. */
  registry(sql: string): void {
    const db = new DatabaseSync(join(this.root, "subagents.db"));
    db.exec(sql);
    db.close();
  }

  readonly #runTurn: RunTurn = async (host, request, channel) => {
    this.requests.push(request);
    this.log.push(`run ${request.sessionKey}`);
    const signal = request.signal ?? channel.signal;
    const turnId = host.newTurnId();
    const writer = host.store.openWriter(request.sessionKey ?? "main", { cwd: this.root });
    const end = { sessionKey: request.sessionKey ?? "", sessionId: writer.record.sessionId, turnId };
    const say = (text: string): void => {
      const message: AssistantMessage = { role: "assistant", content: [{ type: "text", text }] };
      const { id } = writer.append({ type: "message", turnId, message });
      channel.emit({ type: "message", message: { ...message, entryId: id } });
    };
    try {
      writer.append({ type: "message", turnId, message: { role: "user", content: request.prompt } });
      await (this.#options.script ?? (({ say: speak }) => speak("done")))({ request, signal, say });
      writer.commitTurn({ turnId, outcome: "completed" });
      channel.emit(completed(end, "stop"));
    } catch (error) {
      const { code, message } = error as PagurusError;
      if (signal.aborted) channel.emit(completed(end, "aborted"));
      else channel.emit({ type: "turn.failed", error: { code, message }, degraded: [], ...end });
    } finally {
      writer.close();
    }
  };

  #engine(members: Partial<ContextEngine>): ContextEngine {
    return {
      info: { id: "recording", name: "recording" },
      ingest: () => Promise.resolve({ ingested: true }),
      assemble: ({ messages }) => Promise.resolve({ messages, estimatedTokens: 0 }),
      compact: () => Promise.resolve({ ok: true, compacted: false }),
      prepareSubagentSpawn: (params) => {
        const exists = this.store.find(params.childSessionKey) !== undefined;
        this.log.push(`prepare ${params.childSessionKey}${exists ? " (exists)" : ""}`);
        this.prepared.push(params);
        return Promise.resolve({
          rollback: () => {
            this.log.push(`rollback ${params.childSessionKey}`);
            return Promise.resolve();
          },
        });
      },
      onSubagentEnded: (params) => {
        this.log.push(`told ${params.childSessionKey} ${params.reason}`);
        this.ended.push(params);
        return Promise.resolve();
      },
      ...members,
    };
  }

  #host(): AgentHost {
    const ids = new IdSource();
    const host: Partial<AgentHost> = {
      agentId: "main",
      agentDir: this.root,
      config: {
        session: { scope: "main" },
        agents: { defaults: { subagents: this.#options.subagents ?? {} } },
      },
      settings: {
        models: {},
        surfaces: {},
        fallbacks: [],
        permission: { mode: "ask" },
        maxSteps: 1,
        timeoutSeconds: 1,
        workspace: this.root,
      },
      logger: silentLogger,
      store: this.store,
      slot: new EngineSlot({
        id: "recording",
        source: "test",
        configured: true,
        bundled: false,
        factory: () => this.engine,
        known: ["recording"],
        failure: undefined,
        context: {},
        deadlines: undefined,
      }),
      harnesses: [HARNESS],
      hooks: { hooks: () => [] },
      pluginFailures: [],
      plugins: { facts: [], takeErrors: () => [], systemEvents: { take: () => ({}) } },
      defaultModel: () => Promise.resolve({ ref: "test/model", source: "test" }),
      checkAccess: () => undefined,
      modelInfo: (ref) => {
        if (ref.startsWith("test/")) return { ref } as ModelInfo;
        throw new PagurusError("model_unknown", `No model ${ref}.`);
      },
      newTurnId: () => ids.next(),
    };
    return host as AgentHost;
  }
}

const HARNESS = {
  id: "embedded",
  capabilities: ["bootstrap"],
  supports: () => ({ supported: true }),
} as unknown as AgentHarness;

function completed(
  ids: { sessionKey: string; sessionId: string; turnId: string },
  stopReason: "stop" | "aborted",
): TurnEvent {
  const usage = { input: 0, output: 0, totalTokens: 0 };
  return {
    type: "turn.completed",
    ...ids,
    runtime: "embedded",
    seam: "embedded",
    model: "test/model",
    engine: "recording",
    stopReason,
    usage,
    degraded: [],
  };
}

/** Waits for the abort of a child; rejects then, as a model call does. */
export function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const fail = (): void => reject(new PagurusError("turn_aborted", "The turn was aborted."));
    if (signal.aborted) fail();
    else signal.addEventListener("abort", fail, { once: true });
  });
}

/** The owner of every child of the registry becomes a process that has died. */
export const OWNER_DIED = "UPDATE children SET instance = 'gone', pid = 4194305, ticks = '1'";
