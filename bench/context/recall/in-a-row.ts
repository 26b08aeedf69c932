/**
 * Questions in a row: each is a real turn of one session, assembled and settled as by a host, with a scripted model that copies its
 * answer from the request. Where evidence is missing it searches with the question's words, up to a number of times.
 */
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { createLosslessEngine } from "../../../packages/lossless/src/lossless-engine.ts";
import { recallPassages } from "../../../packages/lossless/src/recall/pages.ts";
import {
  openLosslessStore,
  type LosslessStore,
} from "../../../packages/lossless/src/store/lossless-store.ts";
import { isRecallBlock } from "../../../packages/contract/src/engine/recall-block.ts";
import { EngineDriver } from "../../../packages/replay/src/engine/engine-driver.ts";
import type { PromptBlocks } from "../../../packages/replay/src/context-policy.ts";
import { Blocks, textOfMessage, type Block } from "../../../packages/replay/src/prompt-blocks.ts";
import {
  entryId,
  type ModelCall,
  type RecordedSession,
} from "../../../packages/replay/src/recorded-session.ts";
import type { Question } from "./facts.ts";
import { shareOf } from "./measure.ts";

/** Tokens of system prompt and tools of an agent that people talk with. */
const TALK_STATIC = 4_000;
/** Prices relative to a token of input that is neither read from a cache nor written to it. */
const READ = 0.1;
const WRITE = 1.25;
/** Tokens of one answer of the recall tool. */
const ANSWER_TOKENS = 2_000;
const MINUTE_MS = 60_000;

export interface InARow {
  window: number;
  /** Most searches for a question. */
  searches: number;
  /** The engine's configuration. */
  config: Record<string, unknown>;
  /** Sentences of the user that must be in sight. */
  rules: readonly string[];
  /** Questions about what was never mentioned. */
  others: readonly string[];
}

export interface Answered {
  question: Question;
  /** Share of the evidence in the first request of the turn, and in the last one. */
  first: number;
  last: number;
  /** Tokens of the first request beside the static prefix. */
  tokens: number;
  /** Token equivalents of all requests of the turn. */
  cost: number;
  searches: number;
  /** Share of the rules in the first request. */
  rules: number;
}

export interface Row {
  answers: Answered[];
  /** Share of the other questions that get a block. */
  falseBlocks: number;
  compactions: number;
}

function textOf({ messages, addition = "" }: PromptBlocks): string {
  return `${addition}\n${messages.map(textOfMessage).join("\n")}`;
}

/** What requests cost where a provider keeps the beginning of the one before. */
class Prices {
  readonly #blocks = new Blocks(1);
  #last: readonly Block[] = [];

