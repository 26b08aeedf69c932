/**
 * `offline/extract`: the built-in model without configuration. Answers with the one line of the context that matches the input best,
 * with its entry id or path, and identifies itself. Deterministic; calls no tools; costs nothing.
 */
import { PagurusError } from "@pagurus/contract/errors";
import { inputWords } from "@pagurus/contract/input-data";
import type { AgentMessage } from "@pagurus/contract/message";
import type { ModelInfo } from "@pagurus/contract/model";
import { rankPassages } from "../compaction/summary/ranked-passages.ts";
import { termsOf } from "../compaction/summary/terms.ts";
import { OFFLINE_MODEL } from "./offline.ts";
import type { ModelPart, ModelRequest } from "./provider-types.ts";

/** Passages that are searched for a line. */
const MAX_PASSAGES = 5;
const MAX_PASSAGE_CHARS = 400;
/** An input up to this length is searched as a whole. */
const MOST_QUERY_CHARS = 500;

const WHAT_I_AM =
  "I am offline/extract, not a language model: I quote what fits your words. `pagurus setup` finds a model.";

const NOTHING_FOUND =
  "Nothing in this conversation, in files attached with @path, or in the project's instructions fits your words.";

/** Only `@path` words, which are often put after a question. */
const MENTIONS = /^(?:\s*@(?:"[^"]*"|\S+))+\s*$/;

/** Streams the answer to the newest user message. Throws `turn_aborted`. */
export function* streamOffline(info: ModelInfo, request: ModelRequest): Generator<ModelPart> {
  const text = answerOffline(request);
  // In chunks of a paragraph, so that a caller's streaming path is the same as with a real model.
  for (const delta of text.split(/(?<=\n\n)/)) {
    if (request.signal.aborted) {
      throw new PagurusError("turn_aborted", "The model call was aborted.", { cause: request.signal.reason });
    }
    yield { type: "text", delta };
  }
  yield {
    type: "finish",
    message: {
      role: "assistant",
      content: [{ type: "text", text }],
      provider: info.provider,
      model: info.id,
      usage: { input: 0, output: 0, totalTokens: 0, cost: 0 },
      stopReason: "stop",
      timestamp: Date.now(),
    },
  };
}

/** A line with the label of its place. */
interface Quote {
  text: string;
  source: string;
}

function answerOffline({ system, messages }: ModelRequest): string {
  const last = messages.findLastIndex((message) => message.role === "user");
  const input = readInput(messages[last]);
  const quote = quoteFor(input, system, messages.slice(0, Math.max(0, last)));
  return `${quote ? `${quote.text} [${quote.source}]` : NOTHING_FOUND}\n\n${WHAT_I_AM}`;
}

function quoteFor(input: Input, system: string, earlier: readonly AgentMessage[]): Quote | undefined {
  if (input.text.trim() === "") return undefined;
  const { question, rest } = splitQuestion(input.text);
  const own = bestLine(question, [{ role: "user", content: rest }]);
  if (own !== undefined) return { text: own.text, source: "your input" };
  // A long text contains notes, whose words would outweigh the question's.
  const asked = input.text.length > MOST_QUERY_CHARS ? question : input.text;
  // Mentions attach files and are not search terms.
  const query = asked.replaceAll(/(^|\s)@(?:"[^"]*"|\S+)/g, "$1");
  const files = [...input.files, ...instructionFiles(system)];
  const sources = new Map(files.map(({ path }, index) => [fileKey(index), path]));
  const best = bestLine(query, [
    ...earlier.filter((message) => !isOwnAnswer(message) && !asksTheSame(message, input.text)),
    ...files.map(({ text }, index): AgentMessage => ({
      role: "user",
      content: text,
      entryId: fileKey(index),
    })),
  ]);
  if (best === undefined) return undefined;
  const source = best.entryId === undefined ? best.role : `${best.role}, entry ${best.entryId}`;
  return { text: best.text, source: sources.get(best.entryId ?? "") ?? source };
}

interface Line {
  text: string;
  role: string;
  entryId?: string;
}

/**
 * The line that fits a question best: one with a phrase of it, else the best of the best passage. Undefined where no passage has words of
 * the question.
 */
function bestLine(query: string, from: readonly AgentMessage[]): Line | undefined {
  const maxChars = MAX_PASSAGE_CHARS;
  const best: Line[] = [];
  for (const { text, role, entryId } of rankPassages({
    query,
    messages: from,
    limit: MAX_PASSAGES,
    maxChars,
  })) {
    const lines = answersIn(text, query).map((content): AgentMessage => ({ role: "user", content }));
    const ranked = rankPassages({ query, messages: lines, limit: lines.length, maxChars });
    const place = entryId === undefined ? { role } : { role, entryId };
    best.push(...ranked.map((line) => ({ text: line.text, ...place })));
  }
  const terms = termsOf(query);
  const lengths = best.map(({ text }) => phraseLength(termsOf(text), terms));
  const longest = Math.max(0, ...lengths);
  return longest < 2 ? best[0] : best[lengths.indexOf(longest)];
}

/** Number of neighbouring terms of the question that are neighbours in the line, too. */
function phraseLength(line: readonly string[], query: readonly string[]): number {
  let longest = 0;
  for (let at = 0; at < line.length; at += 1) {
    for (let from = 0; from < query.length; from += 1) {
      let length = 0;
      while (from + length < query.length && line[at + length] === query[from + length]) length += 1;
      longest = Math.max(longest, length);
    }
  }
  return longest;
}

/** Lines that may answer: no fences, no copy of the question, and a heading with the line below it. */
function answersIn(passage: string, query: string): string[] {
  const lines = passage
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !/^(```|~~~)/.test(line));
  const asked = wordsOf(query);
  return lines.flatMap((line, index) => {
    if (wordsOf(line).includes(asked)) return [];
    if (!/^#{1,6} |:$/.test(line)) return [line];
    const below = lines[index + 1];
    return below === undefined ? [] : [`${line.replace(/^#+ /, "").replace(/:$/, "")}: ${below}`];
  });
}

/** A text without signs and case, to find copies of a question. */
function wordsOf(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, " ")
    .trim();
}

/** A key that differs from every entry id. */
function fileKey(index: number): string {
  return `file ${index}`;
}

interface Input {
  /** The user's text. */
  text: string;
  files: { path: string; text: string }[];
}

/** The input's own text and its attachments. */
function readInput(message: AgentMessage | undefined): Input {
  if (message?.role !== "user") return { text: "", files: [] };
  const { typed, attached } = inputWords(message);
  return {
    text: typed,
    files: attached.map(({ source, text }) => ({ path: source.replace(/^file /, ""), text })),
  };
}

/** The instruction files in the system prompt. */
function instructionFiles(system: string): Input["files"] {
  const blocks = system.matchAll(
    /<project_instructions path="([^"]*)"(?: trusted="no")?>\n([\s\S]*?)\n<\/project_instructions>/g,
  );
  return Array.from(blocks, ([, path = "", text = ""]) => ({ path, text }));
}

