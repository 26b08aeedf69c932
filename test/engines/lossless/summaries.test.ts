import assert from "node:assert/strict";
import { test } from "node:test";
import type { LlmComplete, LlmCompleteResult } from "../../../packages/contract/src/model.ts";
import { answer, filler, input, round } from "../../../packages/testkit/src/engine/scripted-conversation.ts";
import { estimateTokens } from "../../../packages/core/src/tokens/estimate.ts";
import { assertGrowing, Drive, texts } from "./drive.ts";

const SESSION = "session0001";
const SETTINGS = { trigger: 8_000, headTokens: 1_200, tailTokens: 1_500 };
const GOOD = ["Goal", "State", "Decisions and constraints", "Open asks"]
  .map((heading) => `## ${heading}\n- The MODEL says: the berths are looked after.`)
  .join("\n");

function reply(text: string, more: Partial<LlmCompleteResult> = {}): LlmCompleteResult {
  return { text, provider: "test", model: "model", agentId: "main", stopReason: "stop", ...more };
}

/** A good model: every string that the prompt requires is in the answer. */
const good: LlmComplete = async ({ messages }) => {
  const named = /these (?:changed files|exact strings): (.*)/g;
  const asked = messages.flatMap(({ content }) => Array.from(content.matchAll(named), ([, list]) => list));
  return reply(`${GOOD}\n${asked.join(", ")}`);
};

const BAD: Record<string, LlmComplete> = {
  fails: () => Promise.reject(new Error("503")),
  "answers nothing": async () => reply("  "),
  "is cut": async () => reply(GOOD, { stopReason: "length" }),
  "is too long": async () => reply(`${GOOD}\n${filler(60_000)}`),
  refuses: async () => reply("I cannot help with that."),
};

async function talk(drive: Drive, turns: number, from = 0): Promise<void> {
  for (let index = from; index < from + turns; index += 1)
    await drive.turn(input(index, 40), [round(index, 0, 1, 300), round(index, 1, 1, 300)], answer(index, 60));
}

for (const [name, bad] of Object.entries(BAD)) {
  test(`a summarizer that ${name} leaves extracts, a debt, and a valid context; it recovers`, async (t) => {
    t.mock.timers.enable({ apis: ["Date"], now: Date.UTC(2026, 0, 1) });
    const drive = new Drive({ budget: 10_000, config: SETTINGS, llm: bad });
    try {
      await talk(drive, 24);
      await drive.maintain();
      const nodes = drive.lossless.nodes(SESSION);
      assert.ok(nodes.length > 0);
      assert.deepEqual([...new Set(nodes.map(({ origin }) => origin))], ["extractive"]);
      const debts = drive.lossless.debts({ sessionId: SESSION });
      assert.ok(
        debts.some(({ attempts }) => attempts > 0),
        "no debt shows the failure",
      );
      assert.ok(Math.max(...drive.sent.map(({ tokens }) => tokens)) <= 10_000);
      assertGrowing(drive.sent);
      drive.llm = good;
      t.mock.timers.tick(24 * 3_600_000);
      for (let run = 0; run < 6; run += 1) await drive.maintain();
      assert.ok(drive.lossless.nodes(SESSION).some(({ origin }) => origin === "model"));
      await talk(drive, 12, 24);
      assert.match(texts(drive.sent.at(-1)?.messages ?? []), /The MODEL says/);
      assertGrowing(drive.sent);
    } finally {
      await drive.end();
    }
  });
}

test("assemble never waits for a model that hangs, and a manual compaction ends with its signal", async () => {
  const drive = new Drive({ budget: 10_000, config: SETTINGS, llm: () => new Promise(() => undefined) });
  try {
    await talk(drive, 16);
    const controller = new AbortController();
    const work = drive.engine.maintain?.({ ...drive.params(), abortSignal: controller.signal });
    await talk(drive, 4, 16);
    controller.abort();
    await work;
    const signal = new AbortController();
    const compaction = drive.engine.compact({
      ...drive.params({ manualCompaction: true }),
      force: true,
      abortSignal: signal.signal,
    });
    setImmediate(() => signal.abort());
    await assert.rejects(compaction, { code: "turn_aborted" });
    await talk(drive, 1, 20);
    assertGrowing(drive.sent);
  } finally {
    await drive.end();
  }
});

