/** A compaction that moves the session to a successor: from each place, permanently, or not at all. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { CompactResult } from "../../../packages/contract/src/engine/engine-compaction.ts";
import type { ContextEngine } from "../../../packages/contract/src/engine/engine.ts";
import type { HookMap } from "../../../packages/contract/src/host/hooks.ts";
import type { TranscriptEntry } from "../../../packages/contract/src/session/transcript.ts";
import { contextOverflowReply } from "../../servers/server.ts";
import { words } from "../in-process.ts";
import { inResult, ROTATED_SUMMARY, rotator, type Naming } from "./rotating.ts";
import { callsBig, filler, LaneSetting, ofType, recordingEngine, summaryIn, type Calls } from "./setting.ts";

const FIRST = filler(6_000, "amber");
const SECOND = filler(6_000, "birch");

function outlineOf(entries: readonly TranscriptEntry[]): string[] {
  return entries.flatMap((entry) =>
    entry.type === "message" ? [`${entry.message.role}:${words(entry.message).slice(0, 6)}`] : [],
  );
}

describe("a rotating compaction", () => {
  let folder: string;
  let setting: LaneSetting;
  let calls: Calls;
  let ended: HookMap["session_end"]["payload"][];
  /** Count of the tool's effects. */
  let effects: number;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "pagurus-successors-"));
    ended = [];
    effects = 0;
  });
  afterEach(async () => {
    await setting.end();
    rmSync(folder, { recursive: true, force: true });
  });

  async function open(compact: ContextEngine["compact"], more: Partial<ContextEngine> = {}): Promise<string> {
    const made = recordingEngine({ info: { ownsCompaction: true }, compact });
    calls = made.calls;
    setting = await LaneSetting.open({
      engine: { ...made.engine, ...more },
      defaults: { toolResultMaxChars: 200_000 },
      plugin: (api) => {
        api.on("session_end", (payload) => void ended.push(payload));
        api.registerTool({
          name: "change",
          description: "Changes the world.",
          parameters: { type: "object", properties: {} },
          execute: () => {
            effects += 1;
            return Promise.resolve({
              content: [{ type: "text", text: `changed ${effects}` }],
              isError: false,
            });
          },
        });
      },
    });
    await setting.ask(FIRST);
    await setting.ask(SECOND);
    const { session } = await setting.status();
    assert.ok(session);
    return session.sessionId;
  }

  /** The session is the successor now, under its key, and the old one is unchanged. */
  async function assertMoved(from: string, to: string): Promise<void> {
    const { session } = await setting.status();
    assert.ok(session);
    const { sessionId, sessionKey, generation, current } = session;
    assert.deepEqual([sessionId, sessionKey, generation, current], [to, "main", 2, true]);
    const old = setting.pagurus
      .sessions()
      .list()
      .find((record) => record.sessionId === from);
    assert.deepEqual([old?.sessionKey, old?.generation, old?.current], ["main", 1, false]);
    assert.deepEqual(outlineOf(await setting.entries(from)).slice(0, 4), [
      "user:amber ",
      "assistant:ok",
      "user:birch ",
      "assistant:ok",
    ]);
    const rotated = ended.filter(({ reason }) => reason === "rotated");
    assert.deepEqual(rotated, [{ reason: "rotated", nextSessionId: to }]);
  }

  /** A later turn, and one of a new process, continue in the successor. */
  async function assertGoesOn(to: string): Promise<void> {
    for (const prompt of ["a later turn", "a turn of a new process"]) {
      await setting.ask(prompt);
      const body = setting.turnBodies().at(-1);
      assert.equal(summaryIn(body), ROTATED_SUMMARY);
      assert.ok(!body?.messages.some(({ text }) => text.includes(FIRST)));
      assert.equal(body?.messages.at(-1)?.text, prompt);
      assert.equal(calls.assemble.at(-1)?.sessionId, to);
      assert.equal(calls.afterTurn.at(-1)?.sessionId, to);
      assert.equal((await setting.status()).session?.sessionId, to);
      await setting.restart();
    }
  }

  it("from /compact: later turns are the successor's", async () => {
    const from = await open(rotator(folder));
    assert.equal((await setting.compact()).compacted, true);
    await assertMoved(from, "successor-1");
    await assertGoesOn("successor-1");
  });

  it("before a prompt: the same turn is answered in the successor", async () => {
    const from = await open(rotator(folder));
    const prompt = filler(14_500, "cedar");
    const events = await setting.ask(prompt);
    assert.equal(calls.compact.length, 1);
    assert.equal(ofType(events, "compaction.completed")[0]?.trigger, "threshold");
    await assertMoved(from, "successor-1");
    const body = setting.turnBodies().at(-1);
    assert.equal(summaryIn(body), ROTATED_SUMMARY);
    assert.ok(body?.messages.at(-1)?.text.endsWith(prompt));
    // The input is in the successor once, and the old generation records that it went there.
    assert.equal(outlineOf(await setting.entries()).filter((line) => line === "user:cedar ").length, 1);
    await assertGoesOn("successor-1");
  });

  it("from overflow recovery: the retry has the recorded results, and no tool runs twice", async () => {
    const from = await open(rotator(folder));
    setting.turns.push(
      { toolCalls: [{ id: "call-1", name: "change", arguments: {} }] },
      contextOverflowReply("openai-completions"),
      { text: "done" },
    );
    const events = await setting.ask("change it");
    assert.equal(effects, 1);
    assert.equal(calls.compact.length, 1);
    await assertMoved(from, "successor-1");
    const retry = setting.turnBodies().at(-1);
    assert.equal(summaryIn(retry), ROTATED_SUMMARY);
    assert.deepEqual(
      retry?.messages.slice(-2).map(({ role, calls: made, results }) => [role, made.length, results]),
      [
        ["assistant", 1, []],
        ["tool", 0, [{ id: "call-1", text: "changed 1" }]],
      ],
    );
    assert.deepEqual(outlineOf(await setting.entries()), [
      "user:birch ",
      "assistant:ok",
      "user:change",
      "assistant:[toolC",
      "toolResult:change",
      "assistant:done",
    ]);
    const notices = ofType(events, "notice").filter(({ kind }) => kind === "session_rotated");
    assert.equal(notices.length, 1);
    assert.match(notices[0]?.detail ?? "", /moved the session to successor-1/);
    const last = events.at(-1);
    assert.equal(last?.type === "turn.completed" && last.sessionId, "successor-1");
    await assertGoesOn("successor-1");
    assert.equal(effects, 1);
  });

  it("the turn is passed to the engine once, with entries that the successor has", async () => {
    await open(rotator(folder));
    const before = calls.afterTurn.length;
    setting.turns.push(callsBig(200), contextOverflowReply("openai-completions"), { text: "done" });
    await setting.ask("look it up");
    const taken = calls.afterTurn.slice(before);
    assert.equal(taken.length, 1);
    const ids = new Set((await setting.entries()).map(({ id }) => id));
    const { messages = [], prePromptMessageCount = 0, sessionId } = taken[0] ?? {};
    assert.equal(sessionId, "successor-1");
    const turn = messages.slice(prePromptMessageCount);
    assert.deepEqual(
      turn.map(({ role, entryId }) => [role, ids.has(entryId ?? "")]),
      [
        ["user", true],
        ["assistant", true],
        ["toolResult", true],
        ["assistant", true],
      ],
    );
    const { lastTurn, interruptedTurns } = await setting.status();
    assert.equal(lastTurn?.outcome, "completed");
    assert.deepEqual(interruptedTurns, []);
  });

  const namings: [string, Naming][] = [
    ["in its result", inResult],
    [
      "in its result's session target",
      ({ sessionId, sessionFile }, { sessionTarget }) => {
        assert.ok(sessionTarget);
        return { result: { sessionTarget: { ...sessionTarget, sessionId }, sessionFile } };
      },
    ],
    ["beside its result", (successor) => successor],
    ["in both places", (successor) => ({ ...successor, result: successor })],
  ];
  for (const [title, naming] of namings) {
    it(`is taken from a compact() that names its successor ${title}`, async () => {
      const from = await open(rotator(folder, naming));
      assert.equal((await setting.compact()).compacted, true);
      await assertMoved(from, "successor-1");
    });
  }

  it("a result that names the present session moves nothing", async () => {
    const from = await open(({ sessionId, sessionFile }) =>
      Promise.resolve({ ok: true, compacted: true, result: { tokensBefore: 1, sessionId, sessionFile } }),
    );
    assert.equal((await setting.compact()).compacted, true);
    const { session } = await setting.status();
    assert.deepEqual([session?.sessionId, session?.generation], [from, 1]);
    assert.deepEqual(ended, []);
  });

  const file = (name: string, content: string): string => {
    const path = join(folder, name);
    writeFileSync(path, content);
    return path;
  };
  const bad: [string, () => { sessionId: string; sessionFile?: string }][] = [
    ["a file that does not exist", () => ({ sessionId: "next", sessionFile: join(folder, "none.jsonl") })],
    [
      "a file of garbage",
      () => ({ sessionId: "next", sessionFile: file("bad.jsonl", "no JSON here\n\0\n") }),
    ],
    ["an empty file", () => ({ sessionId: "next", sessionFile: file("empty.jsonl", "") })],
    ["a folder as its file", () => ({ sessionId: "next", sessionFile: folder })],
    [
      "a file whose entry is broken",
      () => {
        const header = {
          type: "session",
          version: 3,
          id: "next",
          timestamp: "2026-01-01T00:00:00Z",
          cwd: "/",
        };
        return {
          sessionId: "next",
          sessionFile: file("cut.jsonl", `${JSON.stringify(header)}\n{"type":"mess\n`),
        };
      },
    ],
    ["an id that no session has, and no file", () => ({ sessionId: "nobody" })],
    ["an id that cannot name a file", () => ({ sessionId: "../outside" })],
  ];
  for (const [title, successor] of bad) {
    it(`names ${title} as its successor: refused with a degradation, the session is unchanged`, async () => {
      const answer = (): Promise<CompactResult> =>
        Promise.resolve({ ok: true, compacted: true, result: { tokensBefore: 1, ...successor() } });
      const from = await open(answer);
      const before = await setting.entries();
      const manual = await setting.compact();
      assert.equal(manual.compacted, false);
      assert.match(manual.reason ?? "", /^the successor .* that compact\(\) names was not taken: /);
      setting.turns.push(contextOverflowReply("openai-completions"));
      const events = await setting.run("will not fit");
      const [degraded] = ofType(events, "context.degraded");
      assert.equal(degraded?.stage, "compact");
      assert.match(degraded?.reason ?? "", /was not taken/);
      const [failed] = ofType(events, "turn.failed");
      assert.equal(failed?.error.code, "context_overflow");
      const { session, compactions } = await setting.status();
      assert.deepEqual([session?.sessionId, session?.generation, compactions], [from, 1, 0]);
      assert.deepEqual((await setting.entries()).slice(0, before.length), before);
      assert.deepEqual(ended, []);
      await setting.restart();
      await setting.ask("go on");
      assert.ok(
        setting
          .turnBodies()
          .at(-1)
          ?.messages.some(({ text }) => text === FIRST),
      );
    });
  }

  const elsewhere = [{ agentId: "other" }, { sessionKey: "other" }, { storePath: "/nowhere" }];
  for (const part of elsewhere) {
    it(`names a target of another ${Object.keys(part)[0]}: refused, the session is unchanged`, async () => {
      const naming: Naming = ({ sessionId, sessionFile }, { sessionTarget }) => {
        assert.ok(sessionTarget);
        return { result: { sessionTarget: { ...sessionTarget, sessionId, ...part }, sessionFile } };
      };
      const from = await open(rotator(folder, naming));
      const { compacted, reason } = await setting.compact();
      assert.equal(compacted, false);
      assert.match(reason ?? "", /not of this session's agent, key and store/);
      const { session } = await setting.status();
      assert.deepEqual([session?.sessionId, session?.sessionKey, session?.generation], [from, "main", 1]);
      assert.deepEqual(ended, []);
    });
  }

  it("waits for a turn that the engine has not taken yet: refused, then moved once it is taken", async () => {
    let broken = true;
    const from = await open(rotator(folder), {
      afterTurn: () => (broken ? Promise.reject(new Error("full")) : Promise.resolve()),
    });
    const refused = await setting.compact();
    assert.equal(refused.compacted, false);
    assert.match(refused.reason ?? "", /the engine has not taken the turn/);
    assert.equal((await setting.status()).session?.sessionId, from);
    broken = false;
    await setting.ask("more");
    assert.equal((await setting.compact()).compacted, true);
    assert.equal((await setting.status()).session?.generation, 2);
  });

  it("an input that even the successor cannot answer is taken back there", async () => {
    const from = await open(rotator(folder));
    const overflow = contextOverflowReply("openai-completions");
    setting.turns.push(overflow, overflow);
    const [failed] = ofType(await setting.run("will not fit"), "turn.failed");
    assert.equal(failed?.error.code, "context_overflow");
    await assertMoved(from, "successor-1");
    assert.deepEqual(outlineOf(await setting.entries()), ["user:birch ", "assistant:ok"]);
    await assertGoesOn("successor-1");
  });

  it("a second rotation follows the first, each generation stays readable", async () => {
    const from = await open(rotator(folder));
    await setting.compact();
    await setting.ask("more");
    await setting.compact();
    const generations = setting.pagurus.sessions().list();
    const facts = generations.map(({ sessionId, generation, current }) => [generation, sessionId, current]);
    assert.deepEqual(
      facts.toSorted(([one], [other]) => Number(one) - Number(other)),
      [
        [1, from, false],
        [2, "successor-1", false],
        [3, "successor-2", true],
      ],
    );
    assert.deepEqual(outlineOf(await setting.entries("successor-1")), [
      "user:birch ",
      "assistant:ok",
      "user:more",
      "assistant:ok",
    ]);
    assert.deepEqual(outlineOf(await setting.entries()), ["user:more", "assistant:ok"]);
  });
});
