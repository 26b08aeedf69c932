/**
 * Signed thinking at an endpoint that keeps the provider's rule: thinking is valid only after the messages that it was made after, and a tool
 * loop of a model without that rule has to keep its thinking. The program compacts its own history at times, and an
 * engine that governs it summarizes old messages or puts them back.
 */
import assert from "node:assert/strict";
import { request } from "node:http";
import { afterEach, describe, it } from "node:test";
import type { AgentMessage } from "../../src/contract/message.ts";
import type { Governed, Governor } from "../../src/gateway/governor/governor.ts";
import { byLength } from "../runner/short-form.ts";
import { random } from "../runner/seeded-random.ts";
import { Bench, user, type Answer } from "./exchange-bench.ts";

type Block = Record<string, unknown>;
interface Message {
  role: "user" | "assistant";
  content: Block[];
}
interface Body {
  model: string;
  system?: Block[];
  messages: Message[];
}

const STRICT = "claude-opus-5-5";
const LENIENT = "claude-opus-4-5";

function prefix({ system = [] }: Body, messages: readonly Message[]): string {
  return JSON.stringify([system, messages], (key, value: unknown) =>
    key === "cache_control" ? undefined : value,
  );
}

function thinkingOf({ content }: Message): Block | undefined {
  return content.find(({ type }) => type === "thinking");
}

/** Index of the running tool loop's first message. */
function loopOf(messages: readonly Message[]): number {
  return (
    messages.findLastIndex(
      ({ role, content }) => role === "user" && !content.some(({ type }) => type === "tool_result"),
    ) + 1
  );
}

/** The provider: signs its thinking, and notes each broken rule. */
class Endpoint {
  readonly broken: string[] = [];
  kept = 0;
  readonly #made = new Map<string, string>();
  #count = 0;

  /** `wantsCall`: the answer ends with a call. */
  answer(wantsCall: () => boolean): Answer {
    return (response, { body }) => {
      const asked = JSON.parse(body) as Body;
      this.#check(asked);
      const number = (this.#count += 1);
      const signature = `signature-${number}`;
      this.#made.set(signature, prefix(asked, asked.messages));
      const call = { type: "tool_use", id: `call-${number}`, name: "look", input: { at: number } };
      const isCall = wantsCall();
      const content = [
        { type: "thinking", thinking: `Thought ${number}.`, signature },
        { type: "text", text: `Words ${number}.` },
        ...(isCall ? [call] : []),
      ];
      response.writeHead(200, { "content-type": "application/json" });
      const usage = { input_tokens: 10, output_tokens: 5 };
      const stop = isCall ? "tool_use" : "end_turn";
      const message = { id: `m${number}`, type: "message", role: "assistant", model: asked.model };
      response.end(JSON.stringify({ ...message, content, stop_reason: stop, usage }));
    };
  }

  #check(asked: Body): void {
    const { messages, model } = asked;
    const loop = loopOf(messages);
    for (const [index, message] of messages.entries()) {
      if (message.role !== "assistant") continue;
      const thinking = thinkingOf(message);
      const isLoop = index >= loop;
      if (!thinking && isLoop && model === LENIENT) this.broken.push(`message ${index} lost its thinking`);
      if (!thinking || (isLoop && model === LENIENT)) continue;
      this.kept += 1;
      const made = this.#made.get(String(thinking["signature"]));
      if (made !== prefix(asked, messages.slice(0, index)))
        this.broken.push(`thinking of message ${index} of ${messages.length} is after other messages`);
    }
  }
}

/** An engine that keeps everything: it summarizes some of the old messages, or puts back those that a program has dropped. */
class Engine {
  readonly #next: () => number;
  readonly #known: AgentMessage[] = [];
  #summarized = 0;
  #addition = 0;

  constructor(next: () => number) {
    this.#next = next;
  }

