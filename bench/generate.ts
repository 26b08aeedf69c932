/** Transcripts of an agent at work, made from a seed: the same seed gives the same messages on every machine. */
import type {
  AgentMessage,
  AssistantMessage,
  TextPart,
  ToolCallPart,
} from "../packages/contract/src/message.ts";

/** A generator of numbers in [0, 1), 32 bits of state (Tommy Ettinger's mulberry32). */
export function mulberry32(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export interface TranscriptOptions {
  seed: number;
  /** How many messages. */
  messages: number;
}

const WORDS = (
  "the a of to in is that it for was on with as be at by this have from or one had not but what all were when we " +
  "there can an your which their said if do will each about how up out them then she many some so these would other " +
  "into has more her two like him see time could no make than first been its who now people my made over did down " +
  "only way find use may water long little very after words called just where most know request server folder test " +
  "failure session message token budget window history summary engine module function value error branch commit"
).split(" ");
const NAMES =
  "parse load merge render flush resolve encode assemble schedule verify collect compact index search".split(
    " ",
  );
const NOUNS =
  "Entry Header Session Cursor Batch Window Record Token Lease Frontier Summary Route Folder".split(" ");
const TOOLS = ["read", "search", "shell", "edit"] as const;
/** Mean sizes in characters; with one to three tool calls a turn they make 1.6 KB a message. */
const MEAN = { user: 500, thought: 250, answer: 900, result: 3_200 };
const START = Date.UTC(2026, 0, 1);

class Writer {
  readonly #random: () => number;
  #calls = 0;

  constructor(seed: number) {
    this.#random = mulberry32(seed);
  }

  below(bound: number): number {
    return Math.floor(this.#random() * bound);
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)] as T;
  }

  /** Many small sizes and a few large ones, as in real sessions. */
  size(mean: number): number {
    return Math.min(10 * mean, Math.ceil(-Math.log(1 - this.#random()) * mean));
  }

  prose(size: number): string {
    let text = "";
    let length = 0;
    while (text.length < size) {
      const word = this.pick(WORDS);
      const starts = length === 0;
      text += starts ? word.charAt(0).toUpperCase() + word.slice(1) : ` ${word}`;
      length++;
      if (length > 5 && this.below(10) === 0) {
        text += this.below(4) === 0 ? ".\n\n" : ". ";
        length = 0;
      }
    }
    return text;
  }

  identifier(): string {
    return this.pick(NAMES) + this.pick(NOUNS);
  }

  path(): string {
    return `src/${this.pick(NAMES)}/${this.identifier()}-${this.below(1_000)}.ts`;
  }

  code(size: number): string {
    let text = "";
    for (let line = 1; text.length < size; line++) {
      const [name, other, value] = [this.identifier(), this.identifier(), this.below(100_000)];
      const lines = [
        `export function ${name}(input: ${this.pick(NOUNS)}, limit = ${value}): number {`,
        `  const ${other} = ${name}(input.${this.pick(NAMES)}, ${value});`,
        `  if (${other} > limit) return ${other} - ${value};`,
        `  // ${this.prose(40).replaceAll("\n", " ")}`,
        `}`,
      ];
      text += `${String(line).padStart(5)}\t${lines[line % lines.length]}\n`;
    }
    return text;
  }

  records(size: number): string {
    const records: Record<string, unknown>[] = [];
    for (let length = 0; length < size; length += 110) {
      const id = this.below(2 ** 31)
        .toString(16)
        .padStart(8, "0");
      records.push({
        id,
        path: this.path(),
        line: this.below(4_000),
        score: this.below(1_000) / 1_000,
        open: true,
      });
    }
    return JSON.stringify(records, null, 1);
  }

  call(): ToolCallPart {
    const name = this.pick(TOOLS);
    const id = `call_${(++this.#calls).toString(36).padStart(6, "0")}`;
    const path = this.path();
    if (name === "read") return { type: "toolCall", id, name, arguments: { path } };
    if (name === "search")
      return { type: "toolCall", id, name, arguments: { pattern: this.identifier(), path } };
    if (name === "shell")
      return { type: "toolCall", id, name, arguments: { command: `npm test -- ${path}` } };
    const edit = { path, oldText: this.code(120), newText: this.code(160) };
    return { type: "toolCall", id, name, arguments: edit };
  }

  result(): TextPart {
    const size = this.size(MEAN.result);
    const make = this.below(4);
    return {
      type: "text",
      text: make === 0 ? this.records(size) : make === 1 ? this.prose(size) : this.code(size),
    };
  }
}

function assistant(content: AssistantMessage["content"]): AssistantMessage {
  const calls = content.some((part) => part.type === "toolCall");
  return {
    role: "assistant",
    content,
    provider: "bench",
    model: "instant",
    stopReason: calls ? "toolUse" : "stop",
  };
}

/** A user's input, up to `calls` tool calls each followed by its result, and an answer. */
function turn(writer: Writer, calls: number): AgentMessage[] {
  const messages: AgentMessage[] = [{ role: "user", content: writer.prose(writer.size(MEAN.user)) }];
  for (let count = 0; count < calls; count++) {
    const call = writer.call();
    const thought: TextPart = { type: "text", text: writer.prose(writer.size(MEAN.thought)) };
    const content = [writer.result()];
    const isError = writer.below(20) === 0;
    messages.push(assistant([thought, call]));
    messages.push({ role: "toolResult", toolCallId: call.id, toolName: call.name, content, isError });
  }
  messages.push(assistant([{ type: "text", text: writer.prose(writer.size(MEAN.answer)) }]));
  return messages;
}

/**
 * A transcript of exactly so many messages, 1.6 KB each on average; every tool call is followed by its result, and an odd
 * number ends with an unanswered user's input.
 */
export function generateTranscript({ seed, messages }: TranscriptOptions): AgentMessage[] {
  const writer = new Writer(seed);
  const transcript: AgentMessage[] = [];
  while (messages - transcript.length >= 2) {
    const pairs = Math.floor((messages - transcript.length - 2) / 2);
    transcript.push(...turn(writer, Math.min(pairs, 1 + writer.below(3))));
  }
  if (transcript.length < messages) {
    transcript.push({ role: "user", content: writer.prose(writer.size(MEAN.user)) });
  }
  return transcript.map((message, index) => ({ ...message, timestamp: START + index * 1_000 }));
}
