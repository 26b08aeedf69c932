import assert from "node:assert/strict";
import { test } from "node:test";
import { compactByRuntime } from "../../packages/core/src/compaction/runtime-compaction.ts";
import { readSections } from "../../packages/core/src/compaction/summary/sections.ts";
import { missingHeadings } from "../../packages/core/src/compaction/summary/summary-prompt.ts";
import { summarizeWithModel } from "../../packages/core/src/compaction/summary/model-summary.ts";
import type { CompactResult } from "../../packages/contract/src/engine/engine-compaction.ts";
import { PagurusError } from "../../packages/contract/src/errors.ts";
import type { LlmComplete } from "../../packages/contract/src/model.ts";
import { estimateTokens } from "../../packages/core/src/tokens/estimate.ts";
import { answering, BASE, COMPLETE, contentOf, HISTORY, SUMMARY } from "./answering.ts";
import { assistant, call, numbered, result, user } from "./histories.ts";

/** All in one request. */
const WIDE = { ...BASE, windowTokens: 32_000 };
const SAFEGUARD = { ...WIDE, mode: "safeguard" as const };
/** Several chunks, with tokens left for the answer. */
const CHUNKED = { ...BASE, windowTokens: 5_500, tokenBudget: 8_000 };

function detailsOf(answer: CompactResult): { modelError?: string; messagesByModel?: number } {
  return (answer.result?.details ?? {}) as { modelError?: string; messagesByModel?: number };
}

function unavailable(): never {
  throw new PagurusError("model_unavailable", "The endpoint is away.");
}

/** How a model fails, the reported reason, and how many requests safeguard mode makes. */
const FAILURES: [string, () => LlmComplete & { requests?: unknown[] }, RegExp, number][] = [
  ["throws", () => answering(unavailable), /model_unavailable: The endpoint is away\.$/, 1],
  [
    "throws a plain error",
    () =>
      answering(() => {
        throw new Error("socket hang up");
      }),
    /compaction_failed: socket hang up$/,
    1,
  ],
  ["answers empty", () => answering(() => ({ text: " \n" })), /empty/, 2],
  ["answers nonsense", () => answering(() => ({ text: null as unknown as string })), /empty/, 2],
  [
    "answers longer than its input",
    () =>
      answering(() => ({ text: "word ".repeat(20_000), usage: { input: 1, output: 10, totalTokens: 11 } })),
    /longer than its limit/,
    2,
  ],
  [
    "ignores its limit",
    () =>
      answering(() => ({
        text: "word ".repeat(2_500),
        stopReason: "stop",
        usage: { input: 1, output: 9, totalTokens: 10 },
      })),
    /longer than its limit/,
    2,
  ],
  [
    "is cut at its limit",
    () => answering((request) => ({ usage: { input: 1, output: request.maxTokens ?? 0, totalTokens: 1 } })),
    /cut at its length limit/,
    2,
  ],
  [
    "reports that its answer was cut",
    () => answering(() => ({ stopReason: "length" })),
    /cut at its length limit/,
    2,
  ],
  ["never answers", () => () => new Promise(() => {}), /deadline_exceeded: /, 0],
];

/** A short deadline for the model that never answers. The others need more on a busy machine: theirs is the default. */
function deadlineFor(name: string): { timeoutMs?: number } {
  return name === "never answers" ? { timeoutMs: 50 } : {};
}

for (const [name, make, reason] of FAILURES) {
  test(`when the model ${name}, the summary is extractive and has the reason`, async () => {
    const answer = await compactByRuntime({ ...BASE, llm: make(), ...deadlineFor(name) });
    const plain = await compactByRuntime(BASE);
    assert.equal(answer.compacted, true);
    assert.equal(answer.result?.origin, "extractive");
    assert.equal(answer.result?.summary, plain.result?.summary);
    assert.match(detailsOf(answer).modelError ?? "", reason);
  });
}

