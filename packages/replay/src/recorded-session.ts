/** A recorded session as a sequence of model calls. */
import type { AgentMessage, AssistantMessage } from "@pagurus/contract/message";
import type { TurnOutcome } from "@pagurus/contract/session/transcript";
import { messageTokens } from "@pagurus/core/tokens/message-tokens";

export interface ModelCall {
  /** 0-based position among the calls of the session. */
  index: number;
  turnId: string;
  /** `messages[0, end)` is the history before the call; `messages[end]` is the call's output. */
  end: number;
  /** Index of the live turn's input. */
  liveStart: number;
  /** Milliseconds since the epoch at which the call's output began. */
  at: number;
  /** Input tokens as the provider reported them: uncached, read and written. */
  reportedInput?: number;
}

export interface RecordedSession {
  name: string;
  /** Every message in order, with entry ids that sort in the order of writing. Every call is followed by its results. */
  messages: readonly AgentMessage[];
  calls: readonly ModelCall[];
  /** Provider tokens for each estimated one. */
  factor: number;
  /** How turns ended that did not complete, by their ids. */
  outcomes?: ReadonlyMap<string, TurnOutcome>;
}

/** Calibrated tokens of a message. */
export function tokensOf(session: Pick<RecordedSession, "factor">, message: AgentMessage): number {
  return Math.round(messageTokens(message) * session.factor);
}

/** The output of a call. */
export function outputOf(session: RecordedSession, call: ModelCall): AssistantMessage {
  const output = session.messages[call.end];
  if (output?.role !== "assistant")
    throw new Error(`Call ${call.index} of ${session.name} has no output; the session was read wrongly.`);
  return output;
}

export function entryId(position: number): string {
  return `e${String(position).padStart(7, "0")}`;
}

/** Recorded contexts that shrink were compacted in between, and are no measure of the messages. */
interface Growth {
  reported: number;
  estimated: number;
}

/** Growth of contexts from call to call, as reported and as estimated. Tokens. */
export function growthOf({ messages, calls }: Pick<RecordedSession, "messages" | "calls">): Growth {
  const total: Growth = { reported: 0, estimated: 0 };
  let before: ModelCall | undefined;
  for (const call of calls) {
    const reported = (call.reportedInput ?? 0) - (before?.reportedInput ?? 0);
    if (before?.reportedInput !== undefined && call.reportedInput !== undefined && reported > 0) {
      total.reported += reported;
      for (const message of messages.slice(before.end, call.end)) total.estimated += messageTokens(message);
    }
    before = call;
  }
  return total;
}

/**
 * Several sessions as one agent that continues working: one history, one sequence of calls, new entry ids and turn ids. The
 * factor is that of all together.
 */
export function asOneAgent(name: string, sessions: readonly RecordedSession[]): RecordedSession {
  const messages: AgentMessage[] = [];
  const calls: ModelCall[] = [];
  const total: Growth = { reported: 0, estimated: 0 };
  for (const [number, session] of sessions.entries()) {
    const offset = messages.length;
    for (const message of session.messages) messages.push({ ...message, entryId: entryId(messages.length) });
    for (const call of session.calls) {
      calls.push({
        ...call,
        index: calls.length,
        turnId: `s${number}-${call.turnId}`,
        end: call.end + offset,
        liveStart: call.liveStart + offset,
      });
    }
    const growth = growthOf(session);
    total.reported += growth.reported;
    total.estimated += growth.estimated;
  }
  return { name, messages, calls, factor: total.estimated === 0 ? 1 : total.reported / total.estimated };
}
