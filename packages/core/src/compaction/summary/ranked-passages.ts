/** Ranks passages of a context by how well they answer a question; they are quoted verbatim. */
import { inputWords } from "@pagurus/contract/input-data";
import type { AgentMessage } from "@pagurus/contract/message";
import { readSummary } from "@pagurus/contract/engine/summary";
import { labelOf } from "./calls.ts";
import { callsOf, textOf } from "../message-text.ts";
import { SENTENCE_GAP } from "./sentences.ts";
import { termsOf } from "./terms.ts";
import { defined } from "../../data/defined.ts";

interface Passage {
  text: string;
  entryId?: string;
  role: string;
  score: number;
}

const K1 = 1.2;
const LENGTH_WEIGHT = 0.75;
const ROLE_WEIGHT = { user: 1.3, assistant: 1, toolResult: 0.9 };

/** Splits a line into pieces of at most `maxChars`: at sentences, else words, else characters. */
function piecesOf(line: string, maxChars: number): string[] {
  if (line.length <= maxChars) return [line];
  const sentences = line.split(SENTENCE_GAP);
  if (sentences.length > 1) return sentences.flatMap((sentence) => piecesOf(sentence, maxChars));
  const pieces: string[] = [];
  let rest = line;
  while (rest.length > maxChars) {
    const space = rest.lastIndexOf(" ", maxChars);
    let cut = space > maxChars / 2 ? space : maxChars;
    if (cut > 1 && /[\uD800-\uDBFF]/.test(rest.charAt(cut - 1))) cut -= 1;
    pieces.push(rest.slice(0, cut));
    rest = rest.slice(cut);
  }
  pieces.push(rest);
  return pieces;
}

/** Groups neighbouring lines of a text in windows of at most `maxChars`; a blank line ends a window. */
function windowsOf(text: string, maxChars: number): string[] {
  const windows: string[] = [];
  let current = "";
  const close = (): void => {
    if (current.trim() !== "") windows.push(current.trim());
    current = "";
  };
  for (const line of text.split("\n")) {
    if (line.trim() === "") {
      close();
      continue;
    }
    for (const piece of piecesOf(line, maxChars)) {
      if (current.length + piece.length + 1 > maxChars) close();
      current += current === "" ? piece : `\n${piece}`;
    }
  }
  close();
  return windows;
}

interface Candidate {
  text: string;
  message: AgentMessage;
  /** From an attachment, which has the weight of a tool result. */
  isData: boolean;
  counts: Map<string, number>;
  length: number;
}

function candidatesOf(messages: readonly AgentMessage[], query: Set<string>, maxChars: number): Candidate[] {
  const candidate = (text: string, message: AgentMessage, isData: boolean): Candidate => {
    const terms = termsOf(text, { keepStopWords: true });
    const counts = new Map<string, number>();
    for (const term of terms) if (query.has(term)) counts.set(term, (counts.get(term) ?? 0) + 1);
    return { text, message, isData, counts, length: terms.length };
  };
  return messages.flatMap((message) => {
    const summary = readSummary(textOf(message));
    const { typed, attached } =
      message.role === "user" && summary === undefined
        ? inputWords(message)
        : { typed: summary ?? textOf(message), attached: [] };
    const windows = windowsOf(typed, maxChars);
    if (message.role === "assistant") for (const call of callsOf(message)) windows.push(labelOf(call));
    return [
      ...windows.map((window) => candidate(window, message, false)),
      ...attached.flatMap((data) =>
        windowsOf(data.text, maxChars).map((window) => candidate(window, message, true)),
      ),
    ];
  });
}

/**
 * Passages that share terms with the query, best first: BM25 over windows of sentences or lines, with a bonus for
 * more of the query's distinct terms and a higher weight for the user's text. Ties keep the order of the context;
 * equal texts appear once. `maxChars` (default 400) limits one passage. The text is verbatim.
 */
export function rankPassages(params: {
  query: string;
  messages: readonly AgentMessage[];
  limit: number;
  maxChars?: number;
}): Passage[] {
  let query = new Set(termsOf(params.query));
  if (query.size === 0) query = new Set(termsOf(params.query, { keepStopWords: true }));
  const candidates = candidatesOf(params.messages, query, Math.max(1, params.maxChars ?? 400));
  const total = Math.max(1, candidates.length);
  const meanLength = candidates.reduce((sum, candidate) => sum + candidate.length, 0) / total || 1;
  const frequency = new Map<string, number>();
  for (const { counts } of candidates) {
    for (const term of counts.keys()) frequency.set(term, (frequency.get(term) ?? 0) + 1);
  }
  const passages: Passage[] = [];
  const quoted = new Set<string>();
  for (const { text, message, isData, counts, length } of candidates) {
    if (counts.size === 0 || quoted.has(text)) continue;
    quoted.add(text);
    let score = 0;
    for (const [term, count] of counts) {
      const holders = frequency.get(term) ?? 0;
      const rarity = Math.log(1 + (total - holders + 0.5) / (holders + 0.5));
      score +=
        (rarity * count * (K1 + 1)) /
        (count + K1 * (1 - LENGTH_WEIGHT + (LENGTH_WEIGHT * length) / meanLength));
    }
    const summary = message.role === "user" && readSummary(textOf(message)) !== undefined;
    const weight = ROLE_WEIGHT[isData ? "toolResult" : message.role];
    score *= (summary ? 1 : weight) * (0.5 + (0.5 * counts.size) / query.size);
    const { entryId, role } = message;
    passages.push({ text, role, score, ...defined({ entryId }) });
  }
  passages.sort((a, b) => b.score - a.score);
  return passages.slice(0, Math.max(0, params.limit));
}
