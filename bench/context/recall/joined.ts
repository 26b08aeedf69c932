/** Joins conversations into one long history, as of a person who talks with several others in the same weeks. */
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import type { RecallCase } from "./measure.ts";
import { PAUSE_MS } from "./talk-baselines.ts";

/** Messages without a long pause between them, and the time of the first one. */
interface Sitting {
  start: number;
  messages: AgentMessage[];
}

function sittingsOf({ messages }: RecallCase, number: number): Sitting[] {
  const sittings: Sitting[] = [];
  let last = 0;
  for (const message of messages) {
    const { entryId = "", timestamp: time = 0 } = message;
    // Ids of two conversations are often the same.
    const own = { ...message, entryId: `${number}-${entryId}` };
    const sitting = sittings.at(-1);
    if (!sitting || time - last > PAUSE_MS) sittings.push({ start: time, messages: [own] });
    else sitting.messages.push(own);
    last = time;
  }
  return sittings;
}

/**
 * One case with the messages and questions of all. Sittings are in the order of their first messages; where those are of
 * the same time, in the order of the cases. A sitting stays whole, so where two overlap, the times of messages go back.
 */
export function joinCases(cases: readonly RecallCase[]): RecallCase {
  const sittings = cases.flatMap((each, index) => sittingsOf(each, index + 1));
  return {
    name: `${cases.length} conversations, joined`,
    factor: 1,
    messages: sittings.toSorted((one, other) => one.start - other.start).flatMap(({ messages }) => messages),
    questions: cases.flatMap(({ questions }) => questions),
  };
}