/**
 * Splits an input into its question and the rest. The question is the last sentence if that ends with a question mark, else the
 * first such sentence, else the first line.
 */
function splitQuestion(text: string): { question: string; rest: string } {
  const sentences = text.split(/(?<=[?？])(?=\s)|(?<=[.!。！])(?=\s)|(?=\n)/);
  const asks = (sentence: string): boolean => /[?？]["')\]]?$/.test(sentence.trim());
  const end = sentences.findLastIndex((sentence) => sentence.trim() !== "" && !MENTIONS.test(sentence));
  let at = asks(sentences[end] ?? "") ? end : sentences.findIndex(asks);
  if (at < 0)
    at = Math.max(
      0,
      sentences.findIndex((sentence) => sentence.trim() !== ""),
    );
  return {
    question: (sentences[at] ?? "").trim(),
    // The texts before and after the question are separate passages.
    rest: [sentences.slice(0, at), sentences.slice(at + 1)].map((part) => part.join("").trim()).join("\n\n"),
  };
}

/** An earlier copy of the question is not an answer. */
function asksTheSame(message: AgentMessage, text: string): boolean {
  return message.role === "user" && readInput(message).text.trim() === text.trim();
}

/** Earlier answers of this model only repeat others. */
function isOwnAnswer(message: AgentMessage): boolean {
  return message.role === "assistant" && message.provider === OFFLINE_MODEL.provider;
}