for (const [name, make, reason, asked] of FAILURES) {
  test(`in safeguard mode, when the model ${name}, nothing is compacted and the reason is reported`, async () => {
    const llm = make();
    const answer = await compactByRuntime({ ...SAFEGUARD, llm, ...deadlineFor(name) });
    assert.deepEqual([answer.ok, answer.compacted, answer.result], [false, false, undefined]);
    assert.match(answer.reason ?? "", /context is unchanged: in safeguard mode a failed summary ends it/);
    assert.match(
      answer.reason?.replace(/\.$/, "") ?? "",
      new RegExp(reason.source.replace(/\\\.\$|\$$/, "")),
    );
    if (llm.requests) assert.equal(llm.requests.length, asked);
  });
}

test("safeguard mode without a model refuses and names the setting", async () => {
  const answer = await compactByRuntime(SAFEGUARD);
  assert.deepEqual([answer.ok, answer.compacted], [false, false]);
  assert.match(answer.reason ?? "", /agents\.defaults\.compaction\.model/);
});

test("safeguard mode accepts a complete summary without a retry, with all required parts", async () => {
  const llm = answering(() => ({ text: COMPLETE }));
  const answer = await compactByRuntime({ ...SAFEGUARD, llm });
  assert.equal(answer.result?.origin, "model");
  assert.equal(llm.requests.length, 1);
  const kept = HISTORY.findIndex(({ entryId }) => entryId === answer.result?.firstKeptEntryId);
  const newest = Math.floor(kept / 4) - 1;
  assert.ok(answer.result?.summary?.includes(`module_${newest}.ts`));
});

test("a summary that lacks a part is requested once more, with the missing parts named, then accepted", async () => {
  const llm = answering((_request, index) => ({ text: index === 0 ? SUMMARY : COMPLETE }));
  const answer = await compactByRuntime({ ...SAFEGUARD, llm });
  assert.equal(answer.result?.origin, "model");
  assert.equal(llm.requests.length, 2);
  const second = contentOf(llm.requests[1]);
  assert.match(second, /Your summary was not accepted: it lacks the heading "## Decisions and constraints"/);
  assert.match(second, /the heading "## Open asks" with its content\. Write the whole summary again\./);
  assert.ok(second.includes(`<rejected_summary>\n${SUMMARY}\n</rejected_summary>`));
});

test("a summary that lacks a part twice is refused, and the parts are named", async () => {
  const empty = COMPLETE.replace("- The rest of the modules.", "-");
  const llm = answering(() => ({ text: empty }));
  const answer = await compactByRuntime({ ...SAFEGUARD, llm });
  assert.deepEqual([answer.ok, answer.compacted, llm.requests.length], [false, false, 2]);
  assert.match(answer.reason ?? "", /it lacks the part "Open asks", also when asked again/);
});

test("default mode accepts a summary that lacks a part", async () => {
  const llm = answering(() => ({ text: SUMMARY }));
  const answer = await compactByRuntime({ ...WIDE, llm });
  assert.deepEqual([answer.result?.origin, llm.requests.length], ["model", 1]);
});

const EDITED = numbered([
  user("Rename handler_alpha to handler_omega in src/server/handlers/all_routes.ts for PROJ_4711."),
  assistant("", [call("1", "edit", { path: "src/server/handlers/all_routes.ts" })]),
  result("1", "ok"),
  assistant(`Renamed. ${"The names of the handlers are told in the guide. ".repeat(60)}`),
]);

function wordy(tokens: number): string {
  return `${COMPLETE}\n${"- Some remark of no great weight to anybody at all.\n".repeat(tokens / 10)}`;
}

