/** Conversation of a long run: the same text for the same turn in the host's process and at the endpoint. */
import { mulberry32 } from "../../../../bench/generate.ts";
import type { ReplyToolCall } from "../../../servers/script.ts";
import { rareWord } from "../../../turn/long/words.ts";

const WORDS = (
  "the tide gauge reads higher than the table says because wind from the north holds water in the basin and a boat " +
  "that draws more than two metres goes in at slack water and then turns while the harbour crew checks lights ropes " +
  "fenders and the crane on the eastern quay where new planks were laid last spring so trucks can turn around there"
).split(" ");

/** Code of the order in the first turn, which is permanent: every later context has to contain it. */
export const ORDER_CODE = "SO-1147-HARBOUR";
export const TOOL = "gauge_log";
export const READ_TOOL = "read_file";
/** Interval of turns in which a file is read again, so that the previous result is obsolete. */
const READ_EVERY = 5;
const FILES = 3;

/** Size of a turn, in words, not tokens. */
export interface TurnPlan {
  rounds: number;
  callsARound: number;
  inputWords: number;
  resultWords: number;
  answerWords: number;
}

/**
 * `turns`: some stretches of turns with long inputs and answers, others with many rounds. `small`: turns of a call and
 * a sentence each. `one-turn`: the turn of this number has this many rounds, the others are small.
 */
export type Shape =
  | { kind: "turns" }
  | { kind: "small" }
  | { kind: "one-turn"; turn: number; rounds: number };

function seedOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < key.length; at += 1) hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}

function prose(key: string, words: number): string {
  const random = mulberry32(seedOf(key));
  return Array.from({ length: words }, () => WORDS[Math.floor(random() * WORDS.length)] ?? "tide").join(" ");
}

export function planOf(shape: Shape, turn: number): TurnPlan {
  const small: TurnPlan = { rounds: 1, callsARound: 1, inputWords: 20, resultWords: 40, answerWords: 20 };
  if (shape.kind === "small") return small;
  if (shape.kind === "one-turn")
    return turn === shape.turn ? { ...small, rounds: shape.rounds, resultWords: 150 } : small;
  const spread = mulberry32(seedOf(`plan ${turn}`))();
  if (turn % 40 < 20)
    return {
      ...small,
      inputWords: 60 + Math.round(spread * 120),
      answerWords: 150 + Math.round(spread * 300),
    };
  if (turn % 4 !== 0) return small;
  const rounds = 2 + Math.round(spread * 4);
  const callsARound = 1 + (turn % 3);
  return { ...small, rounds, callsARound, resultWords: Math.round(2_000 / rounds / callsARound) };
}

/** An exact string that is only in the input of this turn. */
export function berthCode(turn: number): string {
  return `berth-${String(turn).padStart(5, "0")}/${rareWord(turn)}.log`;
}

export function inputOf(shape: Shape, turn: number): string {
  const order = turn === 1 ? ` The standing order is ${ORDER_CODE}: it must hold for good.` : "";
  const note = prose(`input ${turn}`, planOf(shape, turn).inputWords);
  return `Turn ${turn}. Write up ${berthCode(turn)}.${order} Note that ${note}.`;
}

export function callsOf(shape: Shape, turn: number, round: number): ReplyToolCall[] {
  const { callsARound } = planOf(shape, turn);
  return Array.from({ length: callsARound }, (_, index) => {
    const id = `call_${turn}_${round}_${index}`;
    if (round === 0 && index === 0 && turn % READ_EVERY === 0)
      return { id, name: READ_TOOL, arguments: { path: `/harbour/notes-${turn % FILES}.txt` } };
    return { id, name: TOOL, arguments: { key: `${turn}-${round}-${index}` } };
  });
}

/** Result of a tool. */
export function resultOf(shape: Shape, name: string, args: Record<string, unknown>): string {
  if (name === READ_TOOL) return `Notes in ${String(args["path"])}: ${prose(String(args["path"]), 160)}.`;
  const key = String(args["key"]);
  return `Gauge ${key}: ${prose(`result ${key}`, planOf(shape, Number(key.split("-")[0])).resultWords)}.`;
}

export function answerOf(shape: Shape, turn: number): string {
  return `Turn ${turn} is written up: ${prose(`answer ${turn}`, planOf(shape, turn).answerWords)}.`;
}

/** The scripted summarizer: all headings, and every required string. */
export function summaryOf(asked: string, index: number): string {
  const named = Array.from(
    asked.matchAll(/these (?:changed files|exact strings): (.*)/g),
    ([, list]) => `- ${list}`,
  );
  return [
    "## Goal\n- Keep the harbour log.",
    `## State\n- Part ${index}: ${prose(`summary ${index}`, 60)}.`,
    "## Decisions and constraints\n- Deep boats wait for slack water.",
    "## Open asks\n- The next entry of the log.",
    ...named,
  ].join("\n");
}
