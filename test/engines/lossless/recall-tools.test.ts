import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { ContextEngineFactory } from "../../../packages/contract/src/engine/engine.ts";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import type { PluginApi, PluginTool, ToolContext } from "../../../packages/contract/src/host/plugin.ts";
import type { ToolOutcome } from "../../../packages/contract/src/harness/tool.ts";
import { recallTools } from "../../../packages/lossless/src/recall/recall-tools.ts";
import { registerLossless } from "../../../packages/lossless/src/register.ts";
import {
  openLosslessStore,
  type LosslessStore,
} from "../../../packages/lossless/src/store/lossless-store.ts";
import type { NewNode } from "../../../packages/lossless/src/store/store-types.ts";
import { estimateTokens } from "../../../packages/core/src/tokens/estimate.ts";
import { chain, messageEntry, withStore } from "./store/fixtures.ts";

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

function contextOf(sessionId: string): ToolContext {
  const folderSessions = (): string[] => ["main", "neighbour"];
  return { sessionKey: "main", sessionId, cwd: "/", folderSessions, signal: new AbortController().signal };
}

function textOf({ content }: ToolOutcome): string {
  return content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

type Call = (name: string, params: Record<string, unknown>) => Promise<ToolOutcome>;

function callerOf(tools: readonly PluginTool[], sessionId: string): Call {
  return async (name, params) => {
    const tool = tools.find((known) => known.name === name);
    assert.ok(tool, name);
    return tool.execute(params, contextOf(sessionId));
  };
}

async function withTools(
  work: (call: Call, store: LosslessStore) => Promise<void>,
  pinTokens?: number,
): Promise<void> {
  await withStore(async (store) => {
    const tools = recallTools(() => store, pinTokens === undefined ? {} : { pinTokens });
    await work(callerOf(tools, "s"), store);
  });
}

const NODE: Omit<NewNode, "nodeId" | "firstEntryId" | "lastEntryId" | "text"> = {
  sessionId: "s",
  kind: "leaf",
  depth: 0,
  children: [],
  tokens: 5,
  sourceTokens: 100,
  origin: "extractive",
  state: "published",
};

test("a search returns passages in pages of the requested tokens, up to the last one", async () => {
  await withTools(async (call, store) => {
    const texts = Array.from({ length: 120 }, (_, n) => `Crane number ${n} lifts cargo ${n * 7} at noon.`);
    store.ingestTurn("s", chain(texts));
    const seen = new Set<string>();
    let page = 1;
    for (; page < 40; page++) {
      const answer = textOf(await call("context_search", { query: "crane cargo", page, max_tokens: 400 }));
      assert.ok(estimateTokens(answer) <= 400);
      for (const [, number = ""] of answer.matchAll(/Crane number (\d+)/g)) {
        assert.equal(seen.has(number), false, number);
        seen.add(number);
      }
      if (!answer.includes(`page ${page + 1}.`)) break;
    }
    // The minimum number of messages that a search ranks.
    assert.ok(seen.size >= 100, String(seen.size));
    assert.match(
      textOf(await call("context_search", { query: "crane", page: page + 1, max_tokens: 400 })),
      /no such page/,
    );
  });
});

test("numbers out of bounds are set to the nearest one; a page after the last possible one is none", async () => {
  await withTools(async (call, store) => {
    const texts = Array.from({ length: 400 }, (_, n) => `Crane ${n} lifts ${"cargo and sand ".repeat(30)}`);
    store.ingestTurn("s", chain(texts));
    const search = async (more: object): Promise<string> =>
      textOf(await call("context_search", { query: "crane", ...more }));
    const all = await search({ page: 0, max_tokens: 1_000_000 });
    assert.equal(all, await search({ page: 1, max_tokens: 8_000 }));
    assert.ok(estimateTokens(all) <= 8_000);
    assert.match(await search({ page: 51 }), /no such page/);
    assert.match(textOf(await call("context_expand", { id: "e0", offset: -1 })), /Crane 0 lifts/);
  });
});

test("a tool that cannot answer says why, and what to do", async () => {
  await withTools(async (call, store) => {
    const assertAnswer = async (
      name: string,
      params: Record<string, unknown>,
      words: RegExp,
      isError: boolean,
    ): Promise<void> => {
      const outcome = await call(name, params);
      assert.match(textOf(outcome), words);
      assert.equal(outcome.isError, isError, textOf(outcome));
    };
    await assertAnswer("context_search", { query: "x" }, /stored yet; scope "folder" or "agent"/, false);
    store.ingestTurn("s", chain(["one", "two", "three"]));
    store.ingestTurn("other", chain(["four"], "o"));
    store.addNode({ ...NODE, nodeId: "n", firstEntryId: "e0", lastEntryId: "e1", text: "one and two" });
    await assertAnswer("context_search", { query: " " }, /Give the words/, true);
    await assertAnswer("context_search", { query: "xebec" }, /Nothing was found.*other words/, false);
    await assertAnswer(
      "context_expand",
      { id: "nothing" },
      /no entry or part "nothing"; context_search/,
      true,
    );
    await assertAnswer("context_describe", {}, /Give the id/, true);
    await assertAnswer(
      "context_expand",
      { id: "e0", offset: 99 },
      /3 characters; give an offset below/,
      true,
    );
    await assertAnswer("context_expand", { id: "n", after: "e2" }, /"e2" is not in the part n/, true);
    await assertAnswer("context_expand", { id: "n", after: "no" }, /"no" is not in the part n/, true);
    await assertAnswer("context_expand", { id: "n", after: "e1" }, /nothing more in the part n/, false);
    await assertAnswer("context_pin", { id: "n" }, /is a summary; pin an entry/, true);
    await assertAnswer("context_pin", { id: "o0" }, /of another session/, true);
    await assertAnswer("context_pin", { id: "no" }, /no entry or part/, true);
    await assertAnswer("context_pin", { id: "e0", remove: true }, /was not pinned/, false);
  });
  const none = await callerOf(
    recallTools(() => undefined),
    "s",
  )("context_search", { query: "x" });
  assert.equal(none.isError, true);
  assert.match(textOf(none), /try it in a later turn/);
});

test("a summary of summaries is expanded to the original words, page by page, each once and in order", async () => {
  await withTools(async (call, store) => {
    const texts = Array.from(
      { length: 40 },
      (_, n) => `Word ${n} ${"of the harbour office ".repeat(n === 17 ? 400 : 8)}`,
    );
    store.ingestTurn("s", chain(texts));
    const leaves = ["a", "b"].map((nodeId, index) => ({
      ...NODE,
      nodeId,
      firstEntryId: `e${index * 20}`,
      lastEntryId: `e${index * 20 + 19}`,
      text: `part ${nodeId}`,
    }));
    for (const leaf of leaves) store.addNode(leaf);
    store.addNode({
      ...NODE,
      kind: "condensed",
      depth: 1,
      children: ["a", "b"],
      nodeId: "c",
      firstEntryId: "e0",
      lastEntryId: "e39",
      text: "all of it",
    });
    assert.match(
      textOf(await call("context_describe", { id: "c" })),
      /40 entries.*Made of the parts a, b\./s,
    );
    const ids: string[] = [];
    let after = "";
    let cut = "";
    do {
      const answer = textOf(
        await call("context_expand", { id: "c", max_tokens: 500, ...(after === "" ? {} : { after }) }),
      );
      assert.ok(estimateTokens(answer) <= 500);
      ids.push(...[...answer.matchAll(/^(e\d+) \(user\): Word/gm)].map(([, id = ""]) => id));
      cut ||= /\[cut; context_expand with id e17 and offset (\d+)/.exec(answer)?.[1] ?? "";
      after = /and after (\S+)\.\]$/.exec(answer)?.[1] ?? "";
    } while (after !== "" && ids.length < 100);
    assert.deepEqual(
      ids,
      Array.from({ length: 40 }, (_, n) => `e${n}`),
    );
    let offset = Number(cut);
    let whole = (texts[17] ?? "").slice(0, offset);
    for (let page = 0; page < 40 && offset > 0; page++) {
      const answer = textOf(await call("context_expand", { id: "e17", offset, max_tokens: 500 }));
      whole += answer.replace(/^.*:\n/, "").replace(/\n\[More: .*\]$/, "");
      offset = Number(/and offset (\d+)\.\]$/.exec(answer)?.[1] ?? 0);
    }
    assert.equal(whole, texts[17]);
  });
});

