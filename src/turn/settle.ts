/**
 * Sixth room: the engine learns of the turn, exactly once: commitTurn, else afterTurn, else ingestBatch, else
 * ingest; then maintenance. A turn that the engine did not take is offered again before the next one.
 */
import type { CommitTurnParams, TranscriptEntryAnchor } from "../contract/engine-params.ts";
import type { RuntimeContext, RuntimeSettings, SessionTarget } from "../contract/runtime-context.ts";
import type { ContextEngine } from "../contract/engine.ts";
import type { AgentMessage } from "../contract/message.ts";
import type { SessionRecord } from "../contract/store.ts";
import type { Guard } from "./guard.ts";

export interface SettleInput {
  engine: ContextEngine;
  guard: Guard;
  record: SessionRecord;
  agentId: string;
  agentDir: string;
  sessionFile: string;
  turnId: string;
  /** Messages before the turn, as the engine's `history` mode asks for. */
  history: AgentMessage[];
  /** Messages of the turn, the input first. */
  turn: AgentMessage[];
  tokenBudget: number;
  heartbeat: boolean;
  runtimeContext: RuntimeContext;
  runtimeSettings: RuntimeSettings;
}

/** Whether the engine took the turn. A signal is for a turn that is offered again; a turn's own end has none. */
export async function settle(input: SettleInput, signal?: AbortSignal): Promise<boolean> {
  const { engine, guard } = input;
  if (input.turn.length === 0) return true;
  const turn = structuredClone(input.turn);
  const work = async (): Promise<void> => {
    if (engine.commitTurn) return checkCommit(await engine.commitTurn(commitParams({ ...input, turn })));
    if (engine.afterTurn) return engine.afterTurn(afterTurnParams({ ...input, turn }));
    const session = sessionParams(input);
    if (engine.ingestBatch) {
      await engine.ingestBatch({ ...session, messages: turn });
      return;
    }
    for (const message of turn) await engine.ingest({ ...session, message });
  };
  const outcome = await guard.call("settle", work, { signal });
  return outcome.ok;
}

function checkCommit(answer: { status: string }): void {
  if (answer?.status !== "committed" && answer?.status !== "duplicate") {
    throw new Error("commitTurn() answered neither committed nor duplicate");
  }
}

function sessionParams(input: SettleInput): {
  sessionId: string;
  sessionKey: string;
  isHeartbeat: boolean;
  runtimeContext: RuntimeContext;
  runtimeSettings: RuntimeSettings;
} {
  const { record, heartbeat, runtimeContext, runtimeSettings } = input;
  return {
    sessionId: record.sessionId,
    sessionKey: record.sessionKey,
    isHeartbeat: heartbeat,
    runtimeContext,
    runtimeSettings,
  };
}

function afterTurnParams(input: SettleInput): Parameters<NonNullable<ContextEngine["afterTurn"]>>[0] {
  const { history, turn, sessionFile, tokenBudget } = input;
  return {
    ...sessionParams(input),
    sessionFile,
    messages: [...structuredClone(history), ...turn],
    prePromptMessageCount: history.length,
    tokenBudget,
  };
}

function commitParams(input: SettleInput): CommitTurnParams {
  const { turn, history, turnId } = input;
  const target = sessionTarget(input);
  const anchor = (message: AgentMessage | undefined, position: number): TranscriptEntryAnchor => ({
    ...target,
    generation: 1,
    entryId: message?.entryId ?? turnId,
    rawSeq: position,
    effectiveParentId: (position > 0 ? [...history, ...turn][position - 1]?.entryId : undefined) ?? null,
    activeMessagePosition: position,
    idempotencyKey: turnId,
  });
  return {
    ...sessionParams(input),
    sessionTarget: target,
    advancementKey: turnId,
    admission: { ...anchor(turn[0], history.length), logicalTurnId: turnId, role: turn[0]?.role ?? "user" },
    terminal: anchor(turn.at(-1), history.length + turn.length - 1),
    messages: turn,
  };
}

function sessionTarget(input: SettleInput): SessionTarget {
  const { record, agentId, agentDir } = input;
  return { agentId, sessionId: record.sessionId, sessionKey: record.sessionKey, storePath: agentDir };
}

/** After a successful, not aborted, not yielded turn. A failure is a degradation, nothing more. */
export async function maintain(
  input: SettleInput,
  stage: "maintain" | "bootstrap-maintain",
  signal: AbortSignal,
): Promise<void> {
  const { engine, guard, record, sessionFile, runtimeContext, runtimeSettings } = input;
  if (!engine.maintain) return;
  await guard.call(
    stage,
    (abortSignal) =>
      engine.maintain?.({
        sessionId: record.sessionId,
        sessionKey: record.sessionKey,
        sessionFile,
        runtimeContext,
        runtimeSettings,
        abortSignal,
      }),
    {
      signal,
      check: (result) =>
        typeof result?.changed === "boolean"
          ? undefined
          : "maintain() does not say whether it changed anything",
    },
  );
}
