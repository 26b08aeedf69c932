/**
 * The engine `lossless`: keeps the full text of a session in its own store, shows the model a stable context within its
 * budget, and writes summaries in the background. See docs/architecture for the design.
 */
import { builtInCompaction } from "@pagurus/core/compaction/built-in";
import { contextFromPath } from "@pagurus/core/compaction/compaction-context";
import type {
  AssembleParams,
  AssembleResult,
  CommitTurnParams,
  MaintainParams,
  SubagentSpawnParams,
} from "@pagurus/contract/engine/engine-params";
import type { ContextEngine, ContextEngineInfo, EngineFactoryContext } from "@pagurus/contract/engine/engine";
import { PagurusError } from "@pagurus/contract/errors";
import type { RuntimeContext, TranscriptRewriteResult } from "@pagurus/contract/engine/runtime-context";
import type { CitationsMode } from "@pagurus/contract/engine/memory";
import { ENGINE_CONTRACT } from "@pagurus/contract/version";
import { messagesTokens } from "@pagurus/core/tokens/message-tokens";
import { assembleSession, recallNote } from "./assemble-view.ts";
import type { SentenceEncoder } from "./encoder/encoder-thread.ts";
import { StoreHolder } from "./holder.ts";
import type { LosslessSession } from "./lossless-session.ts";
import { retireSessions } from "./retention.ts";
import { losslessSettings, sessionPolicy, type LosslessSettings } from "./lossless-settings.ts";
import { engineState } from "./engine-state.ts";
import type { LosslessStore } from "./store/lossless-store.ts";
import type { Work } from "./background-work.ts";
import { isWorkDue } from "./work-due.ts";
import { defined } from "@pagurus/core/data/defined";

