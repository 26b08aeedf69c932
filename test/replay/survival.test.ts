import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { ContextEngine } from "../../packages/contract/src/engine/engine.ts";
import type { ToolOutcome } from "../../packages/contract/src/harness/tool.ts";
import type { AgentMessage } from "../../packages/contract/src/message.ts";
import { createLegacyEngine } from "../../packages/host/src/engines/legacy/legacy-engine.ts";
import { createLosslessEngine } from "../../packages/lossless/src/lossless-engine.ts";
import { recallTools } from "../../packages/lossless/src/recall/recall-tools.ts";
import type { LosslessStore } from "../../packages/lossless/src/store/lossless-store.ts";
import { Pace } from "../../packages/core/src/platform/pace.ts";
import { measure } from "../../packages/replay/src/prompt-meter.ts";
import { readSession } from "../../packages/replay/src/read-session.ts";
import { figuresOf } from "../../packages/replay/src/replay-figures.ts";
import {
  addCounts,
  noCounts,
  prepareSession,
  replaySession,
  type PreparedSession,
} from "../../packages/replay/src/replay-session.ts";
import { searchTool, type ReplayedEngine } from "../../packages/replay/src/replayed-engine.ts";
import { ITEM_KINDS, onOneLine, survivalItems } from "../../packages/replay/src/survival/survival-items.ts";
import { compactedCalls, survivalOf } from "../../packages/replay/src/survival/survival.ts";
import { slidingWindow } from "../../bench/context/policies/windows.ts";
import { claudeLines, writeLines } from "./generated-session.ts";

const WINDOW = 64_000;
const folder = mkdtempSync(join(tmpdir(), "pagurus-survival-"));
after(() => rmSync(folder, { recursive: true, force: true }));

async function generated(turns: number): Promise<PreparedSession> {
  const file = join(folder, `turns-${turns}.jsonl`);
  writeLines(file, claudeLines(turns));
  const session = await readSession(file, new Pace());
  assert.ok(session);
  return prepareSession(session, new Pace());
}

function options(most = 20): { window: number; most: number; pace: Pace; signal: AbortSignal } {
  return { window: WINDOW, most, pace: new Pace(), signal: new AbortController().signal };
}

function lossless(): ReplayedEngine {
  let store: LosslessStore | undefined;
  const onStore = (opened: LosslessStore): void => void (store = opened);
  return {
    key: "lossless",
    id: "lossless",
    config: {},
    create: (context) => createLosslessEngine(context, { onStore }),
    tools: recallTools(() => store),
  };
}

const LEGACY: ReplayedEngine = {
  key: "legacy",
  id: "legacy",
  config: {},
  create: createLegacyEngine,
  tools: [],
};

/** Keeps the newest message alone, and reports each compaction as made. */
function forgetful(): ContextEngine {
  return {
    info: { id: "forgetful", name: "Forgetful", version: "1.0.0" },
    ingest: async () => ({ ingested: true }),
    assemble: async () => ({ messages: [], estimatedTokens: 0 }),
    compact: async () => ({ ok: true, compacted: true }),
  };
}

test("the items of a session are its decisions, commands, paths, error lines and numbers, each with words to look for it", async () => {
  const { items } = await generated(6);
  const first = (kind: string): unknown => items.find((item) => item.kind === kind);
  assert.deepEqual(
    ITEM_KINDS.map((kind) => items.filter((item) => item.kind === kind).length > 0),
    ITEM_KINDS.map(() => true),
  );
  assert.deepEqual(first("commands"), {
    kind: "commands",
    text: "npm test -- test/area0/module-0.test.ts",
    query: "Test the module of step 0",
    at: 3,
  });
  assert.deepEqual(first("paths"), {
    kind: "paths",
    text: "/work/src/area0/part0/module-0.ts",
    query: "module-0.ts",
    at: 1,
  });
  for (const { text, query } of items) assert.ok(!query.includes(text), text);
});

test("lines of a numbered file, questions and texts of programs give no item", async () => {
  const result = (text: string): AgentMessage => ({
    role: "toolResult",
    toolCallId: "c",
    toolName: "read",
    content: [{ type: "text", text }],
    isError: false,
  });
  const items = await survivalItems(
    [
      { role: "user", content: "<command-name>always use this one for all</command-name>" },
      { role: "user", content: "Should we always use the first one here?" },
      result("  12→throw new Error for the caller of it"),
    ],
    new Pace(),
  );
  assert.deepEqual(items, []);
});

test("a call that is quoted as JSON counts as seen", () => {
  const command = 'git commit -m "a first change"';
  assert.ok(onOneLine(JSON.stringify({ command })).includes(command));
});

test("a session is compacted before the same calls whatever the engine, and one that is too short is not", async () => {
  const { session } = await generated(24);
  const calls = compactedCalls(session, WINDOW);
  assert.equal(calls.length, 5);
  assert.deepEqual(
    calls.map(({ index }) => index),
    calls.map(({ index }) => index).toSorted((a, b) => a - b),
  );
  assert.deepEqual(compactedCalls((await generated(2)).session, WINDOW), []);
});

