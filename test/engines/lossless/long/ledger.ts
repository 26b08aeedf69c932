/**
 * The model's side of a long run. It has the full conversation, so it checks that each request is a summary and the
 * newest messages, complete and in order; and it counts tokens with a tokenizer, not with the host's estimate.
 */
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import type { RecordedRequest, ReplyStep } from "../../../servers/script.ts";
import { readBody, type WireBody } from "../../../turn/wire-bodies.ts";
import { pairProblem } from "../proof/harbour.ts";
import {
  ORDER_CODE,
  answerOf,
  berthCode,
  callsOf,
  inputOf,
  planOf,
  resultOf,
  summaryOf,
  type Shape,
} from "./talk.ts";

export interface LedgerOptions {
  shape: Shape;
  window: number;
  /** The provider's tokens for each token of `o200k_base`. */
  bias: number;
  /** Number of the first turn. */
  from?: number;
}

interface Item {
  role: "user" | "assistant" | "tool";
  words: string;
}

/** Content of a request, without its system prompt. */
interface Content {
  head: string | undefined;
  /** The input of a split turn, before the head. */
  splitInput: string | undefined;
  items: Item[];
}

/** Passages that were added for an input; they are no part of the conversation. */
const RECALLED = /<recalled_passages>\n[\s\S]*?\n<\/recalled_passages>\n*/g;
const SUMMARY = /<conversation_summary>\n([\s\S]*?)\n<\/conversation_summary>/;
/** Replacement of a result that a later one has made obsolete. */
const STUB = /^\[Left out: .* The whole result is entry \w+\.\]$/;
const FRAME_TOKENS = 4;
const MOST_PROBLEMS = 20;
/** Number of newest removed inputs whose exact strings a new head has to contain. */
const ASKS_KEPT = 3;

export class Ledger {
  readonly problems: string[] = [];
  requests = 0;
  summaryRequests = 0;
  /** Epochs that the model saw, and those that cut a live turn. */
  epochs = 0;
  splits = 0;
  stubs = 0;
  /** Largest count of a request. */
  largest = 0;
  /** Tokens of the conversation so far. */
  tokens = 0;
  readonly #options: LedgerOptions;
  readonly #log: Item[] = [];
  readonly #inputAt = new Map<string, number>();
  /** Cached tokens of texts, which are read many times. */
  readonly #counted = new Map<string, number>();
  #turn: number;
  #round = 0;
  #open: Item[] = [];
  #head: string | undefined;
  #from = 0;
  #before: string[] = [];
  #fixed: string | undefined;

  constructor(options: LedgerOptions) {
    this.#options = options;
    this.#turn = (options.from ?? 1) - 1;
  }

  get turn(): number {
    return this.#turn;
  }

  reply(request: RecordedRequest): ReplyStep {
    const body = readBody("openai-completions", request);
    return body.tools.length === 0 ? this.#summarize(body) : this.#answer(body, request);
  }

