/** Facts that are planted in a conversation, each said once, and how they are asked for. */
import { filler } from "../../../../src/testkit/engine/conversation.ts";
import type { ReplyToolCall } from "../../../servers/script.ts";
import { rareWord } from "../../../turn/long/words.ts";
import { berthCall, type Plan } from "./harbour.ts";

/** Where a fact is said: by the user, by the agent, in a tool's call and result. */
const PLACES = ["user", "answer", "call"] as const;

export interface Fact {
  index: number;
  place: (typeof PLACES)[number];
  sentence: string;
  /** The exact string that only this fact holds. */
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

/** What is said in the turn of a fact. */
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

/** Calls of one round: their results have to fit a small window together. */
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
