/**
 * `offline/extract`: what answers when no model is configured. It quotes the passages of the context that fit the
 * input best, with their entry ids or paths, and says what it is. Deterministic; calls no tools; costs nothing.
 */
import { PagurusError } from "../contract/errors.ts";
import type { AgentMessage } from "../contract/message.ts";
import type { ModelInfo } from "../contract/model.ts";
import { rankPassages } from "../compaction/passages.ts";
import type { ModelPart, ModelRequest } from "./types.ts";

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
/** Of the input itself, where there are others. */
const MAX_OWN_PASSAGES = 2;
const MAX_PASSAGE_CHARS = 400;
/** An input up to this long is looked for as a whole. */
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

/** Streams the answer to the newest user message. Throws `turn_aborted`. */
export function* streamOffline(info: ModelInfo, request: ModelRequest): Generator<ModelPart> {
  const text = answerOffline(request);
  // In pieces of a paragraph, so that a caller's streaming path is the same as with a real model.
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

/** A passage with the words for where it stands. */
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
  // A text of some length holds notes, whose words would drown those of the question.
  const query = withoutMentions(input.text.length > MOST_QUERY_CHARS ? question : input.text);
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

/** A mention attaches a file; its name is nothing to look for in it. */
function withoutMentions(text: string): string {
  return text.replaceAll(/(^|\s)@(?:"[^"]*"|\S+)/g, "$1");
}

/** No id of an entry looks like this. */
function fileKey(index: number): string {
  return `file ${index}`;
}

interface Input {
  /** What the user wrote. */
  text: string;
  files: { path: string; text: string }[];
}

/** The input's own words and the files attached to it (`<file path="…">`). */
function readInput(message: AgentMessage | undefined): Input {
  if (message?.role !== "user") return { text: "", files: [] };
  const parts =
    typeof message.content === "string"
      ? [{ type: "text", text: message.content } as const]
      : message.content;
  const texts: string[] = [];
  const files: Input["files"] = [];
  for (const part of parts) {
    if (part.type !== "text") continue;
    const file = /^<file path="([^"]*)">\n([\s\S]*)<\/file>$/.exec(part.text);
    if (file) files.push({ path: unescaped(file[1] ?? ""), text: file[2] ?? "" });
    else texts.push(part.text);
  }
  return { text: texts.join("\n"), files };
}

/** The instruction files that the host put into the system prompt. */
function instructionFiles(system: string): Input["files"] {
  const blocks = system.matchAll(
    /<project_instructions path="([^"]*)">\n([\s\S]*?)\n<\/project_instructions>/g,
  );
  return Array.from(blocks, ([, path = "", text = ""]) => ({ path, text }));
}

function unescaped(name: string): string {
  return name.replaceAll("&lt;", "<").replaceAll("&quot;", '"').replaceAll("&amp;", "&");
}

/**
 * What an input asks, and the rest of it. The question is the last sentence where that ends with a question mark,
 * else the first such sentence, else the first line.
 */
function splitQuestion(text: string): { question: string; rest: string } {
  const sentences = text.split(/(?<=[?？])(?=\s)|(?<=[.!。！])(?=\s)|(?=\n)/);
  const asks = (sentence: string): boolean => /[?？]["')\]]?$/.test(sentence.trim());
  const end = sentences.findLastIndex((sentence) => sentence.trim() !== "" && !isMentions(sentence));
  let at = asks(sentences[end] ?? "") ? end : sentences.findIndex(asks);
  if (at < 0)
    at = Math.max(
      0,
      sentences.findIndex((sentence) => sentence.trim() !== ""),
    );
  return {
    question: (sentences[at] ?? "").trim(),
    // What stood before the question and what stood after it are different passages.
    rest: [sentences.slice(0, at), sentences.slice(at + 1)].map((part) => part.join("").trim()).join("\n\n"),
  };
}

/** Only `@path` words, as they are often put behind a question. */
function isMentions(sentence: string): boolean {
  return /^(?:\s*@(?:"[^"]*"|\S+))+\s*$/.test(sentence);
}

/** A question that was asked before answers nothing. */
function asksTheSame(message: AgentMessage, text: string): boolean {
  return message.role === "user" && readInput(message).text.trim() === text.trim();
}

/** Earlier answers of this model only repeat what others said. */
function isOwn(message: AgentMessage): boolean {
  return message.role === "assistant" && message.provider === OFFLINE_MODEL.provider;
}
