/** An engine of the durable lifecycle, written from OpenClaw's types: it commits turns and is asked about subagents. */
import type { TheirEngine, TheirFactory } from "../openclaw.ts";
import { note } from "./calls.ts";

type Commit = Parameters<NonNullable<TheirEngine["commitTurn"]>>[0];

/** Advancement keys of the turns that are committed. */
const committed = new Set<string>();
const children = new Set<string>();

function noteCommit(params: Commit): void {
  const { admission, terminal, messages, sessionId, sessionKey, sessionTarget, isHeartbeat } = params;
  const { runtimeContext, runtimeSettings } = params;
  const first = messages[0];
  note("commitTurn", {
    key: params.advancementKey !== "",
    messages: first?.role === "user" && messages.at(-1)?.role === "assistant",
    sessionId: sessionId !== "",
    target: sessionTarget?.sessionKey === sessionKey,
    isHeartbeat: isHeartbeat === false,
    context: typeof runtimeContext?.cwd === "string",
    settings: runtimeSettings?.schemaVersion === 1,
  });
  note("commitTurn.admission", {
    role: admission.role === "user",
    entryId: admission.entryId !== "" && admission.entryId !== terminal.entryId,
    generation: typeof admission.generation === "string",
    seq: admission.rawSeq < terminal.rawSeq,
    position: admission.activeMessagePosition < terminal.activeMessagePosition,
    logicalTurnId: admission.logicalTurnId !== "",
    session: admission.sessionId === sessionId && admission.sessionKey === sessionKey,
    store: admission.agentId === "main" && admission.storePath === sessionTarget?.storePath,
  });
  note("commitTurn.terminal", {
    entryId: terminal.entryId !== "",
    parent: typeof terminal.effectiveParentId === "string",
    generation: terminal.generation === admission.generation,
  });
}

export const durableFactory: TheirFactory = () => {
  const engine: TheirEngine = {
    info: {
      id: "probe-durable",
      name: "Durable probe",
      transcriptSemantics: {
        currentTurnFence: "before-current-turn-entry-v1",
        turnAdvancementIdempotency: "atomic-idempotent-v1",
      },
      hostRequirements: { "subagent-spawn": { requiredCapabilities: ["assemble-before-prompt"] } },
    },
    ingest: () => Promise.resolve({ ingested: false }),
    assemble: ({ messages }) => Promise.resolve({ messages, estimatedTokens: 10 }),
    compact: () => Promise.resolve({ ok: true, compacted: false, reason: "nothing to do" }),
    commitTurn: async (params) => {
      const { advancementKey } = params;
      if (!committed.has(advancementKey)) noteCommit(params);
      const status = committed.has(advancementKey) ? "duplicate" : "committed";
      committed.add(advancementKey);
      return { status };
    },
    prepareSubagentSpawn: async (params) => {
      const { parentSessionKey, childSessionKey, contextMode, parentSessionId, childSessionId, ttlMs } =
        params;
      note("prepareSubagentSpawn", {
        keys: parentSessionKey === "main" && childSessionKey !== parentSessionKey,
        contextMode: contextMode === "isolated",
        ids: typeof parentSessionId === "string" && typeof childSessionId === "string",
        ttlMs: Number(ttlMs) > 0,
      });
      children.add(childSessionKey);
      return { rollback: () => note("prepareSubagentSpawn.rollback", {}) };
    },
    onSubagentEnded: ({ childSessionKey, reason }) => {
      note("onSubagentEnded", { key: children.has(childSessionKey), reason: reason === "completed" });
      return Promise.resolve();
    },
  };
  return engine;
};
