import assert from "node:assert/strict";
import { test } from "node:test";
import { Meter, type Measured } from "../../../packages/replay/src/prompt-meter.ts";
import { STATIC_TOKENS, type PromptBlocks } from "../../../packages/replay/src/context-policy.ts";
import type { RecordedSession } from "../../../packages/replay/src/recorded-session.ts";
import { specificStrings, WantedStrings } from "../../../packages/replay/src/wanted-strings.ts";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { messagesTokens, messageTokens } from "../../../packages/core/src/tokens/message-tokens.ts";
import { round, says, sessionOf, user } from "./sessions.ts";

/** The messages that are sent at each call, by the history before it. */
type Choose = (before: readonly AgentMessage[], call: number) => readonly AgentMessage[];

async function measured(
  session: RecordedSession,
  choose: Choose,
  options: { limit?: number; epoch?: (call: number) => string } = {},
): Promise<Measured> {
  const meter = new Meter(session, await WantedStrings.of(session), options.limit ?? Infinity);
  for (const call of session.calls) {
    const messages = choose(session.messages.slice(0, call.end), call.index);
    const prompt: PromptBlocks = { messages, epoch: options.epoch?.(call.index) ?? "1" };
    meter.add(call, prompt);
  }
  return meter.result("test");
}

const everything: Choose = (before) => before;

function close(actual: number, expected: number): void {
  assert.ok(Math.abs(actual - expected) < 1e-9, `${actual} is not ${expected}`);
}

const THREE_CALLS = sessionOf([
  user("Look at the tests"),
  ...round("a", { path: "/one" }, "first result with words"),
  ...round("b", { path: "/two" }, "second result with other words"),
  says("done"),
]);

test("specific strings have six characters and a digit, a sign or camel case", async () => {
  const text = "plain words, src/a.ts camelCase snake_case abc12 x86_64 http://h:80 done. short";
  assert.deepEqual(specificStrings(text), ["src/a.ts", "camelCase", "snake_case", "x86_64", "http://h:80"]);
});

test("a history that only grows reads all of the prompt before and writes the rest once", async () => {
  const { messages } = THREE_CALLS;
  const sizes = [1, 3, 5].map((end) => STATIC_TOKENS + messagesTokens(messages.slice(0, end)));
  const [first = 0, second = 0, third = 0] = sizes;
  const cost =
    1.25 * first + (0.1 * first + 1.25 * (second - first)) + (0.1 * second + 1.25 * (third - second));
  const result = await measured(THREE_CALLS, everything);
  close(result.cost, cost / 1e6);
  close(result.cacheEfficiency, 1);
  close(result.effectiveInputCost, cost / (first + second + third));
  close(result.prefixStability, (first / second + second / third) / 2);
  close(result.meanContext, (first + second + third) / 3);
  assert.equal(result.largestContext, third);
  assert.equal(result.compactions, 0);
  assert.equal(result.brokenPrefixes, 0);
});

test("a prompt that loses its first message is written again after the static prefix", async () => {
  const drop: Choose = (before, call) => (call === 2 ? before.slice(1) : before);
  const { messages } = THREE_CALLS;
  const tokens = (from: number, to: number): number => messagesTokens(messages.slice(from, to));
  const prompts = [STATIC_TOKENS + tokens(0, 1), STATIC_TOKENS + tokens(0, 3), STATIC_TOKENS + tokens(1, 5)];
  const [first = 0, second = 0, third = 0] = prompts;
  const cost =
    1.25 * first + (0.1 * first + 1.25 * tokens(1, 3)) + (0.1 * STATIC_TOKENS + 1.25 * tokens(1, 5));
  const ideal =
    1.25 * first +
    (0.1 * first + 1.25 * tokens(1, 3)) +
    (0.1 * (STATIC_TOKENS + tokens(1, 3)) + 1.25 * tokens(3, 5));
  const result = await measured(THREE_CALLS, drop);
  close(result.cost, cost / 1e6);
  close(result.cacheEfficiency, ideal / cost);
  close(result.effectiveInputCost, cost / (first + second + third));
  close(result.prefixStability, (first / second + STATIC_TOKENS / third) / 2);
  assert.equal(result.brokenPrefixes, 1);
  const named = await measured(THREE_CALLS, drop, { epoch: (call) => (call === 2 ? "2" : "1") });
  assert.deepEqual([named.brokenPrefixes, named.compactions], [0, 1]);
});

