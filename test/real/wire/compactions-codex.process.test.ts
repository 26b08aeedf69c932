/**
 * Compactions of the user's own Codex under a wrap, forced by its settings: answered by an engine that owns none, and by the
 * model where that engine does not. What only a terminal can trigger is requested as the interactive program requests it
 * internally.
 */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { RecordedRequest, ReplyStep } from "../../servers/server.ts";
import { CompactionBench, type BenchOptions, type Codex } from "./compactions-bench.ts";
import { ENGINE_ID, summaryOf, type Answering } from "./compactions-engine.ts";
import {
  assertAllDropped,
  codexShows,
  isCodexCompaction,
  MODEL_SUMMARY,
  sessionLines,
  requestOf,
  withoutLeft,
} from "./compactions-words.ts";

const LIMIT = "model_auto_compact_token_limit = 5000";
const FULL = { input: 9_000, output: 10 };
const SMALL = { input: 900, output: 10 };
const HEAD = `user: <conversation_summary>\n${summaryOf(1)}\n</conversation_summary>`;

const call = (id: string, word: string) => ({
  id,
  name: "exec_command",
  arguments: { cmd: `echo ${word}` },
});

const LOOP = [
  "user: Second?",
  "assistant: I look.",
  "call exec_command call_a",
  "call exec_command call_b",
  "result call_a",
  "result call_b",
];
const AGAIN = ["assistant: I look again.", "call exec_command call_c", "result call_c"];
const CONVERSATION = [
  "user: First?",
  "assistant: Answer 1.",
  ...LOOP,
  ...AGAIN,
  "assistant: Answer 4.",
  "user: Third?",
  "assistant: Answer 5.",
];

