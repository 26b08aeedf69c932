/**
 * The model's side of a long run. It records all messages, so it checks that each request is exactly the newest part of them, after a
 * summary if there is one; and it counts tokens with a tokenizer of its own, not with the host's estimate.
 */
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { readBody, type WireBody, type WireMessage } from "../wire-bodies.ts";
import type { Protocol, RecordedRequest, ReplyStep } from "../../servers/script.ts";
import {
  ORDER_CODE,
  TOOL,
  answerOf,
  berthCode,
  callsOf,
  inputOf,
  notesText,
  planOf,
  resultOf,
  summaryOf,
  type Shape,
} from "./words.ts";

export interface ConversationOptions {
  protocol: Protocol;
  shape: Shape;
  window: number;
  /** Tokens that the provider counts per token of `o200k_base`. */
  bias: number;
  /** An engine that intercepts writes summaries too; else each is the scripted model's. */
  intercepts: boolean;
}

/** Messages of a request, after its system prompt. */
interface RequestContent {
  summary: string | undefined;
  /** The input of a split turn, if it comes before the summary. */
  splitInput: string | undefined;
  items: Item[];
}

interface Item {
  role: WireMessage["role"];
  /** Its whole text, as one string. */
  words: string;
}

export interface CutSeen {
  turn: number;
  /** Number of the turn's own requests before it. */
  request: number;
  /** Items of the conversation in the context before it and after it. */
  before: number;
  after: number;
  /** The cut is inside a turn, whose input comes before the summary. */
  split: boolean;
}

const SUMMARY = /<conversation_summary>\n([\s\S]*?)\n<\/conversation_summary>/;
/** Providers charge for the frame of each message. */
const FRAME_TOKENS = 4;
const MOST_PROBLEMS = 20;
/** Number of newest inputs covered by a summary whose exact strings it has to contain (`identifierPolicy: "strict"`). */
const ASKS_KEPT = 3;

export class Conversation {
  /** Problems of the requests, as text; empty in the end. */
  readonly problems: string[] = [];
  readonly cuts: CutSeen[] = [];
  requests = 0;
  summaryRequests = 0;
  /** Largest count of a request, and of a request plus its maximum output. */
  largest = 0;
  largestWithAnswer = 0;
  /** Sum of all counts. */
  counted = 0;
  readonly #options: ConversationOptions;
  /** All messages, oldest first, and the position of each input. */
  readonly #log: Item[] = [];
  readonly #inputAt = new Map<string, number>();
  #turn = 0;
  #round = 0;
  #openCalls: { id: string; words: string }[] = [];
  /** Start of the newest request in the log, and its summary. */
  #from = 0;
  #summary: string | undefined;
  /** The scripted model's newest summary, until another one replaces it. */
  #written: string | undefined;
  #fixed: string | undefined;
  #tokens = new Map<string, number>();

  constructor(options: ConversationOptions) {
    this.#options = options;
  }

  get turn(): number {
    return this.#turn;
  }

  get totalTokens(): number {
    return this.#log.reduce((sum, item) => sum + this.#count(item.words), 0);
  }

