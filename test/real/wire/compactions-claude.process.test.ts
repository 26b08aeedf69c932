/**
 * Compactions of the user's own Claude Code under a wrap: by `/compact`, forced by a small window, and where the provider
 * refuses the context. Answered by an engine that owns none, and by the model where that engine does not.
 */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { RecordedRequest, ReplyStep } from "../../servers/server.ts";
import { CompactionBench, type BenchOptions, type Claude } from "./compactions-bench.ts";
import { ENGINE_ID, summaryOf, type Answering } from "./compactions-engine.ts";
import {
  assertAllDropped,
  claudeShows,
  isClaudeCompaction,
  MODEL_SUMMARY,
  sessionLines,
  requestOf,
  withoutLeft,
} from "./compactions-words.ts";

const WINDOW = { CLAUDE_CODE_AUTO_COMPACT_WINDOW: "100000" };
const FULL = { input: 99_000, output: 10 };
const SMALL = { input: 900, output: 10 };
const HEAD = `user: <conversation_summary>\n${summaryOf(1)}\n</conversation_summary>`;

const call = (id: string, word: string) => ({
  id,
  name: "Bash",
  arguments: { command: `echo ${word}`, description: word },
});
const turn = (question: string, nth: number): string[] => [`user: ${question}`, `assistant: Answer ${nth}.`];
const LOOP = [
  "user: Third?",
  "assistant: I look.",
  "call Bash toolu_a",
  "call Bash toolu_b",
  "result toolu_a",
  "result toolu_b",
];
const AGAIN = ["assistant: I look again.", "call Bash toolu_c", "result toolu_c"];
const CONVERSATION = [
  ...turn("First?", 1),
  ...turn("Second?", 2),
  ...LOOP,
  ...AGAIN,
  "assistant: Answer 5.",
  ...turn("Fourth?", 6),
];