  /** Token equivalents of a request, and its tokens beside the static prefix. */
  of({ messages, addition }: PromptBlocks): { cost: number; tokens: number } {
    const blocks = messages.flatMap((message) => this.#blocks.of(message));
    if (addition) blocks.unshift(this.#blocks.text(addition));
    const same = blocks.findIndex(({ id }, at) => this.#last[at]?.id !== id);
    const sum = (some: readonly Block[]): number => some.reduce((all, { tokens }) => all + tokens, 0);
    const prefix = sum(same < 0 ? blocks : blocks.slice(0, same));
    const tokens = sum(blocks);
    this.#last = blocks;
    return { cost: READ * (TALK_STATIC + prefix) + WRITE * (tokens - prefix), tokens };
  }
}

/** A session that grows by what is asked. */
class Talk {
  readonly messages: AgentMessage[];
  readonly calls: ModelCall[] = [];
  readonly session: RecordedSession;
  #turns = 0;
  #time: number;

  constructor(history: readonly AgentMessage[]) {
    this.messages = history.map((message, index) => ({ ...message, entryId: entryId(index) }));
    this.#time = (history.at(-1)?.timestamp ?? 0) + 60 * MINUTE_MS;
    this.session = { name: "questions in a row", messages: this.messages, calls: this.calls, factor: 1 };
  }

  add(message: AgentMessage): void {
    this.#time += MINUTE_MS / 4;
    this.messages.push({ ...message, entryId: entryId(this.messages.length), timestamp: this.#time });
  }

  /** The call after the input of another turn, or of the same one. */
  call(input?: string): ModelCall {
    if (input !== undefined) {
      this.add({ role: "user", content: input });
      this.#turns += 1;
    }
    const liveStart = input === undefined ? (this.calls.at(-1)?.liveStart ?? 0) : this.messages.length - 1;
    const index = this.calls.length;
    const call = { index, turnId: `t${this.#turns}`, end: this.messages.length, liveStart, at: this.#time };
    this.calls.push(call);
    return call;
  }

  answer(text: string): void {
    this.add({ role: "assistant", content: [{ type: "text", text }], stopReason: "stop" });
  }

  searched(query: string, page: number, found: string): void {
    const id = `search${this.calls.length}`;
    const call = { type: "toolCall", id, name: "context_search", arguments: { query, page } } as const;
    this.add({ role: "assistant", content: [call], stopReason: "toolUse" });
    const content = [{ type: "text" as const, text: found }];
    this.add({
      role: "toolResult",
      toolCallId: id,
      toolName: "context_search",
      content,
      isError: false,
    });
  }
}

async function pageOf(store: LosslessStore, query: string, page: number): Promise<string> {
  const own = { sessions: ["replay"], asking: "replay" };
  const { passages } = await recallPassages(store, { query, ...own, budgetTokens: ANSWER_TOKENS, page });
  return passages.map(({ text }) => text).join("\n");
}

/** The evidence as far as it is in a request, as a model would copy it. */
function copied(gold: readonly string[], request: string): string {
  const seen = gold.filter((text) => request.includes(text)).map((text) => text.slice(0, 200));
  return seen.length === 0 ? "I do not find that in what I have." : `You have this: ${seen.join(" … ")}`;
}

/** Asks the questions in a session with this history, after a greeting that fills the cache. */
export async function askInARow(
  history: readonly AgentMessage[],
  questions: readonly Question[],
  asked: InARow,
): Promise<Row> {
  const { window, searches, rules } = asked;
  const talk = new Talk(history);
  const prices = new Prices();
  const greeting = talk.call("Good morning!");
  const config = { plugins: { entries: { lossless: { config: asked.config } } } };
  const options = { window, config, staticTokens: TALK_STATIC };
  const driver = await EngineDriver.open(createLosslessEngine, options, talk.session);
  const store = openLosslessStore(driver.dir);
  try {
    prices.of(await driver.assemble(greeting));
    talk.answer("Good morning.");
    await driver.settle(greeting);
    const answers: Answered[] = [];
    for (const question of questions) {
      let call = talk.call(question.text);
      let request = await driver.assemble(call);
      const { tokens, cost: price } = prices.of(request);
      const share = (): number => shareOf(question.gold, textOf(request));
      const first = share();
      const inSight = shareOf(rules, textOf(request));
      let cost = price;
      let count = 0;
      for (; count < searches && share() < 1; count += 1) {
        talk.searched(question.text, count, await pageOf(store, question.text, count));
        const next = talk.call();
        await driver.settle(call);
        call = next;
        request = await driver.assemble(call);
        cost += prices.of(request).cost;
      }
      talk.answer(copied(question.gold, textOf(request)));
      await driver.settle(call);
      answers.push({ question, first, last: share(), tokens, cost, searches: count, rules: inSight });
    }
    const blocks = await blocksFor(driver, asked.others);
    return { answers, falseBlocks: blocks, compactions: driver.compactions };
  } finally {
    await store.close();
    await driver.close();
  }
}

/** Share of the inputs that bring a block of their own: one of an earlier turn is before that turn's input. */
async function blocksFor(driver: EngineDriver, inputs: readonly string[]): Promise<number> {
  let brought = 0;
  for (const input of inputs) {
    const last = (await driver.preview(input)).at(-1);
    if (last && isRecallBlock(textOfMessage(last))) brought += 1;
  }
  return brought / Math.max(1, inputs.length);
}
