/** Events, status and log of a compaction, and what they never contain. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { TurnEvent } from "../../../packages/contract/src/host/events.ts";
import { contextOverflowReply } from "../../servers/server.ts";
import { rotator } from "./rotating.ts";
import {
  callsBig,
  filler,
  ID,
  LaneSetting,
  ofType,
  ownSummary,
  recordingEngine,
  RESERVES,
  type Calls,
  type EngineSpec,
  type SettingOptions,
} from "./setting.ts";

const FIRST = filler(6_000, "amber");
const SECOND = filler(6_000, "birch");
const KEY = "project-heron";
const OVERFLOW = contextOverflowReply("openai-completions");

let setting: LaneSetting;

async function open(spec: EngineSpec, more: SettingOptions = {}): Promise<Calls> {
  const { engine, calls } = recordingEngine(spec);
  setting = await LaneSetting.open({
    engine,
    defaults: { toolResultMaxChars: 200_000 },
    log: "debug",
    ...more,
  });
  return calls;
}

function ask(prompt: string): Promise<TurnEvent[]> {
  return setting.bench.ask(setting.pagurus, prompt, { sessionKey: KEY });
}

async function history(): Promise<void> {
  await ask(FIRST);
  await ask(SECOND);
}

describe("compaction events", () => {
  afterEach(() => setting.end());

  it("have lane, trigger, backend, ownership, counts and handler: the queued lane", async () => {
    await open({ info: { ownsCompaction: true }, compact: ownSummary });
    await history();
    setting.turns.push(OVERFLOW);
    const events = await ask("go on");
    const [started] = ofType(events, "compaction.started");
    const [completed] = ofType(events, "compaction.completed");
    const common = { lane: "queued", trigger: "overflow", backend: "engine", ownsCompaction: true };
    const { tokensBefore = 0 } = started ?? {};
    assert.deepEqual(started, { type: "compaction.started", ...common, tokensBefore });
    const { tokensAfter = 0 } = completed ?? {};
    assert.deepEqual(completed, {
      type: "compaction.completed",
      ...common,
      tokensBefore,
      tokensAfter,
      handledBy: ID,
    });
    assert.ok(tokensAfter > 5_000 && tokensAfter < 7_000, "about the second turn is left");
    const order = events.map(({ type }) => type).filter((type) => /^compaction|^model.request/.test(type));
    assert.deepEqual(order, ["model.request", "compaction.started", "compaction.completed", "model.request"]);
  });

  it("have the runtime as backend in the in-attempt lane", async () => {
    await open({});
    await history();
    setting.turns.push(callsBig(14_500));
    const events = await ask("go on");
    const [started] = ofType(events, "compaction.started");
    const [completed] = ofType(events, "compaction.completed");
    const common = { lane: "in-attempt", trigger: "threshold", backend: "embedded", ownsCompaction: false };
    const { tokensBefore = 0 } = started ?? {};
    assert.deepEqual(started, { type: "compaction.started", ...common, tokensBefore });
    const { budget } = (await setting.pagurus.status({ sessionKey: KEY })).context;
    assert.ok(tokensBefore > budget, `${tokensBefore} tokens exceed the budget of ${budget}`);
    const { type, tokensAfter = 0, handledBy, lane, trigger, backend, ownsCompaction } = completed ?? {};
    assert.deepEqual(
      { type, lane, trigger, backend, ownsCompaction, handledBy },
      { type: "compaction.completed", ...common, handledBy: "built-in" },
    );
    assert.ok(
      tokensAfter <= budget && tokensAfter > 13_000,
      `${tokensAfter} tokens: about the tool's result`,
    );
  });

  it("have the runtime as backend where the configuration gives it compaction", async () => {
    await open({}, { compaction: { ...RESERVES, owner: "native" } });
    await history();
    setting.turns.push(OVERFLOW);
    const [completed] = ofType(await ask("go on"), "compaction.completed");
    assert.deepEqual([completed?.backend, completed?.handledBy], ["embedded", "built-in"]);
  });

  it("a failed one has the reason, the tokens before, and no handler", async () => {
    await open({ compact: async () => ({ ok: true, compacted: false, reason: "all of it is needed" }) });
    await history();
    const [failed, ...more] = ofType(await ask(filler(14_500, "cedar")), "compaction.failed");
    assert.deepEqual(more, []);
    assert.ok(failed && failed.tokensBefore > 14_000);
    assert.deepEqual(
      { ...failed, tokensBefore: 0 },
      {
        type: "compaction.failed",
        lane: "queued",
        trigger: "threshold",
        backend: "engine",
        ownsCompaction: false,
        tokensBefore: 0,
        handledBy: "recorder",
        reason: "all of it is needed",
      },
    );
  });

  it("none occurs while the context is within its budget", async () => {
    const calls = await open({ info: { interceptsCompaction: true } });
    await history();
    setting.turns.push(callsBig(5_000));
    const events = await ask("go on");
    assert.deepEqual(
      events.filter(({ type }) => type.startsWith("compaction")),
      [],
    );
    assert.deepEqual([calls.compact.length, calls.intercept.length], [0, 0]);
  });
});

describe("status", () => {
  afterEach(() => setting.end());

  it("lists the newest compactions first, with the values of the events", async () => {
    await open({ info: { interceptsCompaction: true } });
    await history();
    setting.turns.push(callsBig(14_500));
    const [inside] = ofType(await ask("look it up"), "compaction.completed");
    setting.turns.push(OVERFLOW);
    const [recovery] = ofType(await ask("go on"), "compaction.completed");
    for (const word of ["cedar", "dune"]) await ask(filler(3_000, word));
    const manual = await setting.pagurus.compact({ sessionKey: KEY, cwd: setting.bench.root });
    assert.equal(manual.compacted, true, manual.reason);
    const { compactions, recentCompactions } = await setting.pagurus.status({ sessionKey: KEY });
    assert.equal(compactions, 3);
    const facts = recentCompactions.map(({ entryId: _id, timestamp, ...fact }) => {
      assert.ok(Number.isFinite(Date.parse(timestamp)));
      return fact;
    });
    const counts = (facts: { tokensBefore?: number; tokensAfter?: number } | undefined) => ({
      tokensBefore: facts?.tokensBefore,
      tokensAfter: facts?.tokensAfter,
    });
    assert.deepEqual(facts, [
      { lane: "queued", trigger: "manual", handledBy: ID, ...counts(manual) },
      { lane: "queued", trigger: "overflow", handledBy: ID, ...counts(recovery) },
      { lane: "in-attempt", trigger: "threshold", handledBy: ID, ...counts(inside) },
    ]);
  });

  it("shows a smaller context after a compaction than before it", async () => {
    await open({});
    await history();
    const before = await setting.pagurus.status({ sessionKey: KEY });
    const { tokensAfter = 0 } = await setting.pagurus.compact({ sessionKey: KEY, cwd: setting.bench.root });
    const after = await setting.pagurus.status({ sessionKey: KEY });
    assert.ok(after.context.tokens < before.context.tokens);
    assert.ok(Math.abs(after.context.tokens - tokensAfter) <= 1);
    assert.equal(after.context.budget, before.context.budget);
  });
});

describe("debug lines", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "pagurus-successors-"));
  });
  afterEach(async () => {
    await setting.end();
    rmSync(folder, { recursive: true, force: true });
  });

  function fieldsOf(line: Record<string, unknown> | undefined): Record<string, string> {
    return Object.fromEntries(
      Object.entries(line ?? {})
        .filter(([name]) => !["level", "time", "pid", "msg"].includes(name))
        .map(([name, value]) => [name, typeof value]),
    );
  }

  it("name engine, ids, counts and durations of a compaction and its interception", async () => {
    await open({ info: { interceptsCompaction: true } });
    await history();
    setting.turns.push(callsBig(14_500));
    const events = await ask("look it up");
    const [completed] = ofType(events, "compaction.completed");
    const [started] = ofType(events, "turn.started");
    const [line, ...more] = setting.logged("compaction completed");
    assert.deepEqual(more, []);
    assert.deepEqual(fieldsOf(line), {
      lane: "string",
      trigger: "string",
      backend: "string",
      ownsCompaction: "boolean",
      engineId: "string",
      sessionId: "string",
      turnId: "string",
      durationMs: "number",
      tokensBefore: "number",
      tokensAfter: "number",
      handledBy: "string",
    });
    const { lane, trigger, engineId, turnId, sessionId, tokensAfter, handledBy } = line ?? {};
    assert.deepEqual([lane, trigger, engineId, handledBy], ["in-attempt", "threshold", ID, ID]);
    assert.deepEqual([turnId, sessionId], [started?.turnId, started?.sessionId]);
    assert.equal(tokensAfter, completed?.tokensAfter);
    const [interception] = setting.logged("compaction interception");
    assert.deepEqual(fieldsOf(interception), {
      engineId: "string",
      sessionId: "string",
      turnId: "string",
      trigger: "string",
      tokensBefore: "number",
      messageCount: "number",
      handled: "boolean",
      durationMs: "number",
    });
    assert.equal(interception?.["messageCount"], 4);
    assert.equal(interception?.["handled"], true);
  });

  it("report why an interception fell back to the default: a code for a failure", async () => {
    await open({
      info: { interceptsCompaction: true },
      intercept: () => Promise.reject(new Error("amber amber, said the engine")),
    });
    await history();
    setting.turns.push(callsBig(14_500));
    await ask("look it up");
    const [line] = setting.logged("compaction interception");
    assert.deepEqual([line?.["handled"], line?.["reason"]], [false, "engine_failed"]);
  });

  it("name who cancelled", async () => {
    await open({}, { plugin: (api) => api.on("session_before_compact", () => ({ cancel: true })) });
    await history();
    setting.turns.push(callsBig(14_500));
    await ask("look it up");
    const [line] = setting.logged("compaction not made");
    assert.equal(line?.["handledBy"], "hooks");
    assert.equal(line?.["lane"], "in-attempt");
  });

  it("contain no text of the conversation, no credential and no session key", async () => {
    await open({ info: { interceptsCompaction: true }, compact: rotator(folder) });
    await history();
    setting.turns.push(callsBig(14_500));
    await ask("look it up");
    setting.turns.push(OVERFLOW);
    await ask("go on");
    await setting.pagurus.compact({ sessionKey: KEY, cwd: setting.bench.root, focus: "the focus words" });
    const log = setting.log();
    assert.match(log, /compaction completed/);
    assert.match(log, /session rotated/);
    const never = [
      "amber",
      "birch",
      "cobalt",
      "look it up",
      "the focus words",
      "successor starts",
      "test-key",
    ];
    for (const text of [...never, KEY, "interceptCompaction() wrote"]) {
      assert.ok(!log.includes(text), `the log holds "${text}"`);
    }
  });
});
