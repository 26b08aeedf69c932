/**
 * Histories of an agent at work, of any length, made from a seed and one message at a time: word frequencies as in a
 * language (Zipf), tool calls in pairs with their results, 1.6 KB of JSON a message on average, rare words planted.
 */
import type { AgentMessage, AssistantMessage, ToolCallPart } from "../../packages/contract/src/message.ts";
import type { MessageEntry } from "../../packages/contract/src/session/transcript.ts";
import { mulberry32 } from "../generate.ts";

export type Language = "latin" | "chinese";

const START = Date.UTC(2026, 0, 1);
const SYLLABLES =
  "ba co de fi gu ha jo ka le mi no pa qui ra se ti u va wo xe ya zo bri cla dro fle gra plo sta tre".split(
    " ",
  );
const TOOLS = ["read", "search", "shell", "edit"] as const;
const VOCABULARY = 30_000;
const TABLE = 1 << 17;
/** Mean sizes in bytes; with one to three tool calls a turn they make 1.6 KB a message. */
const MEAN = { user: 500, thought: 250, answer: 900, result: 2_900 };
/** One message in so many has a unique word. */
export const PLANT_EVERY = 100;

function wordOf(language: Language, rank: number): string {
  if (language === "chinese") {
    const first = String.fromCodePoint(0x4e00 + ((rank * 7) % 6_000));
    return rank < 300 ? first : first + String.fromCodePoint(0x4e00 + ((rank * 13 + 5) % 6_000));
  }
  let word = "";
  for (let rest = rank + SYLLABLES.length; rest > 0; rest = Math.floor(rest / SYLLABLES.length))
    word += SYLLABLES[rest % SYLLABLES.length];
  return word;
}

/** Words by frequency: the k-th has a share of 1/k. */
function frequencyTable(language: Language): string[] {
  const words = Array.from({ length: VOCABULARY }, (_, rank) => wordOf(language, rank));
  const weights = words.map((_, rank) => 1 / (rank + 2));
  const sum = weights.reduce((total, weight) => total + weight, 0);
  const table: string[] = [];
  let reached = 0;
  words.forEach((word, rank) => {
    reached += ((weights[rank] ?? 0) / sum) * TABLE;
    while (table.length < reached && table.length < TABLE) table.push(word);
  });
  return table;
}

class Corpus {
  readonly #random: () => number;
  readonly #table: readonly string[];
  readonly #space: string;
  readonly #stop: string;
  /** Bytes of a character. */
  readonly #width: number;
  #calls = 0;
  #messages = 0;

  constructor(seed: number, language: Language) {
    this.#random = mulberry32(seed);
    this.#table = frequencyTable(language);
    this.#space = language === "latin" ? " " : "";
    this.#stop = language === "latin" ? ". " : "。";
    this.#width = language === "latin" ? 1 : 3;
  }

  below(bound: number): number {
    return Math.floor(this.#random() * bound);
  }

  word(): string {
    return this.#table[this.below(this.#table.length)] ?? "";
  }

  /** Many small sizes and a few large ones. */
  size(mean: number): number {
    return Math.min(10 * mean, Math.ceil(-Math.log(1 - this.#random()) * mean));
  }

  prose(bytes: number): string {
    const size = bytes / this.#width;
    let text = this.word();
    while (text.length < size) text += (this.below(12) === 0 ? this.#stop : this.#space) + this.word();
    return text;
  }

  path(): string {
    return `src/${wordOf("latin", this.below(200))}/${wordOf("latin", this.below(5_000))}-${this.below(1_000)}.ts`;
  }

  code(size: number): string {
    let text = "";
    for (let line = 1; text.length < size; line++) {
      const name = wordOf("latin", this.below(3_000));
      text += `${line}\tconst ${name}${this.below(500)} = ${wordOf("latin", this.below(3_000))}(${this.word()}, ${this.below(100_000)});\n`;
    }
    return text;
  }

  records(size: number): string {
    const records: object[] = [];
    for (let length = 0; length < size; length += 100)
      records.push({
        id: this.below(2 ** 31).toString(16),
        path: this.path(),
        line: this.below(4_000),
        ok: true,
      });
    return JSON.stringify(records, null, 1);
  }

  output(): string {
    const size = this.size(MEAN.result);
    const kind = this.below(4);
    if (this.#width > 1) return kind === 0 ? this.code(size) : this.prose(size);
    return kind === 0 ? this.records(size) : kind === 1 ? this.prose(size) : this.code(size);
  }

  call(): ToolCallPart {
    const name = TOOLS[this.below(TOOLS.length)] ?? "read";
    const id = `call_${(++this.#calls).toString(36).padStart(8, "0")}`;
    const path = this.path();
    const by = {
      read: { path },
      search: { pattern: this.word(), path },
      shell: { command: `npm test ${path}` },
    };
    const values = name === "edit" ? { path, oldText: this.code(120), newText: this.code(160) } : by[name];
    return { type: "toolCall", id, name, arguments: values };
  }

  *turn(): Generator<AgentMessage> {
    yield this.#stamp({ role: "user", content: this.prose(this.size(MEAN.user)) + this.#plant() });
    for (let calls = 1 + this.below(3); calls > 0; calls--) {
      const call = this.call();
      yield this.#assistant(
        [{ type: "text", text: this.prose(this.size(MEAN.thought)) + this.#plant() }, call],
        "toolUse",
      );
      yield this.#stamp({
        role: "toolResult",
        toolCallId: call.id,
        toolName: call.name,
        content: [{ type: "text", text: this.output() + this.#plant() }],
        isError: this.below(20) === 0,
      });
    }
    yield this.#assistant(
      [{ type: "text", text: this.prose(this.size(MEAN.answer)) + this.#plant() }],
      "stop",
    );
  }

  #assistant(content: AssistantMessage["content"], stopReason: "stop" | "toolUse"): AgentMessage {
    const [input, output] = [this.below(60_000), this.below(900)];
    const usage = { input, output, cacheRead: 0, totalTokens: input + output };
    return this.#stamp({
      role: "assistant",
      content,
      provider: "bench",
      model: "instant",
      usage,
      stopReason,
    });
  }

  #stamp(message: AgentMessage): AgentMessage {
    return { ...message, timestamp: START + this.#messages++ * 1_000 };
  }

  #plant(): string {
    return this.#messages % PLANT_EVERY === 0 ? ` ${plantedWord(this.#messages)}` : "";
  }
}

/** The unique word of a message. */
export function plantedWord(message: number): string {
  return `fact${message.toString(36)}x`;
}

/** Endless; the same seed gives the same messages on every machine. */
function* messages(seed: number, language: Language = "latin"): Generator<AgentMessage> {
  const corpus = new Corpus(seed, language);
  for (;;) yield* corpus.turn();
}

/** So many entries of one branch, as in a transcript. `prefix` keeps ids of several histories apart. */
export function* entries(
  seed: number,
  count: number,
  options: { language?: Language; prefix?: string; parentId?: string | null } = {},
): Generator<MessageEntry> {
  let parentId = options.parentId ?? null;
  let index = 0;
  for (const message of messages(seed, options.language)) {
    if (index === count) return;
    const id = (options.prefix ?? "e") + index.toString(36).padStart(15, "0");
    const timestamp = new Date(message.timestamp ?? START).toISOString();
    yield { type: "message", id, parentId, timestamp, turnId: `t${Math.floor(index / 10)}`, message };
    parentId = id;
    index += 1;
  }
}