test("safeguard mode refuses a text that leaves no tokens for files and identifiers, and names them to the model alone", async () => {
  const signal = new AbortController().signal;
  const params = { messages: EDITED, maxTokens: 300, windowTokens: 8_000, signal };
  const text = wordy(210);
  assert.ok(estimateTokens(text) < 300 && estimateTokens(text) > 270, String(estimateTokens(text)));
  const llm = answering((_request, index) => ({ text: index === 0 ? text : COMPLETE }));
  const summary = await summarizeWithModel({ ...params, llm, mode: "safeguard" });
  const second = contentOf(llm.requests[1]);
  assert.match(
    second,
    /it lacks these changed files: src\/server\/handlers\/all_routes\.ts; these exact strings: /,
  );
  for (const value of [
    "src/server/handlers/all_routes.ts (edited)",
    "PROJ_4711",
    "handler_alpha",
    "handler_omega",
  ]) {
    assert.ok(summary.includes(value), value);
  }
  const stubborn = answering(() => ({ text }));
  await assert.rejects(summarizeWithModel({ ...params, llm: stubborn, mode: "safeguard" }), (error) => {
    assert.ok(error instanceof PagurusError && error.code === "compaction_failed");
    assert.match(
      error.message,
      /it lacks changed files \(1\), exact identifiers \(\d+\), also when asked again/,
    );
    assert.doesNotMatch(`${error.message}${JSON.stringify(error.details)}`, /PROJ|routes/);
    return true;
  });
});

