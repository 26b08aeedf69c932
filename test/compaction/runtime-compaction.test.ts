import assert from "node:assert/strict";
import { test } from "node:test";
import { summarizeWithModel } from "../../packages/core/src/compaction/summary/model-summary.ts";
import { compactByRuntime } from "../../packages/core/src/compaction/runtime-compaction.ts";
import type { CompactResult } from "../../packages/contract/src/engine/engine-compaction.ts";
import type { AgentMessage } from "../../packages/contract/src/message.ts";
import type { LlmComplete } from "../../packages/contract/src/model.ts";
import { renderSummary } from "../../packages/contract/src/engine/summary.ts";
import { estimateTokens } from "../../packages/core/src/tokens/estimate.ts";
import { messagesTokens } from "../../packages/core/src/tokens/message-tokens.ts";
import { answering, BASE, HISTORY, SUMMARY } from "./answering.ts";
import { assistant, user } from "./histories.ts";

function modelError(answer: CompactResult): string {
  const details = answer.result?.details as { modelError?: string } | undefined;
  return details?.modelError ?? "";
}

test("a model's summary is used, with files and identifiers that code collected", async () => {
  const llm = answering(() => ({}));
  const answer = await compactByRuntime({ ...BASE, llm, customInstructions: "keep the numbers" });
  assert.equal(answer.compacted, true);
  assert.equal(answer.result?.origin, "model");
  assert.ok(answer.result?.summary?.startsWith(SUMMARY));
  assert.match(answer.result?.summary ?? "", /## Files touched\n(?:- .*\n)*- src\/module_\d+\.ts \(read\)/);
  assert.ok((answer.result?.tokensAfter ?? Infinity) < (answer.result?.tokensBefore ?? 0));
  assert.equal(answer.result?.tokensBefore, messagesTokens(HISTORY));
  for (const request of llm.requests) {
    assert.ok(request.messages[0]?.content.includes("The user asks of this summary: keep the numbers"));
  }
});

test("without a model the summary is extractive", async () => {
  const answer = await compactByRuntime(BASE);
  assert.equal(answer.result?.origin, "extractive");
  assert.match(answer.result?.summary ?? "", /## Requests\n/);
  const kept = HISTORY.findIndex((message) => message.entryId === answer.result?.firstKeptEntryId);
  assert.equal(HISTORY[kept]?.role, "user");
  const head = user(renderSummary(answer.result?.summary ?? ""));
  assert.equal(answer.result?.tokensAfter, messagesTokens([head, ...HISTORY.slice(kept)]));
});

test("a history larger than the window is summarized chunk by chunk on the summary so far", async () => {
  const llm = answering((_request, index) => ({ text: `## Goal\nUnderstand the modules, part ${index}.` }));
  const signal = new AbortController().signal;
  const text = await summarizeWithModel({
    messages: HISTORY,
    llm,
    maxTokens: 600,
    windowTokens: 3_000,
    signal,
  });
  assert.ok(llm.requests.length > 2);
  for (const [index, request] of llm.requests.entries()) {
    const content = request.messages[0]?.content ?? "";
    assert.ok(estimateTokens(content) + estimateTokens(request.systemPrompt ?? "") + 600 <= 3_000);
    assert.equal(content.includes(`part ${index - 1}.`), index > 0);
  }
  const all = llm.requests.map((request) => request.messages[0]?.content).join("\n");
  for (let index = 0; index < 30; index += 1) assert.ok(all.includes(`Request ${index}:`));
  assert.ok(text.startsWith(`## Goal\nUnderstand the modules, part ${llm.requests.length - 1}.`));
  assert.ok(estimateTokens(text) <= 600);
});

test("code carries over the files of the previous summary, whatever the model does with them", async () => {
  const llm = answering(() => ({}));
  const previousSummary =
    "## Goal\nG\n\n## Files touched\n- src/old.ts (written)\n\n## Exact identifiers\nold_token_17";
  const signal = new AbortController().signal;
  const text = await summarizeWithModel({
    messages: HISTORY.slice(0, 8),
    previousSummary,
    llm,
    maxTokens: 800,
    windowTokens: 8_000,
    signal,
  });
  assert.match(text, /- src\/old\.ts \(written\)\n- src\/module_0\.ts \(read\)/);
  assert.match(text, /old_token_17/);
  assert.ok(!(llm.requests[0]?.messages[0]?.content ?? "").includes("src/old.ts"));
});

test("an abort ends a compaction whose model hangs, with turn_aborted", async () => {
  const controller = new AbortController();
  const llm: LlmComplete = () => {
    queueMicrotask(() => controller.abort());
    return new Promise(() => {});
  };
  await assert.rejects(compactByRuntime({ ...BASE, llm, signal: controller.signal }), {
    code: "turn_aborted",
  });
  await assert.rejects(compactByRuntime({ ...BASE, signal: AbortSignal.abort() }), { code: "turn_aborted" });
});

test("an abort that a model answers with an error of its own is still turn_aborted", async () => {
  const controller = new AbortController();
  const llm: LlmComplete = async () => {
    controller.abort();
    throw new Error("request cancelled");
  };
  await assert.rejects(compactByRuntime({ ...BASE, llm, signal: controller.signal }), {
    code: "turn_aborted",
  });
});

test("a window too small for the summarizing model falls back to an extract", async () => {
  const answer = await compactByRuntime({ ...BASE, llm: answering(() => ({})), windowTokens: 500 });
  assert.match(modelError(answer), /window of the summarizing model is too small/);
});

test("nothing to compact is not a failure, and a context that would not get smaller is not compacted", async () => {
  const nothing = await compactByRuntime({ ...BASE, messages: HISTORY.slice(0, 4), liveStart: 4 });
  assert.deepEqual([nothing.ok, nothing.compacted], [true, false]);
  assert.match(nothing.reason ?? "", /nothing to compact/);
  const tiny = [user("hi", "a"), assistant("ok", [], "b"), user("more", "c"), assistant("ok", [], "d")];
  const useless = await compactByRuntime({ ...BASE, messages: tiny, liveStart: 4, keepRecentTokens: 10 });
  assert.deepEqual([useless.ok, useless.compacted], [true, false]);
  assert.match(useless.reason ?? "", /nothing worth compacting/);
});

test("the verbatim tail is at most half of the budget", async () => {
  const answer = await compactByRuntime({ ...BASE, keepRecentTokens: 1_000_000, tokenBudget: 2_000 });
  assert.ok((answer.result?.tokensAfter ?? Infinity) <= 1_000 + 2_000 * 0.2 + 20);
});

test("a fragment's text is never in a summary", async () => {
  const secret = { role: "user" as const, content: "the fragment's words", entryId: "f1" };
  const llm = answering(() => ({}));
  const messages = [secret, ...HISTORY];
  await compactByRuntime({ ...BASE, messages, liveStart: messages.length, llm, fragments: new Set(["f1"]) });
  assert.ok(llm.requests.length > 0);
  for (const request of llm.requests) assert.ok(!request.messages[0]?.content.includes("fragment's words"));
});

test("a summary that is too large by calibrated counts is not used", async () => {
  const tokens = (message: AgentMessage): number =>
    messagesTokens([message]) * (message.role === "user" ? 40 : 1);
  const messages = HISTORY.filter((message) => message.role !== "user");
  const params = { ...BASE, messages, liveStart: messages.length, tokenBudget: 40_000, tokens };
  const answer = await compactByRuntime(params);
  assert.deepEqual([answer.ok, answer.compacted], [false, false]);
  assert.match(answer.reason ?? "", /only \d+ of \d+ tokens would be gained/);
});

test("calibrated counts decide the cut and limit the summary", async () => {
  const tokens = (message: AgentMessage): number => 2 * messagesTokens([message]);
  const answer = await compactByRuntime({ ...BASE, tokens });
  const plain = await compactByRuntime(BASE);
  assert.equal(answer.result?.tokensBefore, 2 * (plain.result?.tokensBefore ?? 0));
  assert.ok((answer.result?.tokensAfter ?? Infinity) <= 1_000 + 8_000 * 0.2 + 40);
});
