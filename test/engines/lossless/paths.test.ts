import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createLegacyEngine } from "../../../packages/host/src/engines/legacy/legacy-engine.ts";
import { answer, input, round } from "../../../packages/testkit/src/engine/scripted-conversation.ts";
import { assertGrowing, Drive, texts } from "./drive.ts";
import { longTest } from "../../runner/long-tests.ts";

const SESSION = "session0001";
const SETTINGS = { trigger: 8_000, headTokens: 1_200, tailTokens: 1_500 };

async function talk(drive: Drive, turns: number, from = 0): Promise<void> {
  for (let index = from; index < from + turns; index += 1)
    await drive.turn(input(index, 40), [round(index, 0, 1, 300)], answer(index, 60));
}

longTest("after a rewind into the summarized part the context shows only messages of the path", async () => {
  const drive = new Drive({ budget: 10_000, config: SETTINGS });
  try {
    await talk(drive, 30);
    const kept = drive.lossless.frontier(SESSION).firstKeptEntryId;
    assert.ok(kept);
    const at = drive.transcript.entries.findIndex(
      ({ type, turnId }) => type === "turn_commit" && turnId === "turn00008",
    );
    drive.transcript.rewind(drive.transcript.entries[at]?.id ?? "");
    await drive.turn(input(500), [], answer(500));
    const text = texts(drive.sent.at(-1)?.messages ?? []);
    assert.match(text, /Answer 0007/);
    assert.doesNotMatch(text, /Answer 0008|Answer 0025/);
    await talk(drive, 20, 600);
    assert.ok(Math.max(...drive.sent.map(({ tokens }) => tokens)) <= 10_000);
  } finally {
    await drive.end();
  }
});

test("a rewind within the kept messages keeps the head's bytes", async () => {
  const drive = new Drive({ budget: 10_000, config: SETTINGS });
  try {
    await talk(drive, 30);
    const before = drive.sent.at(-1);
    const at = drive.transcript.entries.findLastIndex(
      ({ type, turnId }) => type === "turn_commit" && turnId === "turn00029",
    );
    drive.transcript.rewind(drive.transcript.entries[at]?.id ?? "");
    await drive.turn(input(500), [], answer(500));
    assert.equal(drive.sent.at(-1)?.bytes[0], before?.bytes[0]);
    assert.equal(drive.sent.at(-1)?.epoch, before?.epoch);
  } finally {
    await drive.end();
  }
});

test("a lost database is rebuilt from the transcript: the next turn is valid, within the budget, without a model call", async () => {
  let calls = 0;
  const llm = (): Promise<never> => {
    calls += 1;
    return Promise.reject(new Error("no model"));
  };
  const drive = new Drive({ budget: 10_000, config: SETTINGS, llm });
  try {
    await talk(drive, 20);
    const made = await drive.engine.compact({ ...drive.params(), force: true, currentTokenCount: 9_000 });
    assert.ok(made.result?.summary && made.result.firstKeptEntryId, made.reason);
    const { summary, firstKeptEntryId, tokensBefore } = made.result;
    drive.transcript.append({
      type: "compaction",
      summary,
      firstKeptEntryId,
      tokensBefore,
      origin: "engine",
    });
    await talk(drive, 1, 20);
    const head = drive.sent.at(-1)?.bytes[0];
    await drive.engine.dispose?.();
    for (const end of ["", "-wal", "-shm"])
      rmSync(join(drive.dir, "agent", `lossless.db${end}`), { force: true });
    drive.reopen();
    await drive.engine.bootstrap?.(drive.params());
    await talk(drive, 1, 21);
    assert.equal(drive.sent.at(-1)?.bytes[0], head);
    assert.match(head ?? "", /conversation_summary/);
    assert.equal(calls, 0);
    await talk(drive, 15, 22);
    assert.ok(Math.max(...drive.sent.map(({ tokens }) => tokens)) <= 10_000);
  } finally {
    await drive.end();
  }
});

test("a session that another engine has compacted is adopted completely and continues at once", async () => {
  const drive = new Drive({ budget: 10_000, config: SETTINGS });
  try {
    const legacy = createLegacyEngine();
    for (let index = 0; index < 60; index += 1) {
      const turnId = drive.begin(input(index, 40));
      for (const message of round(index, 0, 1, 300)) drive.append(turnId, message);
      drive.append(turnId, answer(index, 60));
      drive.transcript.append({ type: "turn_commit", turnId, outcome: "completed" });
      if (index !== 40) continue;
      const made = await legacy.compact({ ...drive.params(), force: true });
      const { summary = "", firstKeptEntryId = "", tokensBefore = 0 } = made.result ?? {};
      drive.transcript.append({
        type: "compaction",
        summary,
        firstKeptEntryId,
        tokensBefore,
        origin: "extractive",
      });
    }
    const taken = await drive.engine.bootstrap?.(drive.params());
    assert.equal(taken?.bootstrapped, true);
    await talk(drive, 10, 60);
    assert.ok(Math.max(...drive.sent.map(({ tokens }) => tokens)) <= 10_000);
    assertGrowing(drive.sent);
    const hits = await drive.lossless.search({ query: "Request 0003" });
    assert.ok(hits.some(({ snippet }) => snippet.includes("Request 0003")));
  } finally {
    await drive.end();
  }
});

