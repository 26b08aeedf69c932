/**
 * A harness's compaction of its own history, offered to the engine before the harness calls its model: inside a turn, and between turns of
 * a session that follows a program of the user's own. The transcript stays whole, and what the engine stores of its answer is its own
 * concern. Source: interceptCompaction specification; the design's "The model gateway", rule 4.
 */
import { compactionSettings } from "@pagurus/core/compaction/compaction-settings";
import { toPagurusError } from "@pagurus/contract/errors";
import type { AgentMessage } from "@pagurus/contract/message";
import type {
  CompactionQuestion,
  NativeCompactionQuestion,
} from "@pagurus/contract/harness/native-compaction";
import { renderSummary } from "@pagurus/contract/engine/summary";
import { checkCompactionOwner } from "../admit/admit-turn.ts";
import { readContext } from "../context/context-slice.ts";
import { isFragment } from "../fragments/fragment-place.ts";
import { surroundings } from "../sessions/inspect-session.ts";
import { splitLive } from "../context/live-messages.ts";
import { harnessOf } from "../sessions/native-sessions.ts";
import { NATIVE_COMPACTION_ENTRY } from "../record/native-compactions.ts";
import type { Assembler } from "../context/assemble-context.ts";
import type { AgentHost } from "../sessions/turn-scope.ts";
import type { TurnState } from "../state/turn-state.ts";
import { Announcement } from "./announce.ts";
import { noteDegradations, openLane } from "./between-turns.ts";
import { intercept } from "./interception.ts";
import { compactQueued } from "./queued.ts";
import { compactionDeadline, contextTokens, type LaneFacts, type LaneScope } from "./lane-scope.ts";
import { sessionKeyOf } from "../agent/session-key.ts";

/** A summary up to this size, tokens, is accepted even when the conversation is shorter: a harness counts more than the conversation. */
const NO_BURDEN = 2_000;

export interface OuterAnswer {
  summary: string;
}

/** State of the context when a harness is about to compact it. */
interface OuterCut {
  messages: readonly AgentMessage[];
  /** Index of the first message that is assumed to stay. */
  keptFrom: number;
  firstKeptEntryId: string;
}

type Note = (customType: string, data: Record<string, unknown>) => void;

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
    const answer = await ask(laneOf(turn, signal), question, cut, note);
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

/**
 * The same when no turn runs. For a user's request an engine that owns compaction compacts first, as `/compact` does; its
 * `interceptCompaction()` is called only when that leaves no text, since each call may compact once more. Throws `runtime_unknown`,
 * `model_unknown`, `session_locked`, `host_requirement`.
 */
export async function answerBetweenTurns(
  host: AgentHost,
  request: NativeCompactionQuestion & { signal: AbortSignal },
): Promise<OuterAnswer | undefined> {
  const { cwd, model, signal, trigger } = request;
  const sessionKey = sessionKeyOf(host, request);
  const harness = harnessOf(host, request.runtime);
  if (!host.store.find(sessionKey)) return undefined;
  const around = await surroundings(host, { cwd, sessionKey, turnId: "manual", model, harness });
  const { info } = around.engine;
  checkCompactionOwner(host, around.engine);
  const isOwned = trigger === "manual" && info.ownsCompaction === true;
  if (!isOwned && info.interceptsCompaction !== true) return undefined;
  const scope = openLane(host, around, { sessionKey, signal, emit: () => undefined });
  try {
    const made = isOwned ? await compactFirst(scope, request) : undefined;
    const answer = made ?? (await askBetween(scope, request));
    noteDegradations(scope);
    return answer;
  } finally {
    scope.session.close();
  }
}

async function compactFirst(
  scope: LaneScope,
  { customInstructions: focus }: CompactionQuestion,
): Promise<OuterAnswer | undefined> {
  const { messages } = readContext(scope.session.writer, scope.model.contextWindow);
  const currentTokens = contextTokens(scope, messages);
  const { compacted, summary } = await compactQueued(scope, { trigger: "manual", currentTokens, focus });
  return compacted && summary !== undefined ? { summary } : undefined;
}

async function askBetween(scope: LaneScope, question: CompactionQuestion): Promise<OuterAnswer | undefined> {
  const { engine, session, model, signal } = scope;
  if (engine.info.interceptsCompaction !== true || signal.aborted) return undefined;
  const { messages } = readContext(session.writer, model.contextWindow);
  // The whole conversation is dropped; the newest entry is the closest value.
  const firstKeptEntryId = messages.at(-1)?.entryId;
  if (firstKeptEntryId === undefined) return undefined;
  const cut = { messages, keptFrom: messages.length, firstKeptEntryId };
  return ask(scope, question, cut, (customType, data) =>
    session.writer.append({ type: "custom", customType, data }),
  );
}

async function ask(
  scope: LaneScope,
  question: CompactionQuestion,
  cut: OuterCut,
  note: Note,
): Promise<OuterAnswer | undefined> {
  const { engine, guard, host, harness } = scope;
  const { trigger } = question;
  const { messages, keptFrom, firstKeptEntryId } = cut;
  const dropped = messages.slice(0, keptFrom).filter((message) => !isFragment(message));
  if (dropped.length === 0) return undefined;
  const total = contextTokens(scope, messages);
  const tokensBefore = question.tokensBefore ?? total;
  const facts: LaneFacts = { lane: "harness", trigger, backend: harness.id };
  const answer = await intercept(scope, {
    facts,
    firstKeptEntryId,
    tokensBefore,
    messages: dropped,
    customInstructions: question.customInstructions ?? compactionSettings(host.config).customInstructions,
    deadlineMs: compactionDeadline(scope),
  });
  if (!answer || scope.signal.aborted) return undefined;
  const { summary } = answer;
  const head: AgentMessage = { role: "user", content: renderSummary(summary) };
  if (contextTokens(scope, [head]) >= Math.max(total, NO_BURDEN)) {
    guard.degrade("intercept", `the summary of ${engine.info.id} was not taken: it makes nothing smaller`);
    return undefined;
  }
  // An engine may keep more or less than the request proposed.
  const named = messages.findIndex(({ entryId }) => entryId === answer.firstKeptEntryId);
  const kept = messages.slice(named < 0 ? keptFrom : named);
  const tokensAfter = contextTokens(scope, [head, ...kept]);
  const handledBy = engine.info.id;
  note(NATIVE_COMPACTION_ENTRY, { trigger, handledBy, tokensBefore, tokensAfter });
  const announcement = await Announcement.begin(scope, facts, tokensBefore);
  await announcement.completed({ tokensBefore, tokensAfter, handledBy });
  return { summary };
}
