/** A harness's compaction inside a turn: the messages that it drops, offered to the engine. */
import { toPagurusError } from "@pagurus/contract/errors";
import type { CompactionQuestion } from "@pagurus/contract/harness/native-compaction";
import type { AgentMessage } from "@pagurus/contract/message";
import type { LaneScope } from "../compaction/lane-scope.ts";
import { askEngine, type Note, type OuterAnswer, type OuterCut } from "../compaction/outer-compaction.ts";
import type { Assembler } from "../context/assemble-context.ts";
import { splitLive } from "../context/live-messages.ts";
import type { TurnState } from "../state/turn-state.ts";

/**
 * `HarnessTurn.answerCompaction`: the summary, or undefined: the harness compacts in its own way. The engine's answer changes what it
 * assembles. Never throws.
 */
export async function answerInTurn(
  turn: TurnState,
  assembler: Pick<Assembler, "compactedOutside">,
  question: CompactionQuestion,
): Promise<OuterAnswer | undefined> {
  const { engine, guard, recorder } = turn;
  if (recorder.failure || engine.info.interceptsCompaction !== true) return undefined;
  const signal = AbortSignal.any([turn.signal, ...(question.signal ? [question.signal] : [])]);
  try {
    const cut = cutInTurn(turn.slice().messages, turn.inputEntryId);
    if (!cut) return undefined;
    const note: Note = (customType, data) => recorder.note(customType, data);
    const answer = await askEngine(laneOf(turn, signal), question, cut, note);
    if (!answer) return undefined;
    assembler.compactedOutside();
    turn.noteCompaction();
    return answer;
  } catch (error) {
    if (!signal.aborted) guard.degrade("intercept", toPagurusError(error).message);
    return undefined;
  }
}

function laneOf(turn: TurnState, signal: AbortSignal): LaneScope {
  const { host, engine, harness, model, guard, session, context, tokenBudget, turnId, emit } = turn;
  return { host, engine, harness, model, guard, session, context, tokenBudget, turnId, emit, signal };
}

/**
 * A harness keeps calls without results; the rest of the turn is dropped like the history before it. Undefined when the input is not
 * recorded.
 */
function cutInTurn(
  messages: readonly AgentMessage[],
  inputEntryId: string | undefined,
): OuterCut | undefined {
  const { history, live } = splitLive(messages, inputEntryId);
  if (live.length === 0) return undefined;
  const keptFrom =
    history.length + (openAnswer(live) ?? live.findLastIndex(({ role }) => role !== "user") + 1);
  // When all is dropped, the newest entry is the closest value.
  const firstKeptEntryId = (messages[keptFrom] ?? messages.at(-1))?.entryId;
  return firstKeptEntryId === undefined ? undefined : { messages, keptFrom, firstKeptEntryId };
}

/** Index of the newest assistant message with results still pending: a harness needs it. */
function openAnswer(live: readonly AgentMessage[]): number | undefined {
  const at = live.findLastIndex(({ role }) => role === "assistant");
  const answer = live[at];
  if (answer?.role !== "assistant") return undefined;
  const done = new Set(
    live.slice(at).flatMap((message) => (message.role === "toolResult" ? [message.toolCallId] : [])),
  );
  const isOpen = answer.content.some((part) => part.type === "toolCall" && !done.has(part.id));
  return isOpen ? at : undefined;
}
