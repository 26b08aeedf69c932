/** What the next turn, and a reader of receipts, know after a compaction between turns. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { filler, LaneSetting, recordingEngine } from "./setting.ts";

const usage = { input: 20_000, output: 10 };
const TURNS = [
  { text: filler(3_000) },
  { text: filler(9_000) },
  { text: "ok", usage },
  { text: "ok", usage },
];

test("a compaction between turns drops the usage of the request before it, and its receipts are shown", async () => {
  const { engine, calls } = recordingEngine();
  const usage = { input: 20_000, output: 10 };
  const turns = [
    { text: filler(3_000) },
    { text: filler(9_000) },
    { text: "ok", usage },
    { text: "ok", usage },
  ];
  const setting = await LaneSetting.open({ engine, turns });
  try {
    for (const word of ["amber", "birch", "cedar"]) await setting.ask(filler(500, word));
    const { turnId } = (await setting.pagurus.context.receipts({})).at(-1) ?? assert.fail();
    assert.ok((await setting.compact()).compacted);
    const shown = await setting.pagurus.context.receipts({});
    assert.deepEqual(new Set(shown.map(({ purpose }) => purpose)), new Set(["compaction"]));
    assert.notEqual(shown[0]?.turnId, turnId);
    await setting.ask("dune");
    const { runtimeContext } = calls.assemble.at(-1) ?? assert.fail();
    assert.equal(runtimeContext?.currentTokenCount, undefined);
    assert.equal(runtimeContext?.usage, undefined);
    const [newest] = await setting.pagurus.context.receipts({});
    assert.equal(newest?.purpose, undefined);
    await setting.ask("elm");
    assert.ok(calls.assemble.at(-1)?.runtimeContext?.currentTokenCount);
  } finally {
    await setting.end();
  }
});

test("a compaction in a turn that ends before its own request drops the usage of the request before it", async () => {
  const { engine, calls } = recordingEngine();
  const setting = await LaneSetting.open({ engine, turns: TURNS });
  try {
    for (const word of ["amber", "birch", "cedar"]) await setting.ask(filler(500, word));
    const events = await setting.run(filler(28_000, "dune"));
    assert.ok(events.some(({ type }) => type === "compaction.completed"));
    const last = events.at(-1);
    assert.equal(last?.type === "turn.failed" && last.error.code, "live_turn_too_large");
    await setting.ask("elm");
    assert.equal(calls.assemble.at(-1)?.runtimeContext?.currentTokenCount, undefined);
  } finally {
    await setting.end();
  }
});
