/** Passages of a context ranked by how well they answer a question, to be quoted. */
import type { AgentMessage } from "../contract/message.ts";
import { readSummary } from "../contract/summary.ts";
import { labelOf } from "./calls.ts";
import { callsOf, textOf } from "./message-text.ts";
import { SENTENCE_GAP } from "./sentences.ts";
import { termsOf } from "./terms.ts";

interface Passage {
  text: string;
  entryId?: string;
  role: string;
  score: number;
}

const K1 = 1.2;
const B = 0.75;
const ROLE_WEIGHT = { user: 1.3, assistant: 1, toolResult: 0.9 };

/** Pieces of a line that are at most `maxChars` long: sentences, else words, else characters. */
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

/** Neighbouring lines of a text, in windows of at most `maxChars`; a blank line ends a window. */
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
  counts: Map<string, number>;
  length: number;
}

function candidatesOf(messages: readonly AgentMessage[], query: Set<string>, maxChars: number): Candidate[] {
  return messages.flatMap((message) => {
    const text = textOf(message);
    const windows = windowsOf(readSummary(text) ?? text, maxChars);
    if (message.role === "assistant") for (const call of callsOf(message)) windows.push(labelOf(call));
    return windows.map((window) => {
      const terms = termsOf(window, { keepStopWords: true });
      const counts = new Map<string, number>();
      for (const term of terms) if (query.has(term)) counts.set(term, (counts.get(term) ?? 0) + 1);
      return { text: window, message, counts, length: terms.length };
    });
  });
}

/**
 * The passages that share terms with the query, best first: BM25 over windows of sentences or lines, more for a
 * window with more of the query's different terms, users' own words weighted up, ties in the order of the
 * context, equal texts once. `maxChars` (default 400) bounds one passage. The text is verbatim.
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
  for (const { text, message, counts, length } of candidates) {
    if (counts.size === 0 || quoted.has(text)) continue;
    quoted.add(text);
    let score = 0;
    for (const [term, count] of counts) {
      const holders = frequency.get(term) ?? 0;
      const rarity = Math.log(1 + (total - holders + 0.5) / (holders + 0.5));
      score += (rarity * count * (K1 + 1)) / (count + K1 * (1 - B + (B * length) / meanLength));
    }
    const summary = message.role === "user" && readSummary(textOf(message)) !== undefined;
    score *= (summary ? 1 : ROLE_WEIGHT[message.role]) * (0.5 + (0.5 * counts.size) / query.size);
    const { entryId, role } = message;
    passages.push({ text, role, score, ...(entryId === undefined ? {} : { entryId }) });
  }
  passages.sort((a, b) => b.score - a.score);
  return passages.slice(0, Math.max(0, params.limit));
}