  readonly main: Governor["main"] = (read): Promise<Governed | undefined> => {
    const all = read.items.flatMap(({ messages }) => messages);
    const live = read.items.slice(read.liveFrom).flatMap(({ messages }) => messages);
    const history = all.slice(0, all.length - live.length);
    for (const message of history)
      if (!this.#known.some((known) => JSON.stringify(known) === JSON.stringify(message)))
        this.#known.push(message);
    const dice = this.#next();
    if (dice < 0.15) this.#summarized = Math.floor(this.#known.length * this.#next());
    if (dice > 0.95) this.#addition += 1;
    if (dice > 0.15 && dice < 0.2) return Promise.resolve(undefined);
    const kept = wholePairs(this.#known.slice(this.#summarized));
    const head = this.#summarized > 0 ? [user(`Summary of ${this.#summarized}.`)] : [];
    const messages = [...head, ...kept, ...live];
    const addition = this.#addition === 0 ? {} : { systemPromptAddition: `Rules ${this.#addition}.` };
    return Promise.resolve({
      context: { messages, historyCount: head.length + kept.length, ...addition },
      isOriginal: () => true,
    });
  };
}

/** Without results whose call is gone. */
function wholePairs(messages: readonly AgentMessage[]): AgentMessage[] {
  const first = messages.findIndex(({ role }) => role === "user");
  return first < 0 ? [] : messages.slice(first);
}

interface Talk {
  ask(body: Body): Promise<Message>;
  next: () => number;
}

/** Asks over a connection of its own: a busy machine closes kept ones. */
function post({ baseUrl, headers }: Bench["address"], body: Body): Promise<Message> {
  return new Promise((resolve, reject) => {
    const asked = request(
      `${baseUrl}/messages`,
      { method: "POST", agent: false, headers: { "content-type": "application/json", ...headers } },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk)).once("error", reject);
        response.once("end", () => {
          const text = Buffer.concat(chunks).toString("utf8");
          if (response.statusCode !== 200) reject(new Error(`${response.statusCode}: ${text}`));
          else resolve({ role: "assistant", content: (JSON.parse(text) as { content: Block[] }).content });
        });
      },
    );
    asked.once("error", reject);
    asked.end(JSON.stringify(body));
  });
}

/** The program: turns with tool loops, and compactions of its own that keep its newest messages. */
async function converse({ ask, next }: Talk, model: string, turns: number): Promise<void> {
  const tools = [{ name: "look", description: "Looks.", input_schema: { type: "object" } }];
  const system = [{ type: "text", text: "You help." }];
  let messages: Message[] = [];
  for (let turn = 0; turn < turns; turn += 1) {
    messages.push({ role: "user", content: [{ type: "text", text: `Question ${turn}.` }] });
    for (;;) {
      const thinking = { type: "enabled", budget_tokens: 1_024 };
      const answer = await ask({ model, max_tokens: 4_000, thinking, system, tools, messages } as Body);
      messages.push(answer);
      const call = answer.content.find(({ type }) => type === "tool_use");
      if (!call) break;
      const result = { type: "tool_result", tool_use_id: call["id"], content: `Seen ${String(call["id"])}.` };
      messages.push({ role: "user", content: [result] });
    }
    if (next() < 0.2 && messages.length > 4) {
      const from = loopOf(messages) - 1;
      const summary = { type: "text", text: `What was until turn ${turn}.` };
      messages = [{ role: "user", content: [summary] }, ...messages.slice(from)];
    }
  }
}

describe("thinking under a program that the gateway governs", () => {
  let bench: Bench | undefined;
  afterEach(() => bench?.end());

  async function play(seed: number, model: string, main?: Governor["main"]): Promise<Endpoint> {
    const next = random(seed);
    const endpoint = new Endpoint();
    bench = new Bench("anthropic-messages");
    await bench.open(
      { main: main ?? new Engine(next).main },
      endpoint.answer(() => next() < 0.5),
    );
    const { address } = bench;
    await converse({ ask: (body) => post(address, body), next }, model, 8);
    await bench.end();
    bench = undefined;
    return endpoint;
  }

  it("is sent only after the messages that it was made after, and a running loop keeps it", async () => {
    let kept = 0;
    for (let seed = 1; seed <= byLength(100, 20, 6); seed += 1)
      for (const model of [STRICT, LENIENT]) {
        const endpoint = await play(seed, model);
        assert.deepEqual(endpoint.broken, [], `seed ${seed}, ${model}`);
        kept += endpoint.kept;
      }
    assert.ok(kept > 20, `${kept} answers kept their thinking`);
  });

  it("stays in every answer of a conversation that nothing changes", async () => {
    const main: Governor["main"] = async (read) => {
      const messages = read.items.flatMap((item) => item.messages);
      const live = read.items.slice(read.liveFrom).flatMap((item) => item.messages);
      const context = { messages, historyCount: messages.length - live.length };
      return { context, isOriginal: () => true };
    };
    bench = new Bench("anthropic-messages");
    const endpoint = new Endpoint();
    await bench.open(
      { main },
      endpoint.answer(() => false),
    );
    const messages: Message[] = [];
    for (let turn = 0; turn < 5; turn += 1) {
      messages.push({ role: "user", content: [{ type: "text", text: `Question ${turn}.` }] });
      const body = { model: STRICT, max_tokens: 4_000, thinking: { type: "adaptive" }, messages };
      messages.push(await post(bench.address, body as Body));
    }
    assert.deepEqual([endpoint.broken, endpoint.kept], [[], 1 + 2 + 3 + 4]);
  });
});
