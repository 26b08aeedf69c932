import assert from "node:assert/strict";
import { test } from "node:test";
import { contextFromPath } from "../../packages/core/src/compaction/compaction-context.ts";
import type { AgentMessage } from "../../packages/contract/src/message.ts";
import type { LlmCompleteRequest } from "../../packages/contract/src/model.ts";
import type { RuntimeContext } from "../../packages/contract/src/engine/runtime-context.ts";
import { renderSummary } from "../../packages/contract/src/engine/summary.ts";
import type {
  NewEntry,
  TranscriptCursor,
  TranscriptEntry,
} from "../../packages/contract/src/session/transcript.ts";
import { createLegacyEngine } from "../../packages/host/src/engines/legacy/legacy-engine.ts";
import { messagesTokens } from "../../packages/core/src/tokens/message-tokens.ts";

class Path implements TranscriptCursor {
  readonly entries: TranscriptEntry[] = [];
  /** Number of entries read backward. */
  read = 0;

  add(entry: NewEntry): string {
    const id = `e${String(this.entries.length).padStart(4, "0")}`;
    const parentId = this.entries.at(-1)?.id ?? null;
    this.entries.push({ ...entry, id, parentId, timestamp: "2026-01-01T00:00:00.000Z" } as TranscriptEntry);
    return id;
  }

  async *forward(): AsyncIterable<TranscriptEntry> {
    yield* this.entries;
  }

  async *backward(): AsyncIterable<TranscriptEntry> {
    for (const entry of this.entries.toReversed()) {
      this.read += 1;
      yield entry;
    }
  }

  async get(id: string): Promise<TranscriptEntry | undefined> {
    return this.entries.find((entry) => entry.id === id);
  }

  turn(turnId: string, input: string, answer: string): string {
    const id = this.add({ type: "message", turnId, message: { role: "user", content: input } });
    this.add({
      type: "message",
      turnId,
      message: { role: "assistant", content: [{ type: "text", text: answer }] },
    });
    this.add({ type: "turn_commit", turnId, outcome: "completed" });
    return id;
  }
}

const LONG = "A sentence about the harbour and its ships. ".repeat(60);

function runtimeContext(transcript: Path, extra: Partial<RuntimeContext> = {}): RuntimeContext {
  return {
    config: { agents: { defaults: { compaction: { keepRecentTokens: 1_500 } } } },
    provider: "offline",
    model: "offline/extract",
    modelId: "extract",
    agentId: "main",
    agentHarnessId: "embedded",
    cwd: "/",
    contextWindow: 24_000,
    tokenBudget: 20_000,
    tokens: (value) =>
      typeof value === "string" ? value.length / 4 : messagesTokens([value].flat() as AgentMessage[]),
    llm: { complete: async () => assert.fail("the model was called") },
    allowDeferredCompactionExecution: false,
    transcript,
    ...extra,
  };
}

const SESSION = { sessionId: "s", sessionFile: "s.jsonl" };

test("assemble passes the messages through, and ingest is a no-op", async () => {
  const engine = createLegacyEngine();
  const messages: AgentMessage[] = [{ role: "user", content: "hello" }];
  const assembled = await engine.assemble({ sessionId: "s", messages });
  assert.equal(assembled.messages, messages);
  assert.equal(assembled.estimatedTokens, messagesTokens(messages));
  assert.equal(assembled.systemPromptAddition, undefined);
  assert.deepEqual(await engine.ingest({ sessionId: "s", message: { role: "user", content: "x" } }), {
    ingested: false,
  });
});

test("compact reads the path and keeps the newest turns", async () => {
  const path = new Path();
  for (let index = 0; index < 10; index += 1) path.turn(`t${index}`, `request ${index}`, LONG);
  const answer = await createLegacyEngine().compact({ ...SESSION, runtimeContext: runtimeContext(path) });
  assert.equal(answer.compacted, true);
  assert.equal(answer.result?.origin, "extractive");
  const kept = await path.get(answer.result?.firstKeptEntryId ?? "");
  assert.ok(kept?.type === "message" && kept.message.role === "user");
  assert.match(answer.result?.summary ?? "", /request 0/);
});