test("with identifier policy off, no identifiers are collected, required or carried over; files are", async () => {
  const signal = new AbortController().signal;
  const llm = answering(() => ({ text: COMPLETE }));
  const summary = await summarizeWithModel({
    messages: EDITED,
    previousSummary: "## Goal\nG\n\n## Exact identifiers\nold_token_17",
    maxTokens: 600,
    windowTokens: 8_000,
    identifierPolicy: "off",
    mode: "safeguard",
    llm,
    signal,
  });
  assert.ok(summary.endsWith("## Files touched\n- src/server/handlers/all_routes.ts (edited)"));
  const extract = await compactByRuntime({ ...BASE, identifierPolicy: "off" });
  assert.doesNotMatch(extract.result?.summary ?? "", /## Exact identifiers/);
  const strict = await compactByRuntime(BASE);
  assert.match(strict.result?.summary ?? "", /## Exact identifiers/);
});

test("an extract keeps everything that a model summarized before it failed", async () => {
  const llm = answering((_request, index) =>
    index < 2 ? { text: `## Goal\nUnderstand the modules, told in part ${index}.` } : unavailable(),
  );
  const answer = await compactByRuntime({ ...CHUNKED, llm });
  assert.equal(llm.requests.length, 3);
  assert.equal(answer.result?.origin, "extractive");
  const { messagesByModel = 0, modelError = "" } = detailsOf(answer);
  assert.match(modelError, /^model_unavailable/);
  assert.ok(messagesByModel > 0);
  const summary = answer.result?.summary ?? "";
  // Only the model's newest part covers its span; older ones are gone.
  assert.ok(summary.includes("told in part 1."));
  assert.ok(!summary.includes("told in part 0."));
  // The extract covers all messages after it.
  const rest = Math.ceil(messagesByModel / 4);
  const first = readSections(summary).some(({ text }) => text.startsWith(`Request ${rest}:`));
  assert.ok(first, summary);
  assert.ok(!summary.includes("Request 1:"));
});

test("a model that hangs in the middle of the chunks costs the deadline, not its earlier summaries", async () => {
  const scripted = answering(() => ({ text: "## Goal\nUnderstand the modules, told in part 0." }));
  const llm: LlmComplete = async (request) => {
    if (scripted.requests.length > 0) return await new Promise(() => {});
    return await scripted(request);
  };
  const answer = await compactByRuntime({ ...CHUNKED, llm, timeoutMs: 100 });
  assert.match(detailsOf(answer).modelError ?? "", /^deadline_exceeded/);
  assert.ok(answer.result?.summary?.includes("told in part 0."));
});

test("safeguard mode accepts nothing from a model that fails in the middle of the chunks", async () => {
  const llm = answering((_request, index) => (index < 1 ? { text: COMPLETE } : unavailable()));
  const answer = await compactByRuntime({ ...CHUNKED, mode: "safeguard", llm });
  assert.deepEqual([answer.ok, answer.compacted, answer.result], [false, false, undefined]);
});

test("a summary that is no shorter than its request is refused", async () => {
  const llm = answering((request) => ({ text: contentOf(request) }));
  const params = { messages: HISTORY.slice(0, 4), maxTokens: 2_000, windowTokens: 8_000, llm };
  const signal = new AbortController().signal;
  await assert.rejects(summarizeWithModel({ ...params, signal }), /not shorter than what it stands for/);
});

test("a model's summary that is as large as its messages is not used", async () => {
  const llm = answering((request) => ({
    text: `## Goal\n${"abcd ".repeat((request.maxTokens ?? 0) * 0.9)}`,
  }));
  const messages = HISTORY.slice(0, 12);
  const params = { ...BASE, messages, liveStart: 12, keepRecentTokens: 300, tokenBudget: 100_000, llm };
  const answer = await compactByRuntime(params);
  assert.ok(answer.compacted);
  assert.ok((answer.result?.tokensAfter ?? Infinity) < (answer.result?.tokensBefore ?? 0) * 0.95);
});

test("a window smaller than configured halves the chunks until they fit; all messages are read", async () => {
  const llm = answering((request) => {
    if (estimateTokens(contentOf(request)) <= 2_500) return { text: COMPLETE };
    throw new PagurusError("context_overflow", "The context does not fit.");
  });
  const answer = await compactByRuntime({ ...BASE, windowTokens: 64_000, llm });
  assert.equal(answer.result?.origin, "model");
  const read = llm.requests.filter((request) => estimateTokens(contentOf(request)) <= 2_500);
  const kept = HISTORY.findIndex(({ entryId }) => entryId === answer.result?.firstKeptEntryId);
  const all = read.map(contentOf).join("\n");
  for (let index = 0; index < kept / 4; index += 1) assert.ok(all.includes(`Request ${index}:`));
});

test("only the chunk that does not fit and later ones are halved: earlier messages are not read again", async () => {
  const llm = answering((_request, index) => {
    if (index !== 1) return { text: COMPLETE };
    throw new PagurusError("context_overflow", "The context does not fit.");
  });
  await compactByRuntime({ ...CHUNKED, llm });
  const taken = llm.requests.filter((_request, index) => index !== 1).map(contentOf);
  assert.equal(taken.filter((content) => content.includes("Request 0:")).length, 1);
});

test("safeguard mode checks the whole summary, not those of the chunks before it", async () => {
  const counted = answering(() => ({}));
  await compactByRuntime({ ...CHUNKED, llm: counted });
  const last = counted.requests.length - 1;
  const llm = answering((_request, index) => ({ text: index === last ? COMPLETE : SUMMARY }));
  const answer = await compactByRuntime({ ...CHUNKED, mode: "safeguard", llm });
  assert.equal(answer.result?.origin, "model");
  assert.ok(last > 0 && llm.requests.length === last + 1);
});

test("a changed file is listed before files that were only read since", async () => {
  const reads = Array.from({ length: 40 }, (_, index) => [
    assistant("", [call(`r${index}`, "read", { path: `src/looked_at_${index}.ts` })]),
    result(`r${index}`, "ok"),
  ]).flat();
  const summary = await summarizeWithModel({
    messages: numbered([...EDITED, ...reads]),
    maxTokens: 300,
    windowTokens: 8_000,
    llm: answering(() => ({ text: COMPLETE })),
    signal: new AbortController().signal,
  });
  assert.match(summary, /all_routes\.ts \(edited\)\n- src\/looked_at_\d+\.ts \(read\)/);
  assert.doesNotMatch(summary, /looked_at_0\.ts \(read\)/);
});

test("a model whose window fits no chunk at all falls back to an extract", async () => {
  const llm = answering(() => {
    throw new PagurusError("context_overflow", "The context does not fit.");
  });
  const answer = await compactByRuntime({ ...BASE, llm });
  assert.match(detailsOf(answer).modelError ?? "", /^context_overflow/);
  assert.ok(llm.requests.length < 10);
});

test("a heading counts only with content below it, in upper or lower case", () => {
  assert.deepEqual(missingHeadings(COMPLETE), []);
  assert.deepEqual(missingHeadings(COMPLETE.replaceAll("## ", "### ").toUpperCase()), []);
  assert.deepEqual(missingHeadings("## Goal\n\n## State\n-\n\nsaid without a heading"), [
    "Goal",
    "Decisions and constraints",
    "Open asks",
  ]);
});
