/** Facts that are planted in a conversation, each once, and the searches for them. */
import { filler } from "../../../../packages/testkit/src/engine/scripted-conversation.ts";
import type { ReplyToolCall } from "../../../servers/script.ts";
import { rareWord } from "../../../turn/long/words.ts";
import { berthCall, type Plan } from "./harbour.ts";

/** Place of a fact: in the user's message, in the agent's answer, in a tool's call and result. */
const PLACES = ["user", "answer", "call"] as const;

export interface Fact {
  index: number;
  place: (typeof PLACES)[number];
  sentence: string;
  /** The exact string that is only in this fact. */
  code: string;
  query: string;
}

export function plantedFacts(count: number): Fact[] {
  return Array.from({ length: count }, (_, index) => {
    const berth = rareWord(index + 1);
    const code = `QX-${4_000 + index * 37}-${String.fromCodePoint(65 + (index % 26))}`;
    const sentence = `The gate code of berth ${berth} is ${code}.`;
    const place = PLACES[index % PLACES.length] ?? "user";
    return { index, place, sentence, code, query: `gate code of berth ${berth}` };
  });
}

/** Messages of the turn with a fact. */
export function turnOf({ index, place, sentence }: Fact): { input: string; plan: Plan } {
  const say = (who: Fact["place"]): string => (place === who ? ` ${sentence}` : "");
  return {
    input: `Turn ${index}: look after the harbour.${say("user")} ${filler(80)}`,
    plan: {
      rounds: [[berthCall(place === "call" ? `${index}: ${sentence}` : `${index}`)]],
      answer: `Turn ${index} is done.${say("answer")} ${filler(80)}`,
    },
  };
}

/** Calls per round: their results have to fit a small window together. */
const A_ROUND = 3;

/** A search for each fact, ten at once. */
export function searches(facts: readonly Fact[]): ReplyToolCall[][] {
  const calls = facts.map(({ index, query }) => ({
    id: `search_${index}`,
    name: "context_search",
    arguments: { query },
  }));
  return Array.from({ length: Math.ceil(calls.length / A_ROUND) }, (_, round) =>
    calls.slice(round * A_ROUND, (round + 1) * A_ROUND),
  );
}