  #summarize(body: WireBody): ReplyStep {
    const asked = body.messages.map(({ text }) => text).join("\n");
    const input = this.#size([body.system, asked]);
    const text = summaryOf(asked, this.summaryRequests);
    this.summaryRequests += 1;
    return { text, chunkSize: 10_000, usage: { input, output: this.#count(text) } };
  }

  #answer(body: WireBody, request: RecordedRequest): ReplyStep {
    const { shape } = this.#options;
    const content = this.#read(body);
    const fixed = `${body.system}\n${JSON.stringify(request.body["tools"])}`;
    this.requests += 1;
    this.#take();
    this.#check(content, body);
    const input = this.#size([
      fixed,
      content.head ?? "",
      content.splitInput ?? "",
      ...content.items.map(({ words }) => words),
    ]);
    this.#checkFixed(body.system, fixed, content.head);
    const { rounds } = planOf(shape, this.#turn);
    if (this.#round < rounds) {
      const toolCalls = callsOf(shape, this.#turn, this.#round);
      this.#round += 1;
      const words = toolCalls.map((call) => JSON.stringify([call.name, call.arguments])).join("");
      this.#push({ role: "assistant", words });
      this.#open = toolCalls.map((call) => ({
        role: "tool",
        words: resultOf(shape, call.name, call.arguments),
      }));
      return { toolCalls, chunkSize: 10_000, usage: { input, output: this.#count(words) } };
    }
    const text = answerOf(shape, this.#turn);
    this.#push({ role: "assistant", words: text });
    return { text, chunkSize: 10_000, usage: { input, output: this.#count(text) } };
  }

  #push(item: Item): void {
    this.#log.push(item);
    this.tokens += this.#count(item.words);
  }

  /** Adds the messages expected since the last answer: the results of its calls, or the next input. */
  #take(): void {
    const results = this.#open;
    this.#open = [];
    for (const result of results) this.#push(result);
    if (results.length > 0) return;
    this.#turn += 1;
    this.#round = 0;
    const words = inputOf(this.#options.shape, this.#turn);
    this.#inputAt.set(words, this.#log.length);
    this.#push({ role: "user", words });
  }

  #read(body: WireBody): Content {
    const content: Content = { head: undefined, splitInput: undefined, items: [] };
    for (const { role, text, calls, results } of body.messages) {
      if (role === "tool") for (const result of results) content.items.push({ role, words: result.text });
      else if (role === "assistant") {
        const called = calls.map((call) => JSON.stringify([call.name, call.arguments])).join("");
        content.items.push({ role, words: text + called });
      } else this.#readUser(text, content);
    }
    return content;
  }

  /** Reads a user message; a protocol may join adjacent ones. */
  #readUser(whole: string, content: Content): void {
    const text = whole.replace(RECALLED, "");
    if (text === "") return;
    const found = SUMMARY.exec(text);
    if (!found) {
      content.items.push({ role: "user", words: text });
      return;
    }
    if (content.head !== undefined) this.#problem("two summaries in one request");
    const before = text.slice(0, found.index).trimEnd();
    const after = text.slice(found.index + found[0].length).trimStart();
    if (before !== "") content.items.push({ role: "user", words: before });
    if (content.items.length > 1) this.#problem("more than a turn's input is before the summary");
    content.splitInput = content.items.pop()?.words;
    content.head = found[1];
    if (after !== "") content.items.push({ role: "user", words: after });
  }

  #check(content: Content, body: WireBody): void {
    const { items, head, splitInput } = content;
    const from = this.#log.length - items.length;
    if (from < 0) this.#problem(`${-from} messages more than the conversation has`);
    let stubs = 0;
    const wrong = items.findIndex(({ role, words }, index) => {
      const expected = this.#log[from + index];
      if (role === "tool" && expected?.role === "tool" && STUB.test(words)) stubs += 1;
      else return expected?.role !== role || expected.words !== words;
      return false;
    });
    this.stubs = Math.max(this.stubs, stubs);
    if (wrong >= 0)
      this.#problem(
        `message ${wrong} of ${items.length} differs from the conversation: ${items[wrong]?.words.slice(0, 80)}`,
      );
    if (head === undefined && from !== 0)
      this.#problem(`${from} messages are missing and no summary covers them`);
    const pairs = pairProblem(body);
    if (pairs !== undefined) this.#problem(pairs);
    if (body.messages[0]?.role !== "user") this.#problem("the first message is not a user's");
    this.#checkInput(content, from);
    if (splitInput !== undefined) this.#checkSplit(splitInput, from);
    else if (this.#log[from]?.role !== "user")
      this.#problem("the context begins inside a turn without its input");
    this.#checkGrowth(content, from);
  }

  #checkInput({ items, splitInput }: Content, from: number): void {
    const input = inputOf(this.#options.shape, this.#turn);
    const times = items.filter(({ words }) => words === input).length + (splitInput === input ? 1 : 0);
    if (times !== 1) this.#problem(`the input is there ${times} times, from ${from}`);
  }

  #checkSplit(splitInput: string, from: number): void {
    const at = this.#inputAt.get(splitInput);
    if (at === undefined) this.#problem("the message before the summary is not an input");
    else if (at >= from) this.#problem("the input of a split turn is there twice");
    else if (this.#log.slice(at + 1, from + 1).some(({ role }) => role === "user"))
      this.#problem("the input before the summary is not that of the turn that was split");
    if (this.#log[from]?.role !== "assistant") this.#problem("a turn was split inside a round");
  }

  /** Within an epoch a request begins with all of the previous one; a new head comes with a later start. */
  #checkGrowth(content: Content, from: number): void {
    const bytes = [
      content.splitInput ?? "",
      content.head ?? "",
      ...content.items.map(({ role, words }) => `${role}: ${words}`),
    ];
    const { head } = content;
    if (head === this.#head) {
      if (from !== this.#from) this.#problem("the context begins elsewhere without a new summary");
      const changed = this.#before.findIndex((text, index) => bytes[index] !== text);
      if (changed >= 0)
        this.#problem(`message ${changed} changed within an epoch: ${bytes[changed]?.slice(0, 80)}`);
    } else {
      if (head === undefined) this.#problem("the summary is gone");
      else this.#checkHead(head, content, from);
      if (from < this.#from) this.#problem("a new summary covers fewer messages than the previous one");
      this.epochs += 1;
      if (content.splitInput !== undefined) this.splits += 1;
      this.#from = from;
      this.#head = head;
    }
    this.#before = bytes;
  }

  /** Checks that the permanent order and the newest requests are in every context, in the head or after it. */
  #checkHead(head: string, content: Content, from: number): void {
    const [first] = this.#log;
    const isKept = from === 0 || content.splitInput === first?.words;
    if (!isKept && first?.words.includes(ORDER_CODE) === true && !head.includes(ORDER_CODE))
      this.#problem("the permanent order is lost");
    const left = this.#log
      .slice(0, from)
      .filter(({ role, words }) => role === "user" && words !== content.splitInput);
    for (const { words } of left.slice(-ASKS_KEPT)) {
      const code = berthCode(Number(/^Turn (\d+)/.exec(words)?.[1]));
      if (!head.includes(code)) this.#problem(`the summary lacks ${code}, which a newest input has`);
    }
  }

  /** The engine adds its note to the system prompt with the first summary; nothing else ever changes. */
  #checkFixed(system: string, fixed: string, head: string | undefined): void {
    if (head !== undefined && this.epochs === 1 && this.#before.length > 0 && this.#fixed !== fixed)
      this.#fixed = undefined;
    this.#fixed ??= fixed;
    if (fixed !== this.#fixed) this.#problem(`system prompt or tools changed: ${system.slice(0, 80)}`);
  }

  #size(texts: readonly string[]): number {
    const { window, bias } = this.#options;
    const plain = texts.reduce((sum, text) => sum + (text === "" ? 0 : this.#count(text) + FRAME_TOKENS), 0);
    const tokens = Math.ceil(plain * bias);
    if (tokens > window) this.#problem(`${tokens} tokens in a window of ${window}`);
    this.largest = Math.max(this.largest, tokens);
    return tokens;
  }

  #count(text: string): number {
    let tokens = this.#counted.get(text);
    if (tokens === undefined) {
      tokens = countTokens(text);
      this.#counted.set(text, tokens);
    }
    return tokens;
  }

  #problem(what: string): void {
    if (this.problems.length < MOST_PROBLEMS)
      this.problems.push(`turn ${this.#turn}, round ${this.#round}, request ${this.requests}: ${what}`);
  }
}