export interface LosslessOptions {
  /** Lines of the active memory for the system prompt; the host's `buildMemorySystemPromptAddition`. */
  memorySection?(params: { availableTools: Set<string>; citationsMode?: CitationsMode }): string | undefined;
  /** Orders passages by what they mean; closed by the caller. */
  encoder?: SentenceEncoder | undefined;
  /** Called with each store as soon as it is open, for recall tools and commands: a damaged one is replaced. */
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

/** Assembles a session that is not stored: from the transcript (`ignored`), or without earlier turns (`stateless`). */
async function assembleApart(
  params: AssembleParams,
  policy: "ignored" | "stateless",
): Promise<AssembleResult> {
  const { messages: input, runtimeContext: context } = params;
  const path =
    policy === "ignored" && context ? await contextFromPath(context.transcript, context.turnId) : undefined;
  const history = path?.messages.slice(0, path.liveStart) ?? [];
  const ids = new Set(history.map(({ entryId }) => entryId));
  const live = input.filter(({ entryId }) => entryId === undefined || !ids.has(entryId));
  const messages = [...history, ...live];
  return { messages, estimatedTokens: context?.tokens(messages) ?? messagesTokens(messages) };
}

/** `head`: of the epoch, where there is one; it may name the recall tools itself. */
async function additionOf(
  params: AssembleParams,
  head: string | undefined,
  options: LosslessOptions,
): Promise<string> {
  const { availableTools = new Set<string>(), citationsMode } = params;
  const memory = options.memorySection?.({ availableTools, ...defined({ citationsMode }) });
  const isUnnamed = head !== undefined && !(await import("./head/head.ts")).namesRecall(head);
  return [memory ?? "", isUnnamed ? recallNote(availableTools) : ""]
    .filter((text) => text !== "")
    .join("\n\n");
}

/** Stores a finished turn. Call in the session's `exclusive`. */
async function takeTurn(
  session: LosslessSession,
  turn: CommitTurnParams,
): Promise<{ status: "committed" | "duplicate" }> {
  const { advancementKey, sessionKey, runtimeContext } = turn;
  if (session.knowsTurn(advancementKey)) return { status: "duplicate" };
  if (!runtimeContext) {
    throw new PagurusError(
      "engine_failed",
      "The lossless engine reads turns from the transcript, and the host passed none.",
    );
  }
  await session.follow(runtimeContext, { sessionKey });
  session.takeTurn(advancementKey);
  await session.writeLog(runtimeContext);
  return { status: "committed" };
}

/** Runs the due work; its code is loaded for a session that has some. */
async function workOf(
  session: LosslessSession,
  context: RuntimeContext,
  signal: AbortSignal | undefined,
): Promise<Work> {
  if (!isWorkDue(session, context)) return { leaves: 0, summaries: 0, failed: 0 };
  const { workSession } = await import("./background-work.ts");
  return workSession(session, context, signal);
}

/** Background work: prepares summaries, and retires sessions that are older than the retention time. */
async function maintainSession(
  holder: StoreHolder,
  settings: LosslessSettings,
  { sessionId, sessionKey, runtimeContext, abortSignal }: MaintainParams,
): Promise<TranscriptRewriteResult> {
  const nothing = { changed: false, bytesFreed: 0, rewrittenEntries: 0 };
  const isKept = sessionPolicy(settings, sessionKey) === "kept";
  if (!runtimeContext?.allowDeferredCompactionExecution || !isKept) return nothing;
  const { done, retired } = await holder.run(runtimeContext, async (sessions) => {
    const session = sessions.of(sessionId);
    try {
      if (session.isEarly) await session.catchUp(runtimeContext, abortSignal);
      const done = await workOf(session, runtimeContext, abortSignal);
      return { done, retired: await retireSessions(sessions.store, settings, Date.now()) };
    } finally {
      await session.writeLog(runtimeContext);
    }
  });
  return {
    ...nothing,
    reason: `${done.leaves} parts and ${done.summaries} summaries prepared, ${done.failed} failed, ${retired} old sessions have left the database`,
  };
}

/** Creates the engine. Throws `store_read_failed`, `store_write_failed` when the database cannot be opened. */
export function createLosslessEngine(
  context: EngineFactoryContext,
  options: LosslessOptions = {},
): ContextEngine {
  if (context.agentDir === undefined) {
    throw new PagurusError(
      "engine_failed",
      "The lossless engine needs the agent's folder for its database; pass agentDir.",
    );
  }
  const settings = losslessSettings(context.config);
  const holder = new StoreHolder({ agentDir: context.agentDir, settings, ...options });

  const assemble = async (params: AssembleParams): Promise<AssembleResult> => {
    const policy = sessionPolicy(settings, params.sessionKey);
    if (policy !== "kept") return assembleApart(params, policy);
    return holder.run(params.runtimeContext, (sessions) => {
      const session = sessions.of(params.sessionId);
      return session.exclusive(async () => {
        const { runtimeContext } = params;
        const { live, liveAnchor, syncedTurn, context } = session;
        const answer = await assembleSession(session, params);
        if (runtimeContext?.turnId !== undefined) await session.writeLog(runtimeContext);
        // A preview beside a running turn leaves it as it is.
        else if (runtimeContext) Object.assign(session, { live, liveAnchor, syncedTurn, context });
        const addition = await additionOf(params, session.view.epoch?.head, options);
        return addition === "" ? answer : { ...answer, systemPromptAddition: addition };
      });
    });
  };

  return {
    info: INFO,
    assemble,
    async bootstrap({ sessionId, sessionKey, runtimeContext }) {
      if (sessionPolicy(settings, sessionKey) !== "kept")
        return { bootstrapped: false, reason: "The session is not kept." };
      if (!runtimeContext) return { bootstrapped: false, reason: "The host passed no transcript." };
      const importedMessages = await holder.run(runtimeContext, (sessions) => {
        const session = sessions.of(sessionId);
        return session.exclusive(() => session.follow(runtimeContext, { sessionKey }));
      });
      return { bootstrapped: true, importedMessages };
    },
    /** No-op: hosts with `commitTurn` never call it, and a message without its turn has no place in the transcript. */
    ingest: async () => ({ ingested: false }),
    async commitTurn(params) {
      if (sessionPolicy(settings, params.sessionKey) !== "kept") return { status: "committed" };
      return holder.run(params.runtimeContext, (sessions) => {
        const session = sessions.of(params.sessionId);
        return session.exclusive(() => takeTurn(session, params));
      });
    },
    async compact(params) {
      const policy = sessionPolicy(settings, params.sessionKey);
      // Only the transcript exists, so the host's own compaction is as good as any.
      if (policy === "ignored" && params.runtimeContext)
        return builtInCompaction(params, params.runtimeContext);
      if (policy !== "kept")
        return { ok: true, compacted: false, reason: "The engine keeps nothing of this session." };
      const { compactSession } = await import("./lanes.ts");
      return holder.run(params.runtimeContext, (sessions) =>
        compactSession(sessions.of(params.sessionId), params),
      );
    },
    async interceptCompaction(request) {
      if (sessionPolicy(settings, request.sessionKey) !== "kept")
        return { handled: false, reason: "The session is not kept." };
      const { interceptSession } = await import("./lanes.ts");
      const { context } = holder.sessions.of(request.sessionId);
      return holder.run(context, (sessions) => interceptSession(sessions.of(request.sessionId), request));
    },
    maintain: (params) => maintainSession(holder, settings, params),
    async prepareSubagentSpawn({ contextMode, parentSessionId, childSessionId }: SubagentSpawnParams) {
      if (contextMode !== "fork" || parentSessionId === undefined || childSessionId === undefined)
        return undefined;
      holder.sessions.forks.set(childSessionId, parentSessionId);
      return { rollback: async () => void holder.sessions.forks.delete(childSessionId) };
    },
    onSubagentEnded: async () => undefined,
    status: (params) =>
      holder.run(undefined, ({ store }) => engineState(store, settings, params, Date.now())),
    dispose: () => holder.close(),
  };
}
