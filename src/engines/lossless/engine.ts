/**
 * The engine `lossless`: it keeps every word of a session in a store of its own, shows the model a stable context
 * within its budget, and makes summaries behind the turns. See docs/architecture for the design.
 */
import { builtInCompaction } from "../../compaction/built-in.ts";
import { contextFromPath } from "../../compaction/context.ts";
import type {
  AssembleParams,
  AssembleResult,
  CommitTurnParams,
  SubagentSpawnParams,
} from "../../contract/engine-params.ts";
import type { ContextEngine, ContextEngineInfo, EngineFactoryContext } from "../../contract/engine.ts";
import { PagurusError } from "../../contract/errors.ts";
import type { CitationsMode } from "../../contract/memory.ts";
import { ENGINE_CONTRACT } from "../../contract/version.ts";
import { messagesTokens } from "../../tokens/messages.ts";
import { assembleSession, recallNote } from "./assemble.ts";
import { namesRecall } from "./head.ts";
import { compactSession, interceptSession } from "./lanes.ts";
import { LosslessSession } from "./session.ts";
import { retireSessions } from "./retention.ts";
import { losslessSettings, sessionPolicy, type LosslessSettings } from "./settings.ts";
import { engineState } from "./state.ts";
import { openLosslessStore, type LosslessStore } from "./store/store.ts";
import { workSession } from "./work.ts";

export interface LosslessOptions {
  /** Lines of the active memory for the system prompt; the host's `buildMemorySystemPromptAddition`. */
  memorySection?(params: { availableTools: Set<string>; citationsMode?: CitationsMode }): string | undefined;
  /** Told of the store as soon as it is open, for recall tools and commands. */
  onStore?(store: LosslessStore): void;
}

const INFO: ContextEngineInfo = {
  id: "lossless",
  name: "Lossless",
  version: "1.0.0",
  contract: ENGINE_CONTRACT,
  ownsCompaction: true,
  interceptsCompaction: true,
  history: "live",
  assembleScope: "call",
  turnMaintenanceMode: "background",
  transcriptSemantics: {
    currentTurnFence: "before-current-turn-entry-v1",
    turnAdvancementIdempotency: "atomic-idempotent-v1",
  },
  hostRequirements: { "agent-run": { requiredCapabilities: ["assemble-before-prompt"] } },
};
/** Sessions held at once; the one that was used longest ago is read anew at its next turn. */
const MOST_SESSIONS = 64;

class Sessions {
  readonly store: LosslessStore;
  readonly settings: LosslessSettings;
  readonly #open = new Map<string, LosslessSession>();
  /** Forks that were announced: child session to parent session. */
  readonly forks = new Map<string, string>();

  constructor(store: LosslessStore, settings: LosslessSettings) {
    this.store = store;
    this.settings = settings;
  }

  of(sessionId: string): LosslessSession {
    const known = this.#open.get(sessionId) ?? new LosslessSession(this.store, sessionId, this.settings);
    known.forkOf ??= this.forks.get(sessionId);
    this.forks.delete(sessionId);
    this.#open.delete(sessionId);
    this.#open.set(sessionId, known);
    if (this.#open.size > MOST_SESSIONS) this.#forgetOne(sessionId);
    return known;
  }

  /** The one used longest ago that nothing holds: a session under way would get a second order of work. */
  #forgetOne(except: string): void {
    for (const [id, session] of this.#open) {
      if (id === except || !session.isIdle) continue;
      this.#open.delete(id);
      return;
    }
  }

