/**
 * Signed thinking at an endpoint that keeps the provider's rule: thinking is valid only after the messages that it was made after, and a tool
 * loop of a model without that rule has to keep its thinking. The program compacts its own history at times, and an
 * engine that governs it summarizes old messages or puts them back.
 */
import assert from "node:assert/strict";
import { request } from "node:http";
import { afterEach, describe, it } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { AgentMessage } from "../../packages/contract/src/message.ts";
import type { Governed, Governor } from "../../packages/gateway/src/governor/governor.ts";
import {
  ThinkingBinds,
  withBoundThinking,
  type BoundRequest,
} from "../../packages/gateway/src/splice/bound-thinking.ts";
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

const SIGNED = '{"type":"thinking","thinking":"Hm.","signature":"s"}';
const CALL = '{"type":"tool_use","id":"c","name":"look","input":{}}';
const THOUGHT = `{"role":"assistant","content":[${SIGNED},${CALL}]}`;
const RESULTS = '{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"Seen."}]}';

const asked = (text: string): string => `{"role":"user","content":[{"type":"text","text":"${text}"}]}`;

const bodyOf = (...messages: string[]): Buffer => Buffer.from(`{"messages":[${messages.join(",")}]}`);

/** Dropped thinking of a second request, after `first` was answered with a thought. */
function droppedAfter(first: string, ...second: string[]): number | undefined {
  const binds = new ThinkingBinds();
  const send = (body: Buffer): BoundRequest | undefined =>
    withBoundThinking(body, { binds, own: body, addition: "", isStrict: true });
  binds.note("s", send(bodyOf(first))?.digest ?? assert.fail("no request"));
  return send(bodyOf(...second))?.dropped;
}

describe("the messages before a thought", () => {
  const mark = '"cache_control":{"type":"ephemeral"}';

  for (const [place, marked] of [
    ["first", `{${mark},"type":"text","text":"Hi."}`],
    ["in the middle", `{"type":"text",${mark},"text":"Hi."}`],
    ["last", `{"type":"text","text":"Hi.",${mark}}`],
    ["twice", `{${mark},${mark},"type":"text","text":"Hi."}`],
    ["as an object with objects", '{"cache_control":{"a":{"b":"}"}},"type":"text","text":"Hi."}'],
    ["as null", '{"cache_control":null,"type":"text","text":"Hi."}'],
  ] as const)
    it(`are the same with a cache mark ${place}`, () => {
      const plain = '{"type":"text","text":"Hi."}';
      const other = '{"type":"text","text":"More."}';
      const listOf = (...blocks: string[]): string => `{"content":[${blocks.join(",")}],"role":"user"}`;
      assert.equal(droppedAfter(listOf(plain, other), listOf(marked, other), THOUGHT), 0);
      assert.equal(droppedAfter(listOf(other, marked), listOf(other, plain), THOUGHT), 0);
      assert.equal(droppedAfter(listOf(other, marked), listOf(other, other), THOUGHT), 1);
    });

  const block = { type: "text", text: "Hi." };
  const value = { cache_control: { type: "ephemeral" } };
  for (const [style, written] of [
    ["spaces after names and commas", (json) => json.replaceAll(/[:,]/g, "$& ")],
    [
      "white space everywhere",
      (json) => json.replaceAll(/[:,{[]/g, "$&\r\n\t ").replaceAll(/[:,}\]]/g, " \t\r\n$&"),
    ],
    ["indented lines", (json) => JSON.stringify(JSON.parse(json) as unknown, undefined, 2)],
  ] satisfies [string, (json: string) => string][])
    it(`are the same with cache marks in a body with ${style}`, () => {
      const sent = (...content: object[]): string => written(JSON.stringify({ content, role: "user" }));
      for (const marked of [
        { ...block, ...value },
        { ...value, ...block },
        { type: "text", ...value, text: "Hi." },
      ])
        for (const content of [[marked], [marked, block], [block, marked]]) {
          assert.equal(droppedAfter(sent(...content), sent(...content.map(() => block)), THOUGHT), 0);
          assert.equal(droppedAfter(sent(...content.map(() => block)), sent(...content), THOUGHT), 0);
          assert.equal(droppedAfter(sent(...content, marked), sent(...content), THOUGHT), 1);
        }
    });

  it("may have more marks than a call has arguments", () => {
    const listOf = (one: string): string =>
      `{"role":"user","content":[${Array(200_000).fill(one).join(",")}]}`;
    const plain = listOf('{"type":"text","text":"Hi."}');
    assert.equal(droppedAfter(plain, listOf(`{${mark},"type":"text","text":"Hi."}`), THOUGHT), 0);
  });

  it("are the same whether a text is alone or in a list, with marks and in any order of names", () => {
    const alone = '{"role":"user","content":"Hi."}';
    for (const block of [
      '{"type":"text","text":"Hi."}',
      `{${mark},"text":"Hi.","type":"text"}`,
      `{ "type": "text", "text": "Hi.", ${mark} }`,
    ]) {
      assert.equal(droppedAfter(alone, `{"role":"user","content":[ ${block} ]}`, THOUGHT), 0, block);
      assert.equal(droppedAfter(`{"role":"user","content":[${block}]}`, alone, THOUGHT), 0, block);
    }
    const cited = '{"role":"user","content":[{"type":"text","text":"Hi.","citations":[]}]}';
    assert.equal(droppedAfter(alone, cited, THOUGHT), 1);
  });

  it("are others if a text that looks like a mark changes", () => {
    const quoted = (name: string): string => asked(`,\\"cache_control\\":{${name}}`);
    assert.equal(droppedAfter(quoted("one"), quoted("two"), THOUGHT), 1);
    assert.equal(droppedAfter(quoted("one"), quoted("one"), THOUGHT), 0);
  });

  it("may have a text of 17 million characters", () => {
    const long = asked("x".repeat(17_000_000));
    assert.equal(droppedAfter(long, long, THOUGHT), 0);
    assert.equal(droppedAfter(long, long.replace('"x', '"y'), THOUGHT), 1);
  });
});