test("an entry is returned whole with its images, also off the path, from another session and by its old id", async () => {
  await withTools(async (call, store) => {
    const image: AgentMessage = {
      role: "user",
      content: [
        { type: "text", text: "the chart" },
        { type: "image", data: PIXEL, mimeType: "image/png" },
      ],
    };
    store.ingestTurn("s", [
      messageEntry("chart", null, image),
      messageEntry("left", "chart", "a word on a branch"),
      messageEntry("old", "chart", "the first wording"),
      messageEntry("new", "old", "the second wording", { supersedes: "old" }),
    ]);
    store.ingestTurn("other", chain(["said elsewhere"], "o"));
    const chart = await call("context_expand", { id: "chart" });
    assert.deepEqual(chart.content[1], { type: "image", data: PIXEL, mimeType: "image/png" });
    assert.match(textOf(chart), /the chart\n\[image image\/png\]/);
    const describeId = async (id: string): Promise<string> => textOf(await call("context_describe", { id }));
    assert.match(await describeId("chart"), /image\/png, \d+ bytes/);
    assert.match(await describeId("left"), /branch of this conversation that was left/);
    assert.match(await describeId("o0"), /of another session/);
    assert.match(await describeId("new"), /replaces the entry old, which is kept too/);
    assert.match(textOf(await call("context_expand", { id: "old" })), /the first wording/);
    assert.match(textOf(await call("context_expand", { id: "left" })), /a word on a branch/);
    const all = textOf(await call("context_search", { query: "elsewhere", scope: "agent" }));
    assert.match(all, /session other\)\no0 user: said elsewhere/);
    assert.doesNotMatch(textOf(await call("context_search", { query: "elsewhere" })), /o0/);
  });
});