test("a manual compaction has the model's summary, with the focus before it", async () => {
  const asked: string[] = [];
  const drive = new Drive({
    budget: 20_000,
    config: { trigger: 16_000 },
    llm: async (request) => {
      asked.push(request.messages.map(({ content }) => content).join("\n"));
      return good(request);
    },
  });
  try {
    await talk(drive, 12);
    const made = await drive.engine.compact({
      ...drive.params({ manualCompaction: true }),
      force: true,
      customInstructions: "dwell on berth B3",
    });
    assert.equal(made.compacted, true, made.reason);
    assert.match(asked.join("\n"), /dwell on berth B3/);
    assert.match(made.result?.summary ?? "", /The MODEL says/);
    assert.ok((made.result?.tokensAfter ?? Infinity) < (made.result?.tokensBefore ?? 0));
  } finally {
    await drive.end();
  }
});

test("two processes never request the same summary from a model, and the calls per hour are limited", async () => {
  let calls = 0;
  const llm: LlmComplete = async (request) => {
    calls += 1;
    return good(request);
  };
  const drive = new Drive({ budget: 10_000, config: { ...SETTINGS, summariesPerHour: 4 }, llm });
  try {
    await talk(drive, 24);
    await Promise.all([drive.maintain(), drive.maintain()]);
    for (let run = 0; run < 5; run += 1) await drive.maintain();
    assert.ok(calls > 0 && calls <= 6, `${calls} calls`);
    const models = drive.lossless.nodes(SESSION).filter(({ origin }) => origin === "model");
    assert.equal(new Set(models.map(({ nodeId }) => nodeId)).size, models.length);
  } finally {
    await drive.end();
  }
});

test("the frontier's summaries cover the entries before the kept ones, each once", async () => {
  const drive = new Drive({ budget: 10_000, config: SETTINGS, llm: good });
  try {
    for (let part = 0; part < 6; part += 1) {
      await talk(drive, 8, part * 8);
      await drive.maintain();
      const store = drive.lossless;
      const { nodeIds, firstKeptEntryId } = store.frontier(SESSION);
      let position = 0;
      for (const id of nodeIds) {
        const node = store.node(id);
        assert.ok(node);
        assert.equal(store.locate(SESSION, node.firstEntryId)?.position, position);
        position = (store.locate(SESSION, node.lastEntryId)?.position ?? 0) + 1;
        assert.ok(estimateTokens(node.text) < node.sourceTokens);
      }
      if (firstKeptEntryId !== null)
        assert.equal(store.locate(SESSION, firstKeptEntryId)?.position, position);
    }
    assert.ok(drive.lossless.frontier(SESSION).nodeIds.length > 0);
  } finally {
    await drive.end();
  }
});

test("summaries that a model has prepared are in the head as soon as the trigger is reached", async () => {
  const drive = new Drive({ budget: 20_000, config: { trigger: 9_000, tailTokens: 1_500 }, llm: good });
  try {
    await talk(drive, 8);
    assert.equal(drive.lossless.frontier(SESSION).version, 0);
    await drive.maintain();
    assert.ok(drive.lossless.nodes(SESSION).some(({ origin }) => origin === "model"));
    await talk(drive, 5, 8);
    assert.equal(drive.lossless.frontier(SESSION).version, 1);
    assert.match(drive.sent.at(-1)?.bytes[0] ?? "", /The MODEL says/);
    assertGrowing(drive.sent);
  } finally {
    await drive.end();
  }
});