test("the next compaction reads no further than the first kept entry, and carries over the previous summary", async () => {
  const path = new Path();
  for (let index = 0; index < 10; index += 1) path.turn(`t${index}`, `request ${index}`, LONG);
  const engine = createLegacyEngine();
  const first = (await engine.compact({ ...SESSION, runtimeContext: runtimeContext(path) })).result;
  path.add({
    type: "compaction",
    summary: first?.summary ?? "",
    firstKeptEntryId: first?.firstKeptEntryId ?? "",
    tokensBefore: 1,
    origin: "extractive",
  });
  for (let index = 10; index < 15; index += 1) path.turn(`t${index}`, `request ${index}`, LONG);
  path.read = 0;
  const second = (await engine.compact({ ...SESSION, runtimeContext: runtimeContext(path) })).result;
  const from = path.entries.findIndex((entry) => entry.id === first?.firstKeptEntryId);
  assert.equal(path.read, path.entries.length - from);
  assert.match(second?.summary ?? "", /request 0/);
  assert.match(second?.summary ?? "", /request 10/);
});

test("the context of a split turn is its input, the summary, then the kept messages", async () => {
  const path = new Path();
  path.turn("t0", "old", "answer");
  const input = path.add({ type: "message", turnId: "t1", message: { role: "user", content: "input" } });
  path.add({
    type: "message",
    turnId: "t1",
    message: { role: "assistant", content: [{ type: "text", text: "round 1" }] },
  });
  const kept = path.add({
    type: "message",
    turnId: "t1",
    message: { role: "assistant", content: [{ type: "text", text: "round 2" }] },
  });
  path.add({
    type: "compaction",
    turnId: "t1",
    summary: "S",
    firstKeptEntryId: kept,
    splitTurnInputId: input,
    tokensBefore: 1,
    origin: "model",
  });
  const note = path.add({ type: "custom_message", customType: "fragment", content: "note" });
  const context = await contextFromPath(path, "t1");
  assert.deepEqual(
    context.messages.map((message) =>
      typeof message.content === "string" ? message.content : message.entryId,
    ),
    ["input", renderSummary("S"), kept, "note"],
  );
  assert.equal(context.liveStart, 0);
  assert.deepEqual([...context.fragments], [note]);
  assert.equal((await contextFromPath(path)).liveStart, 4);
});

test("a live turn larger than the kept tokens is split, with its input verbatim", async () => {
  const path = new Path();
  path.turn("t0", "old request", LONG);
  const input = path.add({
    type: "message",
    turnId: "live",
    message: { role: "user", content: "the long job" },
  });
  for (let index = 0; index < 20; index += 1) {
    const id = `c${index}`;
    path.add({
      type: "message",
      turnId: "live",
      message: {
        role: "assistant",
        content: [{ type: "toolCall", id, name: "shell", arguments: { command: `step ${index}` } }],
      },
    });
    path.add({
      type: "message",
      turnId: "live",
      message: {
        role: "toolResult",
        toolCallId: id,
        toolName: "shell",
        content: [{ type: "text", text: LONG }],
        isError: false,
      },
    });
  }
  const answer = await createLegacyEngine().compact({
    ...SESSION,
    runtimeContext: runtimeContext(path, { turnId: "live" }),
  });
  assert.equal(answer.result?.splitTurnInputId, input);
  assert.match(answer.result?.summary ?? "", /shell step 0/);
  assert.doesNotMatch(answer.result?.summary ?? "", /the long job/);
});

test("the configured model writes the summary, with the requested focus", async () => {
  const path = new Path();
  for (let index = 0; index < 10; index += 1) path.turn(`t${index}`, `request ${index}`, LONG);
  const requests: LlmCompleteRequest[] = [];
  const context = runtimeContext(path, {
    provider: "acme",
    config: {
      agents: {
        defaults: {
          compaction: { keepRecentTokens: 1_500, model: "acme/small", customInstructions: "be brief" },
        },
      },
    },
    llm: {
      complete: async (request) => {
        requests.push(request);
        return { text: "## Goal\nShips.", provider: "acme", model: "small", agentId: "main" };
      },
    },
  });
  const answer = await createLegacyEngine().compact({
    ...SESSION,
    runtimeContext: context,
    customInstructions: "ships",
  });
  assert.equal(answer.result?.origin, "model");
  assert.equal(requests[0]?.model, "acme/small");
  assert.match(requests[0]?.messages[0]?.content ?? "", /be brief\nships/);
});

