/**
 * A conversation for a harness and a scripted model, modelled on three real coding sessions (of Claude Code, 513 calls): the
 * same tools with the same frequency, and texts as long. Its turns are shorter than theirs.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Of ten calls; a search is a command here, and an edit a file. */
const TOOLS = [
  "command",
  "read",
  "write",
  "command",
  "read",
  "command",
  "write",
  "command",
  "command",
  "command",
];
/** Lengths at the 5th, 25th, 50th, 75th and 95th of a hundred real texts, characters. */
const COMMANDS = [56, 75, 94, 155, 748];
const OUTPUTS = [0, 81, 274, 614, 4_808];
const FILES = [197, 1_022, 2_286, 7_605, 25_877];
const WRITES = [276, 443, 674, 1_324, 4_141];
const REMARKS = [2, 51, 84, 126, 259];
const PROMPTS = [8, 21, 148, 436, 459];
const ANSWER = 700;
/** Requests of a turn before its last one are the turn's number modulo this. */
const ROUNDS = 5;
/** One in so many rounds has two calls. */
const PARALLEL = 5;
/** Real summaries of Claude Code had 14,518, 15,743 and 12,181 characters, some 300 of them the user's few messages. */
const CLAUDE_SUMMARY = 14_000;
const CLAUDE_ANALYSIS = 2_000;
/** No real one of Codex is available: a short one. */
const CODEX_SUMMARY = 2_800;
/** With the following space. */
const CHARS_OF_A_WORD = 5.5;
/** A file is read once: more than one conversation requests. */
const SHELF = 200;

const WORDS = "The keeper of the quay wrote down which ships had come, and when they were to leave again. ";

function words(chars: number): string {
  return WORDS.repeat(Math.ceil(chars / WORDS.length)).slice(0, chars);
}

function length(lengths: readonly number[], index: number): number {
  return lengths[(index * 3 + 1) % lengths.length] ?? 0;
}

function fileOf(index: number): string {
  return `book-${index % SHELF}.txt`;
}

/** The files that are read. */
export function fillFolder(folder: string): void {
  mkdirSync(folder, { recursive: true });
  for (let index = 0; index < SHELF; index++) {
    const chars = length(FILES, index);
    let text = "";
    for (let line = 0; text.length < chars; line++) text += `${index} ${line}: ${WORDS.trim()}\n`;
    writeFileSync(join(folder, fileOf(index)), text.slice(0, chars));
  }
}

export function promptOf(turn: number): string {
  return `Request ${turn}: look after berth ${turn}. ${words(length(PROMPTS, turn))}`;
}

/** All of the user's messages, in a text that contains them. */
function promptsIn(text: string): string[] {
  const turns = new Set([...text.matchAll(/Request (\d+): look after/g)].map(([, turn]) => Number(turn)));
  return [...turns].toSorted((a, b) => a - b).map(promptOf);
}

/** The turn that a request is of. */
export function turnOf(text: string): number {
  return Number(/.*Request (\d+): look after/s.exec(text)?.[1] ?? 0);
}

/** The model's calls to its harness. */
export type Wish =
  | { tool: "command"; command: string }
  | { tool: "read"; path: string }
  | { tool: "write"; path: string; text: string };

export interface Round {
  text: string;
  /** None in the last round of a turn. */
  wishes: Wish[];
}

/** Rounds of a conversation, one after the other. */
export class Workload {
  #turn = -1;
  #round = 0;
  #rounds = 0;
  #calls = 0;
  #reads = 0;

  next(turn: number): Round {
    this.#round = turn === this.#turn ? this.#round + 1 : 0;
    this.#turn = turn;
    if (this.#round >= turn % ROUNDS)
      return { text: `Berth ${turn} is looked after. ${words(ANSWER)}`, wishes: [] };
    this.#rounds += 1;
    const count = this.#rounds % PARALLEL === 0 ? 2 : 1;
    return {
      text: words(length(REMARKS, this.#rounds)),
      wishes: Array.from({ length: count }, () => this.#wish()),
    };
  }

  #wish(): Wish {
    const index = this.#calls++;
    const tool = TOOLS[index % TOOLS.length];
    if (tool === "read") return { tool, path: fileOf(this.#reads++) };
    // Five lengths and ten tools: each kind is to meet all of them.
    const at = index + Math.floor(index / TOOLS.length);
    if (tool === "write") {
      const text = `Entry ${index}.\n${words(length(WRITES, at))}\n`;
      return { tool, path: `entry-${index}.txt`, text };
    }
    const lines = `seq -f '${index}: line %g of the book of the quay' 1 1000`;
    const note = words(length(COMMANDS, at));
    return { tool: "command", command: `: '${note}'; ${lines} | head -c ${length(OUTPUTS, at)}` };
  }
}

const HEADINGS = ["Goal", "State", "Decisions and constraints", "Open asks"];

/** The answer to a request for a summary, of the length that its prompt causes; its text never repeats. */
export function summaryFor(prompt: string): string {
  const newest = `As of request ${turnOf(prompt)}. `;
  if (prompt.includes("<analysis>")) {
    const analysis = `<analysis>\n${words(CLAUDE_ANALYSIS)}\n</analysis>`;
    // Its prompt requires a list of all messages of the user, and real summaries quote them verbatim.
    const users = promptsIn(prompt).map((text) => `    - "${text}"`);
    const summary = [newest + words(CLAUDE_SUMMARY), "6. All user messages:", ...users].join("\n");
    return `${analysis}\n\n<summary>\n${summary}\n</summary>`;
  }
  const most = /in at most (\d+) words\./g;
  const asked = [...prompt.matchAll(most)].at(-1)?.[1];
  const chars = asked === undefined ? CODEX_SUMMARY : Number(asked) * CHARS_OF_A_WORD;
  return HEADINGS.map((heading) => `## ${heading}\n- ${newest}${words(chars / HEADINGS.length)}`).join("\n");
}