describe("a running tool loop", () => {
  /** Whether a thought after other messages is dropped by the rule of models that need the thinking of a running loop. */
  function dropped(...messages: string[]): number | undefined {
    const binds = new ThinkingBinds();
    binds.note("s", "of other messages");
    const body = bodyOf(...messages);
    return withBoundThinking(body, { binds, own: body, addition: "", isStrict: false })?.dropped;
  }

  it("keeps its thinking if messages with words surround the results", () => {
    const steering = asked("Faster.");
    const reminder = '{"role":"system","content":"Be brief."}';
    assert.equal(dropped(asked("Look."), THOUGHT, RESULTS), 0);
    assert.equal(dropped(asked("Look."), THOUGHT, RESULTS, steering), 0);
    assert.equal(dropped(asked("Look."), THOUGHT, RESULTS, steering, steering), 0);
    assert.equal(dropped(asked("Look."), THOUGHT, RESULTS, reminder, steering), 0);
    const next = '{"role":"assistant","content":[{"type":"tool_use","id":"d","name":"look","input":{}}]}';
    assert.equal(dropped(asked("Look."), THOUGHT, RESULTS, steering, next, RESULTS), 0);
  });

  it("ends at the user's next turn without results", () => {
    const done = '{"role":"assistant","content":[{"type":"text","text":"Done."}]}';
    assert.equal(dropped(asked("Look."), THOUGHT, RESULTS, done, asked("Again.")), 1);
    assert.equal(dropped(asked("Look."), THOUGHT, RESULTS, done, asked("Again."), done, RESULTS), 1);
  });
});

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

it("long signatures are not kept in memory, and are found again", () => {
  const binds = new ThinkingBinds();
  // Shorter than the strings that the runtime keeps outside of its heap.
  const signature = (number: number): string =>
    Buffer.alloc(500_000, `signature ${number} `).toString("latin1");
  const heapUsed = (): number => {
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  const before = heapUsed();
  for (let number = 0; number < 128; number += 1) binds.note(signature(number), `digest ${number}`);
  const kept = heapUsed() - before;
  assert.ok(kept < 32e6, `${kept} bytes are kept`);
  assert.equal(binds.before(signature(7)), "digest 7");
});