test("an engine that keeps nothing loses the items, and its search tool is asked for each of them", async () => {
  const { session, items } = await generated(24);
  const calls = compactedCalls(session, WINDOW);
  const asked: string[] = [];
  const tool = {
    name: "find",
    description: "",
    parameters: { type: "object", properties: { query: { type: "string" } }, required: ["query"] },
    execute: async ({ query }: Record<string, unknown>) => {
      asked.push(String(query));
      const text = items
        .filter((item) => item.query === query && item.kind === "paths")
        .map((item) => item.text);
      return { content: [{ type: "text" as const, text: text.join("\n") }], isError: false };
    },
  };
  const engine = { key: "forgetful", id: "forgetful", config: {}, create: forgetful, tools: [tool] };
  const { 5: after } = await survivalOf(engine, session, { calls, items }, options());
  assert.ok(after.paths.items > 10);
  assert.ok(after.paths.inContext < after.paths.items / 2);
  assert.equal(after.paths.reachable, after.paths.items);
  assert.ok(after.decisions.reachable < after.decisions.items / 2);
  assert.ok(asked.length > 20);
});

/** An engine that keeps nothing, with a search that fails at each second call. */
function failing(fail: () => ToolOutcome): ReplayedEngine {
  let calls = 0;
  const tool = {
    name: "find",
    description: "",
    parameters: { type: "object", properties: { query: { type: "string" } }, required: ["query"] },
    execute: async () => {
      calls += 1;
      return calls % 2 === 1 ? fail() : { content: [], isError: false };
    },
  };
  return { key: "forgetful", id: "forgetful", config: {}, create: forgetful, tools: [tool] };
}

test("a search that fails counts as one that finds nothing, and is reported", async () => {
  const prepared = await generated(24);
  const thrown = await replaySession(
    failing(() => {
      throw new Error("the index is locked");
    }),
    prepared,
    options(),
  );
  const { failed } = thrown.survival;
  assert.match(failed.first ?? "", /the index is locked/);
  assert.ok(failed.searches > 10);
  assert.ok(thrown.survival[5].paths.items > 10);
  const figures = figuresOf(thrown);
  assert.equal(figures.find(({ name }) => name === "failed searches")?.value, failed.searches);
  const returned = await replaySession(
    failing(() => ({ content: [{ type: "text", text: "no such index" }], isError: true })),
    prepared,
    options(),
  );
  assert.deepEqual(returned.survival.failed, { searches: failed.searches, first: "no such index" });
  const sum = noCounts();
  for (const counts of [thrown, returned]) addCounts(sum, counts);
  assert.deepEqual(sum.survival.failed, { searches: 2 * failed.searches, first: failed.first });
});

test("an abort ends a replay in a search", async () => {
  const { session, items } = await generated(24);
  const calls = compactedCalls(session, WINDOW);
  const stop = new AbortController();
  const engine = failing(() => {
    stop.abort();
    throw new Error("stopped");
  });
  await assert.rejects(survivalOf(engine, session, { calls, items }, { ...options(), signal: stop.signal }), {
    message: "stopped",
  });
});

test("the search tool is the one that requires a query alone", () => {
  const tool = (name: string, required: string[]) => ({
    name,
    description: "",
    parameters: { type: "object", properties: {}, required },
    execute: () => Promise.reject(new Error("not called")),
  });
  const found = searchTool([
    tool("read", ["id"]),
    tool("write", ["query", "text"]),
    tool("grep", ["pattern"]),
  ]);
  assert.deepEqual([found?.tool.name, found?.parameter], ["grep", "pattern"]);
  assert.equal(searchTool([]), undefined);
});

test("after five compactions lossless has all decisions, and nearly all else, in the context or by one call", async () => {
  const { session, items } = await generated(30);
  const calls = compactedCalls(session, WINDOW);
  const { 5: after } = await survivalOf(lossless(), session, { calls, items }, options());
  for (const kind of ITEM_KINDS) {
    const { items: all, reachable } = after[kind];
    const least = kind === "decisions" ? 1 : 0.95;
    assert.ok(all >= 15, kind);
    assert.ok(reachable >= least * all, `${kind}: ${reachable} of ${all}`);
  }
});

test("strings of the next action are more often in the context of lossless than in a sliding window", async () => {
  const window = 48_000;
  const prepared = await generated(45);
  const { next, brokenPrefixes, faulty } = await replaySession(lossless(), prepared, {
    ...options(0),
    window,
  });
  assert.deepEqual([brokenPrefixes, faulty], [0, 0]);
  const { strings: sliding } = await measure(slidingWindow(window), prepared.session, prepared.wanted);
  assert.equal(next.strings, sliding.strings);
  assert.ok(next.seen > sliding.seen, `${next.seen} and ${sliding.seen} of ${next.strings}`);
});

test("a figure without anything to measure has no value", async () => {
  const counts = await replaySession(LEGACY, await generated(2), options());
  const figures = new Map(figuresOf(counts).map(({ name, value }) => [name, value]));
  assert.equal(figures.get("after 5 compactions, paths: in context"), undefined);
  assert.equal(figures.get("compactions"), 0);
  assert.ok((figures.get("context, mean") ?? 0) > 26_000);
});