test("a search of the folder finds its sessions, earlier ones of a key too, and no others", async () => {
  await withTools(async (call, store) => {
    for (const [sessionId, sessionKey] of [
      ["first", "neighbour"],
      ["second", "neighbour"],
      ["before", "main"],
      ["far", "another"],
    ] as const) {
      store.openSession(sessionId, { sessionKey });
      store.ingestTurn(sessionId, chain([`a lantern in the session ${sessionId}`], sessionId));
    }
    store.openSession("s", { sessionKey: "main" });
    store.ingestTurn("s", chain(["a lantern here"], "own"));
    const found = async (scope?: string): Promise<string[]> => {
      const answer = textOf(await call("context_search", { query: "lantern", ...(scope ? { scope } : {}) }));
      return [...answer.matchAll(/^(own|first|second|before|far)0 /gm)].map(([, id = ""]) => id).toSorted();
    };
    assert.deepEqual(await found(), ["own"]);
    assert.deepEqual(await found("folder"), ["before", "first", "own", "second"]);
    assert.deepEqual(await found("agent"), ["before", "far", "first", "own", "second"]);
    assert.match(textOf(await call("context_search", { query: "xebec" })), /scope "folder" or "agent"/);
    assert.match(textOf(await call("context_search", { query: "xebec", scope: "folder" })), /scope "agent"/);
  });
});

test("a pin that exceeds the limit gets a warning", async () => {
  await withTools(async (call, store) => {
    store.ingestTurn("s", chain(["short", "long words ".repeat(60)]));
    assert.doesNotMatch(textOf(await call("context_pin", { id: "e0" })), /room/);
    assert.match(textOf(await call("context_pin", { id: "e1" })), /is pinned.* room for 50/);
    assert.match(textOf(await call("context_pin", { id: "e1" })), /pinned already/);
    assert.match(textOf(await call("context_pin", { id: "e1", remove: true })), /not pinned any more/);
    const owed = store.owed("s").map(({ kind, ref }) => `${kind} ${ref}`);
    assert.deepEqual(owed.toSorted(), ["pin e0", "pin e1"], "the session's log gets them");
  }, 50);
});

test("with several agents, each session is looked up in its own agent's store", async () => {
  const root = mkdtempSync(join(tmpdir(), "lossless-agents-"));
  const tools: PluginTool[] = [];
  let factory: ContextEngineFactory | undefined;
  const api = {
    config: {},
    registerContextEngine: (_id: string, made: ContextEngineFactory) => (factory = made),
    registerTool: (tool: PluginTool) => tools.push(tool),
    registerCommand: () => undefined,
    on: () => undefined,
  } as unknown as PluginApi;
  registerLossless(api, {
    selected: "lossless",
    agentDir: (id) => join(root, id),
    memorySection: () => undefined,
  });
  assert.ok(factory);
  const dirs = ["one", "two"].map((id) => join(root, id));
  try {
    for (const [index, dir] of dirs.entries()) {
      const store = openLosslessStore(dir);
      store.ingestTurn(`session ${index}`, chain([`the lantern of agent ${index}`]));
      await store.close();
    }
    const engines = [];
    for (const agentDir of dirs) engines.push(await factory({ config: {}, agentDir }));
    const look = async (sessionId: string): Promise<ToolOutcome> =>
      callerOf(tools, sessionId)("context_search", { query: "lantern", scope: "all" });
    assert.match(textOf(await look("session 0")), /lantern of agent 0/);
    assert.match(textOf(await look("session 1")), /lantern of agent 1/);
    assert.equal((await look("nobody's")).isError, true);
    await engines[0]?.dispose?.();
    assert.match(textOf(await look("session 1")), /lantern of agent 1/);
    await engines[1]?.dispose?.();
    assert.equal((await look("session 1")).isError, true);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});
