/**
 * Settle stage: passes the turn to the engine, exactly once: commitTurn, else afterTurn, else ingestBatch, else ingest; then maintenance. A
 * turn that the engine did not take is offered again before the next one.
 */
import type { CommitTurnParams, TranscriptEntryAnchor } from "@pagurus/contract/engine/engine-params";
import type { ContextEngine } from "@pagurus/contract/engine/engine";
import { PagurusError } from "@pagurus/contract/errors";
import { generatorProblem } from "../guard/plugin-failure.ts";
import type { AgentMessage } from "@pagurus/contract/message";
import type { SessionWriter } from "@pagurus/contract/session/writer";
import type { EngineCallBase, EngineContext } from "./engine-context.ts";
import type { Guard } from "../guard/guard.ts";
import { defined } from "@pagurus/core/data/defined";

export interface SettleInput {
  engine: ContextEngine;
  guard: Guard;
  context: EngineContext;
  writer: SessionWriter;
  turnId: string;
  /** Messages before the turn, as far as they were read. */
  history: AgentMessage[];
  /** Messages of the turn, the input first. */
  turn: AgentMessage[];
  heartbeat: boolean;
  /** Summary of a compaction that the run made inside the turn. */
  autoCompactionSummary?: string | undefined;
}

/** Returns whether the engine took the turn. A signal is for a turn that is offered again; a turn's own end has none. */
export async function settle(input: SettleInput, signal?: AbortSignal): Promise<boolean> {
  const { engine, guard, context } = input;
  if (input.turn.length === 0) return true;
  const work = async (): Promise<void> => {
    // A copy: changes that the engine makes must not reach the transcript's own messages.
    const turn = context.scope.host.slot.bundled ? [...input.turn] : structuredClone(input.turn);
    if (engine.commitTurn) return checkCommit(await engine.commitTurn(commitParams({ ...input, turn })));
    if (engine.afterTurn) return engine.afterTurn(afterTurnParams({ ...input, turn }));
    const taken = await ingest(engine, sessionParams(input), turn);
    const { logger } = context.scope.host;
    logger.debug("turn ingested", {
      engineId: engine.info.id,
      turnId: input.turnId,
      offered: turn.length,
      taken,
    });
  };
  const outcome = await guard.call("settle", work, { signal });
  return outcome.ok;
}

/** Ingests one by one; returns how many messages the engine took. One that it already has is not counted. */
async function ingest(
  engine: ContextEngine,
  session: ReturnType<typeof sessionParams>,
  messages: AgentMessage[],
): Promise<number> {
  if (engine.ingestBatch) {
    const answer = await engine.ingestBatch({ ...session, messages });
    checkRan("ingestBatch", answer);
    return answer?.ingestedCount ?? 0;
  }
  let taken = 0;
  for (const message of messages) {
    const answer = await engine.ingest({ ...session, message });
    checkRan("ingest", answer);
    if (answer?.ingested) taken += 1;
  }
  return taken;
}

function checkRan(member: string, answer: unknown): void {
  const wrong = generatorProblem(answer);
  if (wrong !== undefined)
    throw new PagurusError("engine_contract", `the answer of ${member}() cannot be used: ${wrong}`);
}

function checkCommit(answer: { status: string }): void {
  if (answer?.status !== "committed" && answer?.status !== "duplicate") {
    throw new PagurusError("engine_contract", "commitTurn() answered neither committed nor duplicate");
  }
}

function sessionParams({ context, heartbeat }: SettleInput): EngineCallBase & { isHeartbeat: boolean } {
  return { ...context.base(), isHeartbeat: heartbeat };
}

function afterTurnParams(input: SettleInput): Parameters<NonNullable<ContextEngine["afterTurn"]>>[0] {
  const { turn, context, autoCompactionSummary } = input;
  // An engine that keeps the history itself receives the turn alone.
  const history = input.engine.info.history === "live" ? [] : input.history;
  return {
    ...context.fileBase(),
    isHeartbeat: input.heartbeat,
    messages: [...structuredClone(history), ...turn],
    prePromptMessageCount: history.length,
    tokenBudget: context.scope.tokenBudget,
    ...defined({ autoCompactionSummary }),
  };
}

function commitParams(input: SettleInput): CommitTurnParams {
  const { turn, history, turnId, context, writer } = input;
  const target = context.target();
  const { generation } = writer.record;
  const anchor = (message: AgentMessage | undefined, position: number): TranscriptEntryAnchor => {
    const place = message?.entryId === undefined ? undefined : writer.place(message.entryId);
    const before = (position > 0 ? turn[position - 1] : history.at(-1))?.entryId;
    return {
      ...target,
      generation: String(generation),
      entryId: message?.entryId ?? turnId,
      rawSeq: place?.rawSeq ?? 0,
      effectiveParentId: before ?? null,
      activeMessagePosition: place?.messagePosition ?? history.length + position,
      idempotencyKey: turnId,
    };
  };
  return {
    ...sessionParams(input),
    sessionTarget: target,
    advancementKey: turnId,
    admission: { ...anchor(turn[0], 0), logicalTurnId: turnId, role: "user" },
    terminal: anchor(turn.at(-1), turn.length - 1),
    messages: turn,
  };
}