const COMPLETE = "## Goal\nShips.\n## State\nDone.\n## Decisions and constraints\nNone.\n## Open asks\nNone.";

/** A session at provider `acme`, with the requests to its model. */
function atAcme(
  path: Path,
  compaction: Record<string, unknown>,
  extra: Partial<RuntimeContext> = {},
): { context: RuntimeContext; requests: LlmCompleteRequest[] } {
  const requests: LlmCompleteRequest[] = [];
  const context = runtimeContext(path, {
    provider: "acme",
    model: "acme/large",
    config: { agents: { defaults: { compaction: { keepRecentTokens: 1_500, ...compaction } } } },
    llm: {
      complete: async (request) => {
        requests.push(request);
        return { text: COMPLETE, provider: "acme", model: "m", agentId: "main" };
      },
    },
    ...extra,
  });
  return { context, requests };
}

function longPath(): Path {
  const path = new Path();
  for (let index = 0; index < 150; index += 1) path.turn(`t${index}`, `request ${index}`, LONG);
  return path;
}

test("chunks fit the window of the summarizing model, not the session's model", async () => {
  const windows = { contextWindow: 400_000, tokenBudget: 300_000 };
  const own = atAcme(longPath(), {}, windows);
  await createLegacyEngine().compact({ ...SESSION, runtimeContext: own.context });
  assert.equal(own.requests.length, 1);
  assert.equal(own.requests[0]?.model, undefined);
  const named = atAcme(longPath(), { model: "acme/large" }, windows);
  await createLegacyEngine().compact({ ...SESSION, runtimeContext: named.context });
  assert.equal(named.requests.length, 1);
  // Only the name of another model is known.
  const other = atAcme(longPath(), { model: "acme/small" }, windows);
  const answer = await createLegacyEngine().compact({ ...SESSION, runtimeContext: other.context });
  assert.equal(answer.result?.origin, "model");
  assert.ok(other.requests.length > 2);
  for (const { messages, systemPrompt = "", maxTokens = 0 } of other.requests) {
    const input = messagesTokens([{ role: "user", content: systemPrompt + messages[0]?.content }]);
    assert.ok(input + maxTokens <= 32_000);
  }
});

test("safeguard mode and the identifier policy come from the configuration", async () => {
  const path = new Path();
  for (let index = 0; index < 10; index += 1) path.turn(`t${index}`, `request PROJ_${index}`, LONG);
  const refused = await createLegacyEngine().compact({
    ...SESSION,
    runtimeContext: runtimeContext(path, {
      config: { agents: { defaults: { compaction: { keepRecentTokens: 1_500, mode: "safeguard" } } } },
    }),
  });
  assert.deepEqual([refused.ok, refused.compacted], [false, false]);
  for (const [identifierPolicy, expected] of [
    ["strict", true],
    ["off", false],
  ] as const) {
    const { context } = atAcme(path, { mode: "safeguard", identifierPolicy });
    const answer = await createLegacyEngine().compact({ ...SESSION, runtimeContext: context });
    assert.equal(answer.result?.origin, "model");
    assert.equal(answer.result?.summary?.includes("PROJ_2"), expected);
  }
});

test("a model that hangs costs the configured timeout, and the extract is made before the host's deadline", async () => {
  const path = new Path();
  for (let index = 0; index < 10; index += 1) path.turn(`t${index}`, `request ${index}`, LONG);
  const { context } = atAcme(
    path,
    { timeoutSeconds: 0.05 },
    { llm: { complete: () => new Promise(() => {}) } },
  );
  const answer = await createLegacyEngine().compact({ ...SESSION, runtimeContext: context });
  assert.equal(answer.result?.origin, "extractive");
  assert.match(JSON.stringify(answer.result?.details), /deadline_exceeded: .* 45 ms/);
});