describe("a compaction of Claude Code's under a wrap", { timeout: 240_000 }, () => {
  let bench: Claude;
  afterEach(() => bench.end());

  /** `step`: the answer to the nth request that is no compaction, from 1. */
  async function open(
    step: (nth: number, request: RecordedRequest) => ReplyStep,
    options: Partial<BenchOptions>,
  ): Promise<void> {
    let nth = 0;
    bench = await CompactionBench.claude({
      env: WINDOW,
      ...options,
      script: (request) => {
        if (isClaudeCompaction(request))
          return { text: `<analysis>It was short.</analysis>\n<summary>${MODEL_SUMMARY}</summary>` };
        nth += 1;
        return step(nth, request);
      },
    });
  }

  const small = (nth: number): ReplyStep => ({ text: `Answer ${nth}.`, usage: SMALL });
  /** The third turn reads twice, and its second result fills the window: Claude Code keeps only that one. */
  const loop = (nth: number): ReplyStep => {
    if (nth === 3)
      return { text: "I look.", toolCalls: [call("toolu_a", "one"), call("toolu_b", "two")], usage: SMALL };
    if (nth === 4) return { text: "I look again.", toolCalls: [call("toolu_c", "three")], usage: FULL };
    return small(nth);
  };
  const say = async (...texts: string[]): Promise<void> => {
    for (const text of texts) assert.match(String(await bench.ask(text)), /^Answer \d\.$/);
  };
  const compactions = (): RecordedRequest[] => bench.requests.filter(isClaudeCompaction);
  const mains = (): RecordedRequest[] => bench.requests.filter((request) => !isClaudeCompaction(request));
  const shown = (index: number): string[] => withoutLeft(claudeShows(mains().at(index)));

  it("is answered by the engine where the user requests it, with the user's focus", async () => {
    await open(small, { how: "handled" });
    await say("First?", "Second?");
    await bench.ask("/compact keep the birds\n\nin view");
    await say("Third?");
    await bench.ask("/compact");
    await say("Fourth?");
    const two = "user assistant user assistant";
    const [first, second] = bench.asked.map(requestOf);
    assert.deepEqual(first, ["manual", "wire-claude", "keep the birds\n\nin view", two]);
    // Without a user's focus it cannot be distinguished from Claude Code's own.
    assert.deepEqual(second, ["threshold", "wire-claude", undefined, `${two} user assistant`]);
    assert.equal(bench.asked.length, 2);
    bench.asked.forEach(assertAllDropped);
    assert.deepEqual(bench.boundaries, ["manual", "manual"]);
    assert.deepEqual(compactions(), []);
    assert.equal(bench.requests.length, 4, "zero calls upstream");
    const whole = [...turn("First?", 1), ...turn("Second?", 2), ...turn("Third?", 3), ...turn("Fourth?", 4)];
    assert.deepEqual(shown(-1), whole.slice(0, -1));
    assert.deepEqual((await bench.finish()).notices, []);
    const { messages, noted } = await bench.session();
    assert.deepEqual(sessionLines(messages), whole);
    assert.deepEqual(
      noted.map((each) => (each as unknown[])[1]),
      [ENGINE_ID, ENGINE_ID],
    );
  });

  it("is answered by the engine between turns where the window is full", async () => {
    await open((nth) => (nth === 3 ? { text: "Answer 3.", usage: FULL } : small(nth)), { how: "handled" });
    await say("First?", "Second?", "Third?", "Fourth?");
    assert.deepEqual(bench.boundaries, ["auto"]);
    assert.deepEqual(bench.asked.map(requestOf), [
      ["threshold", "wire-claude", undefined, "user assistant user assistant user assistant"],
    ]);
    bench.asked.forEach(assertAllDropped);
    assert.equal(bench.requests.length, 4, "zero calls upstream");
    const whole = [...turn("First?", 1), ...turn("Second?", 2), ...turn("Third?", 3), ...turn("Fourth?", 4)];
    assert.deepEqual(shown(-1), whole.slice(0, -1));
    await bench.finish();
    const { messages, noted } = await bench.session();
    assert.deepEqual(sessionLines(messages), whole);
    assert.deepEqual(noted, [["threshold", ENGINE_ID]]);
  });

  it("is answered by the engine inside a tool loop, and the model sees what the engine keeps", async () => {
    await open(loop, { how: "handled" });
    await say("First?", "Second?", "Third?", "Fourth?");
    assert.deepEqual(bench.boundaries, ["auto"]);
    assert.deepEqual(bench.asked.map(requestOf), [
      [
        "threshold",
        "wire-claude",
        undefined,
        "user assistant user assistant user assistant toolResult toolResult",
      ],
    ]);
    assert.deepEqual(compactions(), []);
    assert.equal(bench.requests.length, 6, "zero calls upstream");
    assert.deepEqual(bench.completed, [["harness", "threshold", ENGINE_ID, "wire-claude"]]);
    const before = [...turn("First?", 1), ...turn("Second?", 2), ...LOOP];
    assert.deepEqual(shown(3), before);
    assert.deepEqual(shown(4), [...before, ...AGAIN]);
    assert.deepEqual(shown(5), CONVERSATION.slice(0, -1));
    await bench.finish();
    const { messages, noted } = await bench.session();
    const kept = messages.find(({ entryId }) => entryId === bench.asked[0]?.firstKeptEntryId);
    assert.deepEqual(sessionLines(kept ? [kept] : []), AGAIN.slice(0, 2), "what Claude Code continues from");
    assert.deepEqual(sessionLines(messages), CONVERSATION);
    assert.deepEqual(noted, [["threshold", ENGINE_ID]]);
  });

  it("leaves the model with the engine's context, where that begins with the engine's summary", async () => {
    await open(loop, { how: "remembers" });
    await say("First?", "Second?", "Third?", "Fourth?");
    assert.deepEqual(compactions(), []);
    assert.deepEqual(shown(4), [HEAD, ...LOOP, ...AGAIN], "the live turn stays");
    assert.deepEqual(shown(5), [HEAD, ...AGAIN, "assistant: Answer 5.", "user: Fourth?"]);
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
      await open(loop, { how });
      await say("First?", "Second?", "Third?");
      await bench.ask("/compact the words");
      await say("Fourth?");
      assert.equal(bench.asked.length, 2, "inside the loop, and for the user");
      assert.deepEqual(bench.boundaries, ["auto", "manual"]);
      assert.equal(compactions().length, 2, "exactly Claude Code's own");
      assert.equal(bench.requests.length, 8);
      assert.deepEqual(shown(4), [...turn("First?", 1), ...turn("Second?", 2), ...LOOP, ...AGAIN]);
      assert.deepEqual(shown(5), CONVERSATION.slice(0, -1));
      const { notices: problems } = await bench.finish();
      if (reason) assert.match(problems.join("\n"), reason);
      else assert.deepEqual(problems, []);
      assert.deepEqual(sessionLines((await bench.session()).messages), CONVERSATION);
    });

  const refused: ReplyStep = {
    status: 400,
    errorBody: {
      type: "error",
      error: { type: "invalid_request_error", message: "prompt is too long: 210000 tokens > 200000 maximum" },
    },
  };
  for (const how of ["remembers", "declines"] as const)
    it(`is made where the provider refuses the context and the engine cannot reduce it: ${how}`, async () => {
      await open((nth) => (nth === 3 ? refused : small(nth)), { how, env: {} });
      await say("First?", "Second?", "Third?", "Fourth?");
      assert.equal(bench.asked.length, 1);
      assert.equal(compactions().length, how === "declines" ? 1 : 0);
      assert.equal(mains().length, 5);
      const before = how === "remembers" ? [HEAD] : [...turn("First?", 1), ...turn("Second?", 2)];
      assert.deepEqual(shown(3), [...before, "user: Third?"]);
      const whole = [
        ...turn("First?", 1),
        ...turn("Second?", 2),
        ...turn("Third?", 4),
        ...turn("Fourth?", 5),
      ];
      await bench.finish();
      assert.deepEqual(sessionLines((await bench.session()).messages), whole);
    });

  const LONG = "The keeper of the quay wrote down which ships had come. ".repeat(150);
  /** The engine's own model is called for its summaries. */
  const isOfEngine = ({ text }: RecordedRequest): boolean => text.includes("<transcript>");
  const long =
    (usage?: ReplyStep["usage"]) =>
    (nth: number, request: RecordedRequest): ReplyStep =>
      isOfEngine(request)
        ? { text: "## Goal\n- The quay is looked after." }
        : { text: `Answer ${nth}. ${LONG}`, ...(usage ? { usage } : {}) };

  it("is made in the session by an engine that owns compaction, where the user requests it", async () => {
    await open(long(SMALL), { lossless: { trigger: 150_000 }, env: {} });
    for (const text of ["First?", "Second?", "Third?"]) await bench.ask(`${text} ${LONG}`);
    await bench.ask("/compact mind the gulls");
    await bench.ask("Fourth?");
    assert.deepEqual(bench.boundaries, ["manual"]);
    assert.deepEqual(compactions(), [], "Claude Code asks no model");
    const summaries = bench.requests.filter(isOfEngine);
    assert.ok(summaries.length > 0 && summaries.every(({ text }) => text.includes("mind the gulls")));
    const [head = "", ...rest] = withoutLeft(claudeShows(bench.requests.at(-1)));
    assert.match(head, /^user: <conversation_summary>[^]*First\?/);
    assert.ok(!rest.some((line) => line.startsWith("user: First?")), "the oldest is in the summary");
    assert.equal(rest.at(-1), "user: Fourth?");
    await bench.finish();
    const { messages } = await bench.session();
    assert.deepEqual(
      messages.map(({ role }) => role),
      ["user", "assistant", "user", "assistant", "user", "assistant", "user", "assistant"],
    );
    const epochs = await bench.epochs();
    assert.equal(epochs.length, 2, epochs.join());
  });

  it("is made where the context fills the window, and not where an engine that owns compaction keeps it small", async () => {
    const boundaries: number[] = [];
    for (const more of [{ how: "handled" as const }, { lossless: { trigger: 20_000 } }]) {
      await open(long(), more);
      for (let at = 0; at < 16; at += 1) await bench.ask(`Question ${at}? ${LONG}`);
      boundaries.push(bench.boundaries.length);
      assert.deepEqual(compactions(), []);
      await bench.finish();
      assert.equal((await bench.session()).messages.length, 32);
      if ("how" in more) await bench.end();
    }
    assert.ok((boundaries[0] ?? 0) > 0);
    assert.equal(boundaries[1], 0);
    assert.ok(
      bench.completed.some((each) => (each as unknown[])[2] === "lossless"),
      "the engine has compacted",
    );
  });
});
