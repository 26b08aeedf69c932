/** Texts of a long run: the same for the same turn in the host's process and at the endpoint. */
import { mulberry32 } from "../../../bench/generate.ts";
import { FULL } from "../../runner/short-form.ts";
import type { ReplyToolCall } from "../../servers/script.ts";

const WORDS = (
  "the tide gauge reads higher than the table says because wind from the north holds water in the basin and a boat " +
  "that draws more than two metres should wait for slack before it enters while the harbour crew checks lights ropes " +
  "fenders and the crane on the eastern quay where new planks were laid last spring so trucks can turn around there"
).split(" ");
const SYLLABLES = "ba ce di fo gu ha je ki lo mu na pe ri so tu".split(" ");

/** Sent in the first turn; the scripted summarizer carries it from summary to summary. */
export const ORDER_CODE = "SO-1147-HARBOUR";
const ORDER = /SO-\d{4}-[A-Z]+/;

/** Name of the plugin's tool. */
export const TOOL = "gauge_log";
/** Every so many turns the first call reads a file of the workspace instead. */
const READ_EVERY = 7;

function seedOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < key.length; at++) hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}

function prose(key: string, words: number): string {
  const random = mulberry32(seedOf(key));
  const picked = Array.from({ length: words }, () => WORDS[Math.floor(random() * WORDS.length)] ?? "tide");
  return picked.join(" ");
}

/** A word that occurs in no other turn. */
export function rareWord(turn: number): string {
  let rest = turn;
  let word = "zy";
  for (let digit = 0; digit < 4; digit++) {
    word += SYLLABLES[rest % SYLLABLES.length] ?? "";
    rest = Math.floor(rest / SYLLABLES.length);
  }
  return word;
}

/** An exact string that occurs only in the input of this turn. */
export function berthCode(turn: number): string {
  return `berth-${String(turn).padStart(5, "0")}/${rareWord(turn)}.log`;
}

/** Amount of text in a turn. */
export interface TurnPlan {
  rounds: number;
  callsARound: number;
  inputWords: number;
  resultWords: number;
  answerWords: number;
}

/**
 * `between`: most text is in inputs and answers, so the context grows between turns. `rounds`: most is in the rounds of every fourth turn.
 * `mixed`: a hundred turns of the one, a hundred of the other. `one-turn`: the fourth turn has `LONG_ROUNDS`.
 */
export type Shape = "between" | "rounds" | "mixed" | "one-turn";

export const LONG_TURN = 4;
export const LONG_ROUNDS = FULL ? 600 : 250;

export function planOf(shape: Shape, turn: number): TurnPlan {
  const small: TurnPlan = { rounds: 1, callsARound: 1, inputWords: 30, resultWords: 20, answerWords: 20 };
  if (shape === "one-turn") {
    return turn === LONG_TURN ? { ...small, rounds: LONG_ROUNDS, resultWords: 150 } : small;
  }
  const spread = mulberry32(seedOf(`plan ${turn}`))();
  const between = shape === "between" || (shape === "mixed" && turn % 200 < 100);
  if (between) {
    return {
      ...small,
      inputWords: 60 + Math.round(spread * 120),
      answerWords: 150 + Math.round(spread * 300),
    };
  }
  if (turn % 4 !== 0) return small;
  const rounds = 2 + Math.round(spread * 4);
  const callsARound = 1 + (turn % 3);
  return { ...small, rounds, callsARound, resultWords: Math.round(2_000 / rounds / callsARound) };
}

export function inputOf(shape: Shape, turn: number): string {
  const order = turn === 1 ? ` The standing order is ${ORDER_CODE}; it holds for good.` : "";
  const text = prose(`input ${turn}`, planOf(shape, turn).inputWords);
  return `Turn ${turn}. Write up ${berthCode(turn)} under the word ${rareWord(turn)}.${order} Note that ${text}.`;
}

export function callsOf(shape: Shape, turn: number, round: number): ReplyToolCall[] {
  const { callsARound } = planOf(shape, turn);
  return Array.from({ length: callsARound }, (_, index) => {
    const id = `call_${turn}_${round}_${index}`;
    if (round === 0 && index === 0 && turn % READ_EVERY === 0 && shape !== "one-turn") {
      return { id, name: "read", arguments: { path: notesFile(turn) } };
    }
    return { id, name: TOOL, arguments: { key: `${turn}-${round}-${index}` } };
  });
}

export function resultOf(shape: Shape, key: string): string {
  const words = planOf(shape, Number(key.split("-")[0])).resultWords;
  return `Gauge ${key}: ${prose(`result ${key}`, words)}.`;
}

/** Number of files of notes in the workspace, and their content. */
export const NOTES = 5;
export function notesText(index: number): string {
  return `Notes ${index} of the harbour.\n${prose(`notes ${index}`, 25)}\n`;
}
export function notesFile(turn: number): string {
  return `notes-${turn % NOTES}.txt`;
}

export function answerOf(shape: Shape, turn: number): string {
  return `Turn ${turn} is written up: ${prose(`answer ${turn}`, planOf(shape, turn).answerWords)}.`;
}

/** The scripted summarizer: all headings, and the order code when its input has one. */
export function summaryOf(shown: string, index: number): string {
  const order = ORDER.exec(shown)?.[0];
  return [
    "## Goal",
    `Keep the harbour log${order === undefined ? "" : ` under ${order}`}.`,
    "## State",
    `Summary ${index}: ${prose(`summary ${index}`, 120)}.`,
    "## Decisions and constraints",
    "- Deep boats wait for slack water.",
    "## Open asks",
    "- The next entry of the log.",
  ].join("\n");
}