  async idle(): Promise<void> {
    await Promise.all([...this.#open.values()].map((session) => session.idle()));
  }

  policy(sessionKey: string | undefined): "kept" | "ignored" | "stateless" {
    return sessionPolicy(this.settings, sessionKey);
  }
}

/** A session that nothing is kept of: the transcript's own words, or none of earlier turns. */
async function assembleApart(
  params: AssembleParams,
  policy: "ignored" | "stateless",
): Promise<AssembleResult> {
  const { messages: given, runtimeContext: context } = params;
  const path =
    policy === "ignored" && context ? await contextFromPath(context.transcript, context.turnId) : undefined;
  const history = path?.messages.slice(0, path.liveStart) ?? [];
  const ids = new Set(history.map(({ entryId }) => entryId));
  const live = given.filter(({ entryId }) => entryId === undefined || !ids.has(entryId));
  const messages = [...history, ...live];
  return { messages, estimatedTokens: context?.tokens(messages) ?? messagesTokens(messages) };
}

function additionOf(params: AssembleParams, compacted: boolean, options: LosslessOptions): string {
  const { availableTools = new Set<string>(), citationsMode } = params;
  const memory = options.memorySection?.({
    availableTools,
    ...(citationsMode === undefined ? {} : { citationsMode }),
  });
  return [memory ?? "", compacted ? recallNote(availableTools) : ""]
    .filter((text) => text !== "")
    .join("\n\n");
}

/** Call in the session's `exclusive`. */
async function takeTurn(
  session: LosslessSession,
  turn: CommitTurnParams,
): Promise<{ status: "committed" | "duplicate" }> {
  const { advancementKey, sessionKey, runtimeContext } = turn;
  if (session.knowsTurn(advancementKey)) return { status: "duplicate" };
  if (!runtimeContext) {
    throw new PagurusError(
      "engine_failed",
      "The lossless engine takes a turn from the transcript, and the host gave none.",
    );
  }
  await session.follow(runtimeContext, { sessionKey });
  session.takeTurn(advancementKey);
  return { status: "committed" };
}

/** Throws `store_read_failed`, `store_write_failed` where the database cannot be opened. */
export function createLosslessEngine(
  context: EngineFactoryContext,
  options: LosslessOptions = {},
): ContextEngine {
  if (context.agentDir === undefined) {
    throw new PagurusError(
      "engine_failed",
      "The lossless engine needs the agent's folder for its database; give agentDir.",
    );
  }
  const store = openLosslessStore(context.agentDir);
  options.onStore?.(store);
  const sessions = new Sessions(store, losslessSettings(context.config));

  const assemble = async (params: AssembleParams): Promise<AssembleResult> => {
    const policy = sessions.policy(params.sessionKey);
    if (policy !== "kept") return assembleApart(params, policy);
    const session = sessions.of(params.sessionId);
    return session.exclusive(async () => {
      const answer = await assembleSession(session, params);
      const { epoch } = session.view;
      const addition = additionOf(params, epoch !== undefined && !namesRecall(epoch.head), options);
      return addition === "" ? answer : { ...answer, systemPromptAddition: addition };
    });
  };

  return {
    info: INFO,
    assemble,
    async bootstrap({ sessionId, sessionKey, runtimeContext }) {
      if (sessions.policy(sessionKey) !== "kept")
        return { bootstrapped: false, reason: "The session is not kept." };
      if (!runtimeContext) return { bootstrapped: false, reason: "The host gave no transcript." };
      const session = sessions.of(sessionId);
      const importedMessages = await session.exclusive(() => session.follow(runtimeContext, { sessionKey }));
      return { bootstrapped: true, importedMessages };
    },
    /** Never called by a host that knows `commitTurn`; a message without its turn has no place in the transcript. */
    ingest: async () => ({ ingested: false }),
    async commitTurn(params) {
      if (sessions.policy(params.sessionKey) !== "kept") return { status: "committed" };
      const session = sessions.of(params.sessionId);
      return session.exclusive(() => takeTurn(session, params));
    },
    async compact(params) {
      const policy = sessions.policy(params.sessionKey);
      // The transcript is all there is, so the host's own compaction is as good as any.
      if (policy === "ignored" && params.runtimeContext)
        return builtInCompaction(params, params.runtimeContext);
      if (policy !== "kept")
        return { ok: true, compacted: false, reason: "The engine keeps nothing of this session." };
      return compactSession(sessions.of(params.sessionId), params);
    },
    async interceptCompaction(request) {
      if (sessions.policy(request.sessionKey) !== "kept")
        return { handled: false, reason: "The session is not kept." };
      return interceptSession(sessions.of(request.sessionId), request);
    },
    async maintain({ sessionId, sessionKey, runtimeContext, abortSignal }) {
      const nothing = { changed: false, bytesFreed: 0, rewrittenEntries: 0 };
      if (!runtimeContext?.allowDeferredCompactionExecution || sessions.policy(sessionKey) !== "kept")
        return nothing;
      const done = await workSession(sessions.of(sessionId), runtimeContext, abortSignal);
      const retired = await retireSessions(store, sessions.settings, Date.now());
      return {
        ...nothing,
        reason: `${done.leaves} parts and ${done.summaries} summaries prepared, ${done.failed} failed, ${retired} old sessions have left the database`,
      };
    },
    async prepareSubagentSpawn({ contextMode, parentSessionId, childSessionId }: SubagentSpawnParams) {
      if (contextMode !== "fork" || parentSessionId === undefined || childSessionId === undefined)
        return undefined;
      sessions.forks.set(childSessionId, parentSessionId);
      return { rollback: async () => void sessions.forks.delete(childSessionId) };
    },
    onSubagentEnded: async () => undefined,
    status: async (params) => engineState(store, sessions.settings, params, Date.now()),
    async dispose() {
      await sessions.idle();
      await store.close();
    },
  };
}
