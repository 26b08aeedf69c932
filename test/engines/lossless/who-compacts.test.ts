/** Who compacts: the host at the engine's request, or the engine itself when the host does not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { LlmComplete } from "../../../packages/contract/src/model.ts";
import { answer, input, round } from "../../../packages/testkit/src/engine/scripted-conversation.ts";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { assertGrowing, Drive, texts } from "./drive.ts";

const SETTINGS = { trigger: 8_000 };

test("the context stays within the budget even with a host that never compacts", async () => {
  // Blocks of passages would go where the host keeps a context that is over the budget.
  const drive = new Drive({ budget: 8_000, config: { ...SETTINGS, recall: false } });
  drive.obeys = false;
  try {
    for (let index = 0; index < 40; index += 1)
      await drive.turn(input(index), [round(index, 0, 2, 150), round(index, 1, 1, 150)], answer(index, 40));
    assert.equal(drive.compactions, 0);
    const wishes = drive.sent.filter(({ result }) => result.wantsCompaction === true).length;
    assert.ok(wishes > 0, "the host was never asked");
    const over = drive.sent.filter(({ tokens, result }) => tokens > 8_000 && result.wantsCompaction !== true);
    assert.deepEqual(over, []);
    assertGrowing(drive.sent);
    assert.match(texts(drive.sent.at(-1)?.messages ?? []), /<conversation_summary>/);
  } finally {
    await drive.end();
  }
});

test("every compaction by the host is an entry of the transcript, and so survives the loss of the database", async () => {
  const drive = new Drive({ budget: 16_000, config: SETTINGS });
  try {
    for (let index = 0; index < 30; index += 1)
      await drive.turn(input(index), [round(index, 0, 2, 150)], answer(index, 40));
    const entries = drive.transcript.entries.filter(({ type }) => type === "compaction");
    const epochs = new Set(drive.sent.map(({ epoch }) => epoch).filter((epoch) => epoch !== "whole"));
    assert.ok(epochs.size > 1);
    assert.equal(entries.length, epochs.size);
  } finally {
    await drive.end();
  }
});

test("a cut of the live turn that the host did not apply leaves the input in place, once", async () => {
  const drive = new Drive({ budget: 30_000, config: SETTINGS });
  try {
    await drive.turn(input(0), [round(0, 0)], answer(0));
    const turnId = drive.begin({ role: "user", content: "Look after all berths." });
    for (let step = 0; step < 60; step += 1)
      for (const message of round(1, step, 1, 200)) drive.append(turnId, message);
    // The engine has compacted; its summary was never written to the transcript.
    const { compacted } = await drive.engine.compact({
      ...drive.params({ turnId }),
      tokenBudget: drive.budget,
      force: true,
    });
    assert.ok(compacted);
    const { messages } = await drive.call(turnId);
    const inputs = messages.filter((message) => texts([message]) === '["Look after all berths."]');
    assert.equal(inputs.length, 1);
  } finally {
    await drive.end();
  }
});

test("after the loss of its database the engine continues with the same bytes, including model summaries and origins", async () => {
  const sections = ["Goal", "State", "Decisions and constraints", "Open asks"];
  const summary = sections.map((heading) => `## ${heading}\n- The berths are looked after.`).join("\n");
  const llm: LlmComplete = async ({ messages }) => {
    const asked = JSON.stringify(messages).match(/these (?:changed files|exact strings): [^"\\]*/g) ?? [];
    const text = [summary, ...asked].join("\n");
    return { text, provider: "test", model: "model", agentId: "main", stopReason: "stop" };
  };
  const drive = new Drive({ budget: 16_000, config: SETTINGS, llm });
  try {
    for (let index = 0; index < 40; index += 1) {
      await drive.turn(input(index), [round(index, 0, 2, 150)], answer(index, 40));
      await drive.maintain();
    }
    const before = drive.sent.at(-1);
    const nodesBefore = drive.lossless.frontier("session0001").nodeIds.map((id) => drive.lossless.node(id));
    assert.ok(nodesBefore.some((node) => node?.origin === "model"));
    await drive.engine.dispose?.();
    for (const end of ["", "-wal", "-shm"])
      rmSync(join(drive.dir, "agent", `lossless.db${end}`), { force: true });
    drive.reopen();
    await drive.turn(input(40), [], answer(40, 10));
    const after = drive.sent.at(-1);
    assert.equal(after?.epoch, before?.epoch);
    assert.deepEqual(after?.bytes.slice(0, before?.bytes.length), before?.bytes);
    const nodes = drive.lossless.frontier("session0001").nodeIds.map((id) => drive.lossless.node(id));
    const shown = (list: typeof nodes): unknown[] =>
      list.map((node) => [node?.nodeId, node?.origin, node?.model, node?.text, node?.firstEntryId]);
    assert.deepEqual(shown(nodes), shown(nodesBefore));
  } finally {
    await drive.end();
  }
});
