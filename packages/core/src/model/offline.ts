/**
 * `offline/extract`: the built-in model without configuration. Quotes the passages of the context that match the input best,
 * with their entry ids or paths, and identifies itself. Deterministic; calls no tools; costs nothing.
 */
import { PagurusError } from "@pagurus/contract/errors";
import { inputWords } from "@pagurus/contract/input-data";
import type { AgentMessage } from "@pagurus/contract/message";
import type { ModelInfo } from "@pagurus/contract/model";
import { rankPassages } from "../compaction/summary/ranked-passages.ts";
import type { ModelPart, ModelRequest } from "./provider-types.ts";

export const OFFLINE_REF = "offline/extract";

export const OFFLINE_MODEL: ModelInfo = {
  ref: OFFLINE_REF,
  provider: "offline",
  id: "extract",
  api: "offline",
  contextWindow: 128_000,
  maxTokens: 8_192,
  reasoning: false,
  input: ["text"],
  promptCache: "none",
  truncatesSilently: false,
  cost: { input: 0, output: 0 },
};

const MAX_PASSAGES = 5;
/** Maximum from the input itself, if there are others. */
const MAX_OWN_PASSAGES = 2;
const MAX_PASSAGE_CHARS = 400;
/** An input up to this length is searched as a whole. */
const MOST_QUERY_CHARS = 500;

const WHAT_I_AM =
  "I am offline/extract, not a language model: I quote what fits the words of your input, from this conversation, " +
  "from files that you attach with @path, and from the project's instructions.";

const HOW_TO_GET_A_MODEL =
  "To talk to a model, set ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or OPENROUTER_API_KEY, start Ollama or " +
  "LM Studio, or run `pagurus config set agents.defaults.model <provider/model>`.";

const NOTHING_FOUND =
  `Nothing here matches your input yet. ${WHAT_I_AM} Try \`pagurus run "How do I run the tests? @README.md"\`, or ` +
  "tell me something and ask about it later.";

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

/** A passage with the label of its place. */
interface Quote {
  text: string;
  source: string;
}

function answerOffline({ system, messages }: ModelRequest): string {
  const last = messages.findLastIndex((message) => message.role === "user");
  const input = readInput(messages[last]);
  const quotes = quotesFor(input, system, messages.slice(0, Math.max(0, last)));
  if (quotes.length === 0) return `${NOTHING_FOUND}\n\n${HOW_TO_GET_A_MODEL}`;
  const lines = quotes.map(({ text, source }) => `- [${source}] ${text.trim().replaceAll("\n", "\n  ")}`);
  const lead = quotes.length === 1 ? "The passage" : `The ${quotes.length} passages`;
  return `${lead} that fit your input best:\n\n${lines.join("\n")}\n\n${WHAT_I_AM} ${HOW_TO_GET_A_MODEL}`;
}

function quotesFor(input: Input, system: string, earlier: readonly AgentMessage[]): Quote[] {
  if (input.text.trim() === "") return [];
  const { question, rest } = splitQuestion(input.text);
  // A long text contains notes, whose words would outweigh the question's.
  const asked = input.text.length > MOST_QUERY_CHARS ? question : input.text;
  // Mentions attach files and are not search terms.
  const query = asked.replaceAll(/(^|\s)@(?:"[^"]*"|\S+)/g, "$1");
  const files = [...input.files, ...instructionFiles(system)];
  const sources = new Map(files.map(({ path }, index) => [fileKey(index), path]));
  const candidates = [
    ...earlier.filter((message) => !isOwn(message) && !asksTheSame(message, input.text)),
    ...files.map(({ text }, index): AgentMessage => ({
      role: "user",
      content: text,
      entryId: fileKey(index),
    })),
  ];
  const rank = (words: string, from: readonly AgentMessage[]): ReturnType<typeof rankPassages> =>
    rankPassages({ query: words, messages: from, limit: MAX_PASSAGES, maxChars: MAX_PASSAGE_CHARS });
  const around = rank(query, candidates).map(({ text, entryId, role }): Quote => {
    const source = entryId === undefined ? role : `${role}, entry ${entryId}`;
    return { text, source: sources.get(entryId ?? "") ?? source };
  });
  const own = rank(question, [{ role: "user", content: rest }]);
  const quoted = own.slice(0, around.length === 0 ? MAX_PASSAGES : MAX_OWN_PASSAGES);
  return [...quoted.map(({ text }) => ({ text, source: "your input" })), ...around].slice(0, MAX_PASSAGES);
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
function isOwn(message: AgentMessage): boolean {
  return message.role === "assistant" && message.provider === OFFLINE_MODEL.provider;
}