test("what another engine compacted away comes back where the whole history fits", async () => {
  for (const [trigger, isWhole] of [
    [60_000, true],
    [8_000, false],
  ] as const) {
    const drive = new Drive({ budget: 10_000, config: { ...SETTINGS, trigger } });
    try {
      const legacy = createLegacyEngine();
      for (let index = 0; index < 40; index += 1) {
        const turnId = drive.begin(input(index, 40));
        for (const message of round(index, 0, 1, 300)) drive.append(turnId, message);
        drive.append(turnId, answer(index, 60));
        drive.transcript.append({ type: "turn_commit", turnId, outcome: "completed" });
      }
      const made = await legacy.compact({ ...drive.params(), force: true });
      const { summary = "", firstKeptEntryId = "", tokensBefore = 0 } = made.result ?? {};
      drive.transcript.append({
        type: "compaction",
        summary,
        firstKeptEntryId,
        tokensBefore,
        origin: "extractive",
      });
      assert.equal(made.compacted, true);
      drive.budget = 80_000;
      await drive.engine.bootstrap?.(drive.params());
      await talk(drive, 2, 60);
      const messages = drive.sent.at(-1)?.messages ?? [];
      assert.equal(messages.length > 80, isWhole, `${messages.length} messages`);
      assert.equal(texts(messages).includes("<conversation_summary>"), !isWhole);
      assertGrowing(drive.sent);
    } finally {
      await drive.end();
    }
  }
});

test("entries that a crash left unstored are added at the next turn, and a turn that is offered twice is stored once", async () => {
  const drive = new Drive({ budget: 10_000, config: SETTINGS });
  try {
    await talk(drive, 3);
    const turnId = drive.begin(input(90));
    drive.append(turnId, answer(90));
    drive.transcript.append({ type: "turn_commit", turnId, outcome: "interrupted" });
    await drive.restart();
    await talk(drive, 1, 4);
    const text = texts(drive.sent.at(-1)?.messages ?? []);
    assert.equal(text.split("Answer 0090").length - 1, 1);
    await drive.commit(turnId);
    await talk(drive, 1, 5);
    assert.equal(texts(drive.sent.at(-1)?.messages ?? []).split("Answer 0090").length - 1, 1);
  } finally {
    await drive.end();
  }
});

test("sessions that match an ignore pattern leave nothing in the database", async () => {
  for (const [key, shown] of [
    ["ignoreSessions", true],
    ["statelessSessions", false],
  ] as const) {
    const drive = new Drive({ budget: 10_000, config: { [key]: ["ma*"] } });
    try {
      await talk(drive, 3);
      assert.equal(drive.lossless.session(SESSION), undefined);
      const text = texts(drive.sent.at(-1)?.messages ?? []);
      assert.equal(text.includes("Answer 0001"), shown);
      assert.match(text, /Request 0002/);
    } finally {
      await drive.end();
    }
  }
});

test("an announced fork begins with its parent's head, byte for byte, and no new summary", async () => {
  const drive = new Drive({ budget: 10_000, config: SETTINGS });
  try {
    await talk(drive, 30);
    const parent = drive.sent.at(-1);
    const child = { sessionId: "session0002", sessionKey: "main:child" };
    await drive.engine.prepareSubagentSpawn?.({
      parentSessionKey: "main",
      childSessionKey: child.sessionKey,
      contextMode: "fork",
      parentSessionId: SESSION,
      childSessionId: child.sessionId,
    });
    const nodes = drive.lossless.nodes(SESSION).length;
    await drive.engine.bootstrap?.({ ...drive.params(), ...child });
    const { messages } = await drive.engine.assemble({
      ...drive.params(),
      ...child,
      messages: [],
      prompt: "go",
    });
    assert.equal(JSON.stringify({ ...messages[0], entryId: undefined }), parent?.bytes[0]);
    assert.equal(drive.lossless.nodes(SESSION).length, nodes);
    assert.equal(drive.lossless.nodes(child.sessionId).length, 0);
  } finally {
    await drive.end();
  }
});

test("better summaries are swapped in when the provider's cache is cold, and only then", async () => {
  const text = ["Goal", "State", "Decisions and constraints", "Open asks"]
    .map((heading) => `## ${heading}\n- The MODEL says: berths.`)
    .join("\n");
  const drive = new Drive({
    budget: 20_000,
    config: { trigger: 9_000, headTokens: 2_000, tailTokens: 1_500 },
    llm: async ({ messages }) => {
      const asked = Array.from(
        (messages[0]?.content ?? "").matchAll(/these (?:changed files|exact strings): (.*)/g),
      );
      return {
        text: `${text}\n${asked.map(([, list]) => list).join()}`,
        provider: "t",
        model: "m",
        agentId: "main",
      };
    },
  });
  try {
    await talk(drive, 22);
    for (let run = 0; run < 3; run += 1) await drive.maintain();
    const before = drive.sent.at(-1)?.epoch;
    await talk(drive, 1, 22);
    assert.equal(drive.sent.at(-1)?.epoch, before);
    drive.promptCache = { expiresAt: Date.now() - 1 };
    await talk(drive, 1, 23);
    assert.notEqual(drive.sent.at(-1)?.epoch, before);
    assert.match(drive.sent.at(-1)?.bytes[0] ?? "", /The MODEL says/);
    const renewed = drive.sent.at(-1)?.epoch;
    await talk(drive, 1, 24);
    assert.equal(drive.sent.at(-1)?.epoch, renewed);
    assertGrowing(drive.sent);
  } finally {
    await drive.end();
  }
});