test("a compaction to a budget that is kept already is skipped, unless it is forced or has another target", async () => {
  const path = new Path();
  for (let index = 0; index < 10; index += 1) path.turn(`t${index}`, `request ${index}`, LONG);
  const engine = createLegacyEngine();
  const params = { ...SESSION, runtimeContext: runtimeContext(path), currentTokenCount: 100 };
  const within = await engine.compact({ ...params, compactionTarget: "budget" });
  assert.deepEqual([within.ok, within.compacted], [true, false]);
  assert.match(within.reason ?? "", /within the budget of 20000/);
  for (const more of [
    { force: true },
    { compactionTarget: "threshold" as const },
    { tokenBudget: 5_000 },
    { currentTokenCount: 20_000 },
  ]) {
    const made = await engine.compact({ ...params, compactionTarget: "budget", ...more });
    assert.equal(made.compacted, true, JSON.stringify(more));
  }
});

test("fewer messages are kept when the host's count exceeds the estimate", async () => {
  const path = new Path();
  for (let index = 0; index < 12; index += 1) path.turn(`t${index}`, `request ${index}`, LONG);
  const engine = createLegacyEngine();
  const params = { ...SESSION, runtimeContext: runtimeContext(path) };
  const plain = (await engine.compact(params)).result;
  const before = plain?.tokensBefore ?? 0;
  const counted = (await engine.compact({ ...params, currentTokenCount: before * 2 })).result;
  assert.ok(Math.abs((counted?.tokensBefore ?? 0) - before * 2) <= path.entries.length);
  assert.ok((counted?.firstKeptEntryId ?? "") > (plain?.firstKeptEntryId ?? ""));
});

test("the kept messages are within half of the requested budget", async () => {
  const path = new Path();
  for (let index = 0; index < 12; index += 1) path.turn(`t${index}`, `request ${index}`, LONG);
  const config = { agents: { defaults: { compaction: { keepRecentTokens: 6_000 } } } };
  const runtime = runtimeContext(path, { config });
  const answer = await createLegacyEngine().compact({
    ...SESSION,
    runtimeContext: runtime,
    tokenBudget: 4_000,
  });
  assert.ok((answer.result?.tokensAfter ?? Infinity) <= 4_000 * 0.7 + 20);
});

test("an input that is kept anyway is not repeated", async () => {
  const path = new Path();
  path.turn("t0", "old", "answer");
  const input = path.turn("t1", "input", "answer");
  path.add({
    type: "compaction",
    summary: "S",
    firstKeptEntryId: input,
    splitTurnInputId: input,
    tokensBefore: 1,
    origin: "engine",
  });
  const { messages } = await contextFromPath(path);
  assert.equal(messages.filter(({ entryId }) => entryId === input).length, 1);
});

test("a forced compaction also compacts a context that would fit; an unforced one reports that it fits", async () => {
  const path = new Path();
  for (let index = 0; index < 4; index += 1) path.turn(`t${index}`, `request ${index}`, LONG);
  const context = runtimeContext(path, { config: {} });
  const engine = createLegacyEngine();
  const plain = await engine.compact({ ...SESSION, runtimeContext: context });
  assert.deepEqual([plain.ok, plain.compacted], [true, false]);
  const forced = await engine.compact({ ...SESSION, runtimeContext: context, force: true });
  assert.equal(forced.compacted, true);
});

test("compact fails clearly without a runtime context, and ends with turn_aborted when aborted", async () => {
  const engine = createLegacyEngine();
  const answer = await engine.compact(SESSION);
  assert.deepEqual([answer.ok, answer.compacted], [false, false]);
  const path = new Path();
  path.turn("t", "request", LONG);
  const aborted = engine.compact({
    ...SESSION,
    runtimeContext: runtimeContext(path),
    abortSignal: AbortSignal.abort(),
  });
  await assert.rejects(aborted, { code: "turn_aborted" });
});
