import assert from "node:assert/strict";
import { test } from "node:test";
import { summarizeWithModel } from "../../src/compaction/model-summary.ts";
import { compactByRuntime } from "../../src/compaction/runtime-compaction.ts";
import type { CompactResult } from "../../src/contract/engine-params.ts";
import { PagurusError } from "../../src/contract/errors.ts";
import type { AgentMessage } from "../../src/contract/message.ts";
import type { LlmComplete, LlmCompleteRequest, LlmCompleteResult } from "../../src/contract/model.ts";
import { renderSummary } from "../../src/contract/summary.ts";
import { estimateTokens } from "../../src/tokens/estimate.ts";
import { messagesTokens } from "../../src/tokens/messages.ts";
import { assistant, call, result, user } from "./histories.ts";

const HISTORY: AgentMessage[] = Array.from({ length: 30 }, (_, index) => [
  user(`Request ${index}: look into module_${index}.ts and tell me what it does.`),
  assistant("", [call(`c${index}`, "read", { path: `src/module_${index}.ts` })]),
  result(`c${index}`, `export const value_${index} = ${index};\n`.repeat(20), { toolName: "read" }),
  assistant(`Module ${index} exports the constant value_${index}, twenty times over.`),
])
  .flat()
  .map((message, index) => ({ ...message, entryId: `e${index}` }));

const SUMMARY = "## Goal\nUnderstand the modules.\n\n## State\nThe first modules are read.";
const BASE = {
  messages: HISTORY,
  liveStart: HISTORY.length,
  keepRecentTokens: 1_000,
  tokenBudget: 8_000,
  windowTokens: 8_000,
};

function answering(
  reply: (request: LlmCompleteRequest, index: number) => Partial<LlmCompleteResult>,
): LlmComplete & { requests: LlmCompleteRequest[] } {
  const requests: LlmCompleteRequest[] = [];
  const llm = async (request: LlmCompleteRequest): Promise<LlmCompleteResult> => {
    requests.push(request);
    return {
      text: SUMMARY,
      provider: "p",
      model: "m",
      agentId: "main",
      ...reply(request, requests.length - 1),
    };
  };
  return Object.assign(llm, { requests });
}

function modelError(answer: CompactResult): string {
  const details = answer.result?.details as { modelError?: string } | undefined;
  return details?.modelError ?? "";
}

test("a model's summary is taken, with files and identifiers that code collected", async () => {
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

test("files of the summary before are carried on by code, whatever the model makes of them", async () => {
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

const FAILURES: [string, LlmComplete, RegExp][] = [
  [
    "throws",
    async () => {
      throw new PagurusError("model_unavailable", "The endpoint is away.");
    },
    /^model_unavailable: The endpoint is away\.$/,
  ],
  [
    "throws a plain error",
    async () => {
      throw new Error("socket hang up");
    },
    /^compaction_failed: socket hang up$/,
  ],
  ["answers empty", answering(() => ({ text: " \n" })), /empty/],
  ["answers nonsense", answering(() => ({ text: null as unknown as string })), /empty/],
  [
    "answers longer than its input",
    answering(() => ({ text: "word ".repeat(20_000), usage: { input: 1, output: 10, totalTokens: 11 } })),
    /not shorter/,
  ],
  [
    "is cut at its limit",
    answering((request) => ({ usage: { input: 1, output: request.maxTokens ?? 0, totalTokens: 1 } })),
    /cut at its length limit/,
  ],
  ["never answers", () => new Promise(() => {}), /^deadline_exceeded: /],
];
for (const [name, llm, reason] of FAILURES) {
  test(`when the model ${name}, the summary is extractive and says why`, async () => {
    const answer = await compactByRuntime({ ...BASE, llm, timeoutMs: 50 });
    const plain = await compactByRuntime(BASE);
    assert.equal(answer.compacted, true);
    assert.equal(answer.result?.origin, "extractive");
    assert.equal(answer.result?.summary, plain.result?.summary);
    assert.match(modelError(answer), reason);
  });
}

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

test("a window too small for the summarizing model is a reason for an extract", async () => {
  const answer = await compactByRuntime({ ...BASE, llm: answering(() => ({})), windowTokens: 500 });
  assert.match(modelError(answer), /window of the summarizing model is too small/);
});

test("nothing to compact is no failure, and what would not get smaller is not compacted", async () => {
  const nothing = await compactByRuntime({ ...BASE, messages: HISTORY.slice(0, 4), liveStart: 4 });
  assert.deepEqual([nothing.ok, nothing.compacted], [true, false]);
  assert.match(nothing.reason ?? "", /nothing to compact/);
  const tiny = [user("hi", "a"), assistant("ok", [], "b"), user("more", "c"), assistant("ok", [], "d")];
  const useless = await compactByRuntime({ ...BASE, messages: tiny, liveStart: 4, keepRecentTokens: 10 });
  assert.deepEqual([useless.ok, useless.compacted], [false, false]);
});

test("what stays verbatim is at most half of the budget", async () => {
  const answer = await compactByRuntime({ ...BASE, keepRecentTokens: 1_000_000, tokenBudget: 2_000 });
  assert.ok((answer.result?.tokensAfter ?? Infinity) <= 1_000 + 2_000 * 0.2 + 20);
});

test("a fragment's words never enter a summary", async () => {
  const secret = { role: "user" as const, content: "the fragment's words", entryId: "f1" };
  const llm = answering(() => ({}));
  const messages = [secret, ...HISTORY];
  await compactByRuntime({ ...BASE, messages, liveStart: messages.length, llm, fragments: new Set(["f1"]) });
  assert.ok(llm.requests.length > 0);
  for (const request of llm.requests) assert.ok(!request.messages[0]?.content.includes("fragment's words"));
});

test("calibrated counts decide the cut and bound the summary", async () => {
  const tokens = (message: AgentMessage): number => 2 * messagesTokens([message]);
  const answer = await compactByRuntime({ ...BASE, tokens });
  const plain = await compactByRuntime(BASE);
  assert.equal(answer.result?.tokensBefore, 2 * (plain.result?.tokensBefore ?? 0));
  assert.ok((answer.result?.tokensAfter ?? Infinity) <= 1_000 + 8_000 * 0.2 + 40);
});