  reply(request: RecordedRequest): ReplyStep {
    const body = readBody(this.#options.protocol, request);
    return body.tools.length === 0 ? this.#summarize(body, request) : this.#answer(body, request);
  }

  #summarize(body: WireBody, request: RecordedRequest): ReplyStep {
    const asked = body.messages.map((message) => message.text).join("\n");
    const before = this.#written ?? this.#summary;
    if (before !== undefined && !asked.includes(before)) {
      this.#problem("the summarizer was not shown the summary before");
    }
    const input = this.#size(request, [body.system, asked]);
    const text = summaryOf(asked, this.summaryRequests);
    this.summaryRequests += 1;
    this.#written = text;
    return { text, chunkSize: 10_000, usage: { input, output: this.#count(text) } };
  }

  #answer(body: WireBody, request: RecordedRequest): ReplyStep {
    const { shape } = this.#options;
    const content = this.#read(body);
    this.requests += 1;
    this.#take(content);
    this.#check(content, body, request);
    const tools = this.#tools(request);
    const input = this.#size(request, [
      body.system,
      tools,
      content.summary ?? "",
      content.splitInput ?? "",
      ...content.items.map((item) => item.words),
    ]);
    const { rounds } = planOf(shape, this.#turn);
    if (this.#round < rounds) {
      const toolCalls = callsOf(shape, this.#turn, this.#round);
      this.#round += 1;
      const words = toolCalls.map((call) => JSON.stringify([call.name, call.arguments])).join("");
      this.#log.push({ role: "assistant", words });
      this.#openCalls = toolCalls.map((call) => ({ id: call.id, words: this.#resultWords(call) }));
      return { toolCalls, chunkSize: 10_000, usage: { input, output: this.#count(words) } };
    }
    const text = answerOf(shape, this.#turn);
    this.#log.push({ role: "assistant", words: text });
    return { text, chunkSize: 10_000, usage: { input, output: this.#count(text) } };
  }

  #resultWords(call: { name: string; arguments: Record<string, unknown> }): string {
    if (call.name === TOOL) return resultOf(this.#options.shape, String(call.arguments["key"]));
    return notesText(Number(/\d+/.exec(String(call.arguments["path"]))?.[0]));
  }

  /** Messages that the host must have added since the last answer: the results of its calls, or the next input. */
  #take(content: RequestContent): void {
    const { shape } = this.#options;
    const open = this.#openCalls;
    this.#openCalls = [];
    if (open.length === 0) {
      this.#turn += 1;
      this.#round = 0;
      const words = inputOf(shape, this.#turn);
      this.#inputAt.set(words, this.#log.length);
      this.#log.push({ role: "user", words });
      return;
    }
    for (const [index, call] of open.entries()) {
      const sent = content.items.at(index - open.length);
      // The host's own tool may format a file's content; its words have to be there, once.
      const own = sent?.role === "tool" && call.words.split("\n").every((line) => sent.words.includes(line));
      this.#log.push({ role: "tool", words: own ? sent.words : call.words });
    }
  }

  /** Summary and split input apart from the rest; in a protocol that joins user messages they are in one. */
  #read(body: WireBody): RequestContent {
    const content: RequestContent = { summary: undefined, splitInput: undefined, items: [] };
    for (const message of body.messages) {
      if (message.role === "user") this.#readUser(message.text, content);
      else if (message.role === "assistant") {
        const calls = message.calls.map((call) => JSON.stringify([call.name, call.arguments])).join("");
        content.items.push({ role: "assistant", words: message.text + calls });
      } else {
        for (const { text } of message.results)
          content.items.push({ role: "tool", words: this.#resultText(text) });
      }
    }
    return content;
  }

  #readUser(text: string, content: RequestContent): void {
    const found = SUMMARY.exec(text);
    if (!found) {
      content.items.push({ role: "user", words: text });
      return;
    }
    if (content.summary !== undefined) this.#problem("two summaries in one request");
    const before = text.slice(0, found.index).trimEnd();
    const after = text.slice(found.index + found[0].length).trimStart();
    if (before !== "") content.items.push({ role: "user", words: before });
    if (content.items.length > 1) this.#problem("more than a turn's input stands before the summary");
    content.splitInput = content.items.pop()?.words;
    content.summary = found[1];
    if (after !== "") content.items.push({ role: "user", words: after });
  }

  #resultText(text: string): string {
    if (this.#options.protocol !== "google") return text;
    const response = JSON.parse(text) as { content?: unknown };
    const { content } = response;
    return typeof content === "string" ? content : text;
  }

  #check(content: RequestContent, body: WireBody, request: RecordedRequest): void {
    const { items, summary, splitInput } = content;
    const from = this.#log.length - items.length;
    const wrong = items.findIndex((item, index) => {
      const expected = this.#log[from + index];
      return expected?.role !== item.role || expected.words !== item.words;
    });
    if (from < 0) this.#problem(`${-from} messages more than were ever said`);
    else if (wrong >= 0) this.#problem(`message ${wrong} of ${items.length} is not what was said there`);
    if (summary === undefined && from !== 0)
      this.#problem(`${from} messages are missing and no summary stands for them`);
    this.#checkPairs(body);
    this.#checkInput(content, from);
    if (splitInput !== undefined) this.#checkSplit(splitInput, from);
    else if (this.#log[from]?.role !== "user")
      this.#problem("the context begins inside a turn without its input");
    this.#checkGrowth(content, from);
    const fixed = `${body.system}\n${this.#tools(request)}`;
    this.#fixed ??= fixed;
    if (fixed !== this.#fixed) this.#problem("system prompt or tools changed");
  }

  /** Each call is directly followed by its result, and no result is without a call. */
  #checkPairs(body: WireBody): void {
    let open: string[] = [];
    for (const message of body.messages) {
      for (const { id } of message.results) {
        const at = open.indexOf(id);
        if (at < 0) this.#problem(`the result ${id} has no call right before it`);
        open = open.filter((_, index) => index !== at);
      }
      if (message.role === "tool") continue;
      if (open.length > 0) this.#problem(`the calls ${open.join(", ")} have no result`);
      open = message.calls.map((call) => call.id);
    }
    if (open.length > 0) this.#problem(`the calls ${open.join(", ")} are open`);
    if (body.messages[0]?.role !== "user") this.#problem("the first message is not a user's");
  }

  #checkInput(content: RequestContent, from: number): void {
    const input = inputOf(this.#options.shape, this.#turn);
    const times =
      content.items.filter((item) => item.words === input).length + (content.splitInput === input ? 1 : 0);
    if (times !== 1) this.#problem(`the input is there ${times} times`);
    const at = this.#inputAt.get(input) ?? 0;
    if (at < from && content.splitInput !== input) this.#problem("the input was cut");
  }

  #checkSplit(splitInput: string, from: number): void {
    const at = this.#inputAt.get(splitInput);
    if (at === undefined) this.#problem("what stands before the summary is no input");
    else if (at >= from) this.#problem("the input of a split turn is there twice");
    else if (this.#log.slice(at + 1, from + 1).some((item) => item.role === "user")) {
      this.#problem("the input before the summary is not that of the turn that was split");
    }
    if (this.#log[from]?.role !== "assistant") this.#problem("a turn was split inside a round");
  }

  /** A context only grows at its end; a new summary comes with a later beginning, and the old one never again. */
  #checkGrowth(content: RequestContent, from: number): void {
    const { summary } = content;
    if (summary === this.#summary) {
      if (from !== this.#from) this.#problem("the context begins elsewhere without a new summary");
      return;
    }
    if (summary === undefined) this.#problem("the summary is gone");
    else this.#checkSummary(summary, content, from);
    if (from <= this.#from) this.#problem("a new summary stands for no message more than the one before");
    this.cuts.push({
      turn: this.#turn,
      request: this.#round,
      before: this.#log.length - this.#from,
      after: content.items.length,
      split: content.splitInput !== undefined,
    });
    this.#from = from;
    this.#summary = summary;
  }

  #checkSummary(summary: string, content: RequestContent, from: number): void {
    if (!summary.includes(ORDER_CODE)) this.#problem("the summary has lost the standing order");
    if (this.#written === undefined || !summary.includes(this.#written)) {
      this.#written = undefined;
      if (!this.#options.intercepts) this.#problem("the summary is not the model's");
      return;
    }
    // Of the inputs that this compaction summarized; older ones were summarized before.
    const summarized = this.#log
      .slice(this.#from, from)
      .filter((item) => item.role === "user" && item.words !== content.splitInput);
    for (const { words } of summarized.slice(-ASKS_KEPT)) {
      const code = berthCode(Number(/^Turn (\d+)/.exec(words)?.[1]));
      if (!summary.includes(code)) this.#problem(`the summary lacks ${code}, which a newest input holds`);
    }
  }

  #tools(request: RecordedRequest): string {
    return JSON.stringify(request.body["tools"]);
  }

  /** Tokens as this provider counts them; a count over the window is a problem. */
  #size(request: RecordedRequest, texts: readonly string[]): number {
    const { window, bias } = this.#options;
    const plain = texts.reduce((sum, text) => sum + (text === "" ? 0 : this.#count(text) + FRAME_TOKENS), 0);
    const tokens = Math.ceil(plain * bias);
    const withAnswer = tokens + mostOutput(request);
    if (withAnswer > window)
      this.#problem(`${tokens} tokens, ${withAnswer} with the answer, in a window of ${window}`);
    this.largest = Math.max(this.largest, tokens);
    this.largestWithAnswer = Math.max(this.largestWithAnswer, withAnswer);
    this.counted += tokens;
    return tokens;
  }

  #count(text: string): number {
    let tokens = this.#tokens.get(text);
    if (tokens === undefined) {
      tokens = countTokens(text);
      this.#tokens.set(text, tokens);
    }
    return tokens;
  }

  #problem(what: string): void {
    if (this.problems.length < MOST_PROBLEMS) {
      this.problems.push(`turn ${this.#turn}, round ${this.#round}, request ${this.requests}: ${what}`);
    }
  }
}

/** Maximum output of a request, in its protocol's field. */
function mostOutput({ body }: RecordedRequest): number {
  const google = body["generationConfig"] as Record<string, unknown> | undefined;
  for (const value of [
    body["max_tokens"],
    body["max_completion_tokens"],
    body["max_output_tokens"],
    google?.["maxOutputTokens"],
  ]) {
    if (typeof value === "number") return value;
  }
  return 0;
}