test("an addition to the system prompt precedes everything", async () => {
  const meter = new Meter(THREE_CALLS, await WantedStrings.of(THREE_CALLS), Infinity);
  const [one, two] = THREE_CALLS.calls;
  assert.ok(one && two);
  meter.add(one, { messages: THREE_CALLS.messages.slice(0, one.end), epoch: "1" });
  meter.add(two, { messages: THREE_CALLS.messages.slice(0, two.end), epoch: "2", addition: "new words" });
  close(meter.result("test").prefixStability, 0);
});

test("five minutes without a call lose the prefix of a short cache only", async () => {
  const calls = THREE_CALLS.calls.map((call) => ({ ...call, at: call.index * 301_000 }));
  const result = await measured({ ...THREE_CALLS, calls }, everything);
  const sent = result.meanContext * 3;
  close(result.costOfShortCache, (1.25 * sent) / 1e6);
  assert.ok(result.cost < result.costOfShortCache);
});

/** 31 rounds between a string's only mention and its use again; another one is mentioned in between. */
function farSession(): RecordedSession {
  const middle = Array.from({ length: 31 }, (_, index) => says(index === 30 ? "near/file.ts" : "words"));
  return sessionOf([
    user("see far/file.ts please"),
    ...middle,
    says("edit far/file.ts near/file.ts new/file.ts"),
  ]);
}

test("a string counts where it occurred before, and is far after thirty blocks", async () => {
  const session = farSession();
  const wanted = (await WantedStrings.of(session)).of(
    session.calls.at(-1) ?? ({ ...session.calls[0] } as never),
  );
  assert.deepEqual(
    wanted.map(({ value, far }) => [value, far]),
    [
      ["far/file.ts", true],
      ["near/file.ts", false],
    ],
  );
  const all = await measured(session, everything);
  assert.deepEqual([all.coverage, all.farCoverage, all.farStrings], [1, 1, 1]);
  const recent = await measured(session, (before) => before.slice(-3));
  assert.deepEqual([recent.coverage, recent.farCoverage], [0.5, 0]);
});

test("a string that only a summary names is visible too, also inside a longer word", async () => {
  const session = farSession();
  const summary = user("the file is at ./far/file.ts:12");
  const result = await measured(session, (before, call) =>
    call === 31 ? [summary, ...before.slice(-3)] : before,
  );
  assert.deepEqual([result.coverage, result.farCoverage], [1, 1]);
});

test("faults are counted for each prompt: pairs, live input, repetition, budget", async () => {
  const clean = await measured(THREE_CALLS, everything, { limit: 2 * STATIC_TOKENS });
  assert.deepEqual(
    [clean.invalidPrompts, clean.lackingLiveInput, clean.duplicates, clean.overLimit],
    [0, 0, 0, 0],
  );
  const noCall = await measured(THREE_CALLS, (before, call) =>
    call === 2 ? before.filter((_message, index) => index !== 1) : before,
  );
  assert.equal(noCall.invalidPrompts, 1);
  const noInput = await measured(THREE_CALLS, (before, call) => (call === 2 ? before.slice(1) : before));
  assert.equal(noInput.lackingLiveInput, 1);
  const noResult = await measured(THREE_CALLS, (before, call) => (call === 2 ? before.slice(0, 3) : before));
  assert.equal(noResult.lackingLiveInput, 1);
  const twice = await measured(THREE_CALLS, (before) => [...before.slice(0, 1), ...before]);
  assert.equal(twice.duplicates, 3);
  const over = await measured(THREE_CALLS, everything, { limit: STATIC_TOKENS + 1 });
  assert.equal(over.overLimit, 3);
});

test("the same text sent twice is no repetition, and under-use counts where history is left out", async () => {
  const session = sessionOf([
    user("go on"),
    says("ok"),
    user("go on"),
    says("ok"),
    user("go on"),
    says("ok"),
  ]);
  assert.equal((await measured(session, everything)).duplicates, 0);
  const first = session.messages[0];
  assert.ok(first);
  const limit = 2 * STATIC_TOKENS;
  const result = await measured(session, (before) => before.slice(-1), { limit });
  close(result.underUse, 1 - (STATIC_TOKENS + messageTokens(first)) / limit);
});