describe("a compaction of Codex's under a wrap", { timeout: 240_000 }, () => {
  let bench: Codex;
  afterEach(() => bench.end());

  /** `step`: the answer to the nth request that is no compaction, from 1. */
  async function open(step: (nth: number) => ReplyStep, options: Partial<BenchOptions>): Promise<void> {
    let nth = 0;
    bench = await CompactionBench.codex({
      top: LIMIT,
      ...options,
      script: (request) => {
        if (isCodexCompaction(request)) return { text: MODEL_SUMMARY };
        nth += 1;
        return step(nth);
      },
    });
  }

  const full = (nth: number): ReplyStep => ({ text: `Answer ${nth}.`, usage: FULL });
  /** The second turn reads twice, and its first result fills the window. */
  const loop = (nth: number): ReplyStep => {
    if (nth === 2)
      return { text: "I look.", toolCalls: [call("call_a", "one"), call("call_b", "two")], usage: FULL };
    if (nth === 3) return { text: "I look again.", toolCalls: [call("call_c", "three")], usage: SMALL };
    return { text: `Answer ${nth}.`, usage: SMALL };
  };
  const say = async (...texts: string[]): Promise<void> => {
    for (const text of texts) assert.equal(await bench.ask(text), "completed");
  };
  const compactions = (): RecordedRequest[] => bench.requests.filter(isCodexCompaction);
  const mains = (): RecordedRequest[] => bench.requests.filter((request) => !isCodexCompaction(request));
  const last = (): string[] => codexShows(mains().at(-1));

  function assertOneConversation(): void {
    assert.equal(new Set(bench.requests.map(({ body }) => body["prompt_cache_key"])).size, 1, "one thread");
    for (const { body } of bench.requests)
      for (const { type } of body["input"] as { type: string }[])
        assert.ok(!/compaction/.test(type), "nothing sealed reaches the provider");
  }

  it("is answered by the engine between turns and for /compact: no model is called, and each message is seen", async () => {
    await open(full, { how: "handled" });
    await say("First?", "Second?");
    assert.equal(await bench.compact(), "completed");
    await say("Third?");
    const both = "user assistant user assistant";
    assert.deepEqual(bench.asked.map(requestOf), [
      ["threshold", "wire-codex", undefined, "user assistant"],
      ["manual", "wire-codex", undefined, both],
      ["threshold", "wire-codex", undefined, both],
    ]);
    for (const each of bench.asked) assertAllDropped(each);
    assert.equal(bench.requests.length, 3, "zero calls upstream");
    assert.deepEqual(compactions(), []);
    const shown = [
      "user: First?",
      "assistant: Answer 1.",
      "user: Second?",
      "assistant: Answer 2.",
      "user: Third?",
    ];
    assert.deepEqual(withoutLeft(last()), shown);
    assertOneConversation();
    const { notices: problems } = await bench.finish();
    assert.deepEqual(problems, []);
    const { messages, noted } = await bench.session();
    assert.deepEqual(sessionLines(messages), [...shown, "assistant: Answer 3."]);
    assert.deepEqual(noted, [
      ["threshold", ENGINE_ID],
      ["manual", ENGINE_ID],
      ["threshold", ENGINE_ID],
    ]);
  });

  it("is answered by the engine inside a tool loop, and the model sees what the engine keeps", async () => {
    await open(loop, { how: "handled" });
    await say("First?", "Second?", "Third?");
    assert.deepEqual(bench.asked.map(requestOf), [
      ["threshold", "wire-codex", undefined, "user assistant user assistant toolResult toolResult"],
    ]);
    bench.asked.forEach(assertAllDropped);
    assert.deepEqual(compactions(), []);
    assert.equal(bench.requests.length, 5, "zero calls upstream");
    assert.deepEqual(bench.completed, [["harness", "threshold", ENGINE_ID, "wire-codex"]]);
    const before = ["user: First?", "assistant: Answer 1.", ...LOOP];
    assert.deepEqual(withoutLeft(codexShows(mains()[2])), before);
    assert.deepEqual(withoutLeft(codexShows(mains()[3])), [...before, ...AGAIN]);
    assert.deepEqual(withoutLeft(last()), CONVERSATION.slice(0, -1));
    assertOneConversation();
    await bench.finish();
    const { messages, noted } = await bench.session();
    assert.deepEqual(sessionLines(messages), CONVERSATION);
    assert.deepEqual(noted, [["threshold", ENGINE_ID]]);
  });

  it("leaves the model with the engine's context, where that begins with the engine's summary", async () => {
    await open(loop, { how: "remembers" });
    await say("First?", "Second?", "Third?");
    assert.deepEqual(compactions(), []);
    const [, , inLoop, further, next] = mains().map((request) => withoutLeft(codexShows(request)));
    assert.deepEqual(inLoop, [HEAD, ...LOOP], "the live turn stays");
    assert.deepEqual(further, [HEAD, ...LOOP, ...AGAIN]);
    assert.deepEqual(next, [HEAD, ...AGAIN, "assistant: Answer 4.", "user: Third?"]);
    await bench.finish();
    assert.deepEqual(sessionLines((await bench.session()).messages), CONVERSATION);
  });

  const refusals: [string, Answering, RegExp | undefined][] = [
    ["does not handle it", "declines", undefined],
    ["throws", "throws", /the engine broke/],
    ["hangs", "hangs", /took longer than/],
  ];
  for (const [what, how, reason] of refusals)
    it(`is answered by the model where the engine ${what}, and the session continues`, async () => {
      await open((nth) => (nth === 5 ? full(nth) : loop(nth)), { how });
      await say("First?", "Second?", "Third?", "Fourth?");
      assert.equal(bench.asked.length, 2, "inside the loop, and between turns");
      assert.equal(compactions().length, 2, "exactly Codex's own");
      assert.equal(bench.requests.length, 8);
      const before = ["user: First?", "assistant: Answer 1.", ...LOOP];
      assert.deepEqual(withoutLeft(codexShows(mains()[2])), before);
      assert.deepEqual(withoutLeft(last()), [...CONVERSATION, "user: Fourth?"]);
      assertOneConversation();
      const { notices: problems } = await bench.finish();
      if (reason) assert.match(problems.join("\n"), reason);
      else assert.deepEqual(problems, []);
      const { messages } = await bench.session();
      assert.deepEqual(sessionLines(messages), [...CONVERSATION, "user: Fourth?", "assistant: Answer 6."]);
    });

  for (const how of ["handled", "declines"] as const)
    it(`is a text also where the provider calls itself OpenAI: ${how}`, async () => {
      await open(full, { how, provider: "OpenAI" });
      await say("First?", "Second?", "Third?");
      assert.equal(bench.asked.length, 2);
      assert.equal(compactions().length, how === "handled" ? 0 : 2);
      assertOneConversation();
      assert.deepEqual(withoutLeft(last()).at(-1), "user: Third?");
    });

  for (const top of [LIMIT, "model_context_window = 9000"])
    it(`is not made where the engine owns compaction, whatever the user's settings: ${top}`, async () => {
      await open(full, { top });
      await say("First?", "Second?", "Third?");
      assert.equal(bench.requests.length, 3);
      assert.deepEqual(compactions(), []);
      await bench.finish();
      const { messages, noted } = await bench.session();
      assert.equal(messages.length, 6);
      assert.deepEqual(noted, []);
    });
});
