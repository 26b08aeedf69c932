/**
 * A compaction that a harness makes of its own history, offered to the engine before the harness's model is asked: inside a
 * turn, and between turns of a session that follows a program of the user's own. The transcript's words stay whole, and
 * what the engine keeps of its answer is its own affair. Source: interceptCompaction specification; the design's "The model
 * gateway", rule 4.
 */
import { compactionSettings } from "../../compaction/settings.ts";
import { toPagurusError } from "../../contract/errors.ts";
import type { AgentMessage } from "../../contract/message.ts";
import type { CompactionQuestion, NativeCompactionQuestion } from "../../contract/native-compaction.ts";
import { renderSummary } from "../../contract/summary.ts";
import { checkCompactionOwner } from "../admit.ts";
import { readContext } from "../context-slice.ts";
import { isFragment } from "../fragments/place.ts";
import { surroundings } from "../inspect.ts";
import { splitLive } from "../live.ts";
import { harnessOf } from "../native.ts";
import { NATIVE_COMPACTION_ENTRY } from "../native-compactions.ts";
import type { AgentHost } from "../scope.ts";
import { Announcement } from "./announce.ts";
import { noteDegradations, openLane } from "./between-turns.ts";
import { intercept } from "./interception.ts";
import { compactQueued } from "./queued.ts";
import { compactionDeadline, contextTokens, type LaneFacts, type LaneScope } from "./scope.ts";

/** A summary up to this is taken also where what was said is shorter: a harness counts more than the conversation. Tokens. */
const NO_BURDEN = 2_000;

export interface OuterAnswer {
  summary: string;
}

/** What is known of the context when a harness is about to compact it. */
interface OuterCut {
  messages: readonly AgentMessage[];
  /** Index of the first message that is taken to stay. */
  keptFrom: number;
  firstKeptEntryId: string;
}

type Note = (customType: string, data: Record<string, unknown>) => void;

/** The summary, or undefined: the harness is to compact in its own way. Never throws. */
export async function answerInTurn(
  lane: LaneScope,
  question: CompactionQuestion,
  port: { messages(): readonly AgentMessage[]; note: Note },
): Promise<OuterAnswer | undefined> {
  if (lane.engine.info.interceptsCompaction !== true) return undefined;
  const scope = question.signal ? { ...lane, signal: AbortSignal.any([lane.signal, question.signal]) } : lane;
  try {
    const cut = cutInTurn(port.messages(), scope.turn?.inputEntryId());
    if (!cut) return undefined;
    return await ask(scope, question, cut, port.note);
  } catch (error) {
    if (!scope.signal.aborted) scope.guard.degrade("intercept", toPagurusError(error).message);
    return undefined;
  }
}

/**
 * A harness keeps what it has not answered yet, and drops what it has done in the turn as it drops what was before it.
 * Undefined where the input is not recorded.
 */
function cutInTurn(
  messages: readonly AgentMessage[],
  inputEntryId: string | undefined,
): OuterCut | undefined {
  const { history, live } = splitLive(messages, inputEntryId);
  if (live.length === 0) return undefined;
  const keptFrom =
    history.length + (openAnswer(live) ?? live.findLastIndex(({ role }) => role !== "user") + 1);
  // Where all is dropped, the newest entry is the nearest thing to what stays.
  const firstKeptEntryId = (messages[keptFrom] ?? messages.at(-1))?.entryId;
  return firstKeptEntryId === undefined ? undefined : { messages, keptFrom, firstKeptEntryId };
}

/** Index of the newest answer where results of its calls are still to come: a harness cannot do without it. */
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
 * The same where no turn runs. What a user asks for is made first by an engine that owns compaction, as `/compact` does;
 * only where that leaves no words is the engine asked for them, since each asking may compact once more. Throws
 * `runtime_unknown`, `model_unknown`, `session_locked`, `host_requirement`.
 */
export async function answerBetweenTurns(
  host: AgentHost,
  request: NativeCompactionQuestion & { signal: AbortSignal },
): Promise<OuterAnswer | undefined> {
  const { sessionKey = "main", cwd, model, signal, trigger } = request;
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
  // All that was said is dropped; the newest entry is the nearest thing to what stays.
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
  const facts: LaneFacts = { lane: "native", trigger, backend: harness.id };
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
  // An engine may keep more or less than it was told of.
  const named = messages.findIndex(({ entryId }) => entryId === answer.firstKeptEntryId);
  const kept = messages.slice(named < 0 ? keptFrom : named);
  const tokensAfter = contextTokens(scope, [head, ...kept]);
  const handledBy = engine.info.id;
  note(NATIVE_COMPACTION_ENTRY, { trigger, handledBy, tokensBefore, tokensAfter });
  const announcement = await Announcement.begin(scope, facts, tokensBefore);
  await announcement.completed({ tokensBefore, tokensAfter, handledBy });
  return { summary };
}
