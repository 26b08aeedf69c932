import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { engineContextPolicy } from "../../../packages/replay/src/engine/engine-policy.ts";
import { measure } from "../../../packages/replay/src/prompt-meter.ts";
import type { ContextPolicy } from "../../../packages/replay/src/context-policy.ts";
import { textOfMessage } from "../../../packages/replay/src/prompt-blocks.ts";
import type { RecordedSession } from "../../../packages/replay/src/recorded-session.ts";
import { WantedStrings } from "../../../packages/replay/src/wanted-strings.ts";
import type { ContextEngine } from "../../../packages/contract/src/engine/engine.ts";
import type { AssembleParams } from "../../../packages/contract/src/engine/engine-params.ts";
import { readSummary } from "../../../packages/contract/src/engine/summary.ts";
import { createLegacyEngine } from "../../../packages/host/src/engines/legacy/legacy-engine.ts";
import { longSession, round, says, sessionOf, user } from "./sessions.ts";

const TWO_TURNS = sessionOf([
  user("first question"),
  ...round("a", { path: "/one" }, "one"),
  says("first answer"),
  user("second question"),
  ...round("b", { path: "/two" }, "two"),
  says("second answer"),
]);

/** An engine that records its calls, and returns the messages unchanged. */
class Recorder {
  readonly calls: string[] = [];
  readonly assembled: AssembleParams[] = [];
  sessionFile = "";
  transcript: Promise<string[]> = Promise.resolve([]);

  engine(info: Partial<ContextEngine["info"]>, members: Partial<ContextEngine> = {}): ContextEngine {
    return {
      info: { id: "recorder", name: "Recorder", ...info },
      ingest: async ({ message }) => {
        this.calls.push(`ingest ${message.role}`);
        return { ingested: true };
      },
      assemble: async (params) => {
        this.calls.push(`assemble ${params.messages.length} ${params.prompt ?? "-"}`);
        this.assembled.push(params);
        return { messages: params.messages, estimatedTokens: 0 };
      },
      compact: async () => {
        this.calls.push("compact");
        return { ok: true, compacted: false, reason: "nothing" };
      },
      dispose: async () => {
        this.calls.push("dispose");
      },
      ...members,
    };
  }
}

async function replay(policy: ContextPolicy, session: RecordedSession): Promise<string[][]> {
  const run = await policy.open(session);
  const prompts: string[][] = [];
  for (const call of session.calls) {
    const { messages } = await run.assemble(call);
    prompts.push(messages.map((message) => message.entryId ?? "?"));
    await run.settle(call);
  }
  await run.close?.();
  return prompts;
}

const WHOLE = TWO_TURNS.calls.map(({ end }) =>
  TWO_TURNS.messages.slice(0, end).map(({ entryId }) => entryId),
);

test("an engine of call scope is called before every model call: the prompt at first, then with the live turn", async () => {
  const recorder = new Recorder();
  const engine = recorder.engine(
    { assembleScope: "call" },
    {
      afterTurn: async ({ messages, prePromptMessageCount }) => {
        recorder.calls.push(`afterTurn ${messages.length} ${prePromptMessageCount}`);
      },
    },
  );
  const prompts = await replay(
    engineContextPolicy("e", () => engine, { window: 200_000 }),
    TWO_TURNS,
  );
  assert.deepEqual(prompts, WHOLE);
  assert.deepEqual(recorder.calls, [
    "assemble 0 first question",
    "assemble 3 -",
    "afterTurn 4 0",
    "assemble 4 second question",
    "assemble 7 -",
    "afterTurn 8 4",
    "dispose",
  ]);
});

test("an engine of turn scope is called once a turn, and the live turn is appended", async () => {
  const recorder = new Recorder();
  const policy = engineContextPolicy("e", () => recorder.engine({}), { window: 200_000 });
  assert.deepEqual(await replay(policy, TWO_TURNS), WHOLE);
  const ingests = ["user", "assistant", "toolResult", "assistant"].map((role) => `ingest ${role}`);
  assert.deepEqual(recorder.calls, [
    "assemble 0 first question",
    ...ingests,
    "assemble 4 second question",
    ...ingests,
    "dispose",
  ]);
});

test("an engine that keeps the history itself gets the live turn only, and commits each turn", async () => {
  const recorder = new Recorder();
  const kept: string[] = [];
  const engine = recorder.engine(
    { history: "live", assembleScope: "call" },
    {
      assemble: async ({ messages, runtimeContext }) => {
        recorder.calls.push(`assemble ${messages.length}`);
        const path = [];
        for await (const entry of runtimeContext?.transcript.forward() ?? []) {
          if (entry.type === "message") path.push({ ...entry.message, entryId: entry.id });
        }
        return { messages: path, estimatedTokens: 0 };
      },
      commitTurn: async ({ advancementKey, admission, terminal, messages }) => {
        kept.push(`${advancementKey} ${admission.entryId} ${terminal.entryId} ${messages.length}`);
        assert.equal(admission.effectiveParentId, advancementKey === "t1" ? null : "e0000003");
        return { status: "committed" };
      },
      maintain: async () => {
        recorder.calls.push("maintain");
        return { changed: false, bytesFreed: 0, rewrittenEntries: 0 };
      },
    },
  );
  const prompts = await replay(
    engineContextPolicy("e", () => engine, { window: 200_000 }),
    TWO_TURNS,
  );
  assert.deepEqual(prompts, WHOLE);
  assert.deepEqual(kept, ["t1 e0000000 e0000003 4", "t2 e0000004 e0000007 4"]);
  assert.deepEqual(recorder.calls, [
    "assemble 0",
    "assemble 3",
    "maintain",
    "assemble 0",
    "assemble 3",
    "maintain",
    "dispose",
  ]);
});

test("history from before the first call is bootstrapped, with a file of the same lines", async () => {
  const recorder = new Recorder();
  let lines: string[] = [];
  let folder = "";
  const engine = recorder.engine(
    {},
    {
      bootstrap: async ({ sessionFile, sessionTarget }) => {
        lines = readFileSync(sessionFile, "utf8").trim().split("\n");
        folder = sessionTarget?.storePath ?? "";
        return { bootstrapped: true };
      },
    },
  );
  const session = {
    ...TWO_TURNS,
    calls: TWO_TURNS.calls.slice(2).map((call, index) => ({ ...call, index })),
  };
  const prompts = await replay(
    engineContextPolicy("e", () => engine, { window: 200_000 }),
    session,
  );
  assert.deepEqual(prompts, WHOLE.slice(2));
  assert.deepEqual(
    lines.map((line) => (JSON.parse(line) as { type: string }).type),
    ["session", "message", "message", "message", "message", "turn_commit"],
  );
  assert.equal(existsSync(folder), false);
});

test("a trigger below the budget requests compactions, and a refused one is not requested again at every call", async () => {
  const recorder = new Recorder();
  const session = longSession(3, 160, true);
  const policy = engineContextPolicy("e", () => recorder.engine({ ownsCompaction: true }), {
    window: 500_000,
    trigger: 40_000,
  });
  await replay(policy, session);
  const asked = recorder.calls.filter((call) => call === "compact").length;
  assert.ok(asked > 0 && asked < session.calls.length / 4, `asked ${asked} times`);
});

test("a compaction inside a turn is offered to an engine that intercepts, and its summary is used", async () => {
  const recorder = new Recorder();
  const engine = recorder.engine(
    { ownsCompaction: true, interceptsCompaction: true },
    {
      interceptCompaction: async ({ firstKeptEntryId, tokensBefore }) => ({
        handled: true,
        summary: "What was done is told here.",
        firstKeptEntryId,
        tokensBefore,
      }),
    },
  );
  const session = longSession(3, 200, true);
  const policy = engineContextPolicy("e", () => engine, { window: 64_000 });
  const run = await policy.open(session);
  let summaries = 0;
  for (const call of session.calls) {
    const { messages } = await run.assemble(call);
    const at = messages.findIndex((message) => readSummary(textOfMessage(message)) !== undefined);
    if (at >= 0) {
      summaries++;
      assert.equal(at, 1);
      assert.equal(messages[0]?.entryId, "e0000000");
    }
    await run.settle(call);
  }
  await run.close?.();
  assert.ok(summaries > 0);
  assert.equal(recorder.calls.includes("compact"), false);
});

test("legacy runs by one line: valid, within the window, with extractive summaries", async () => {
  for (const oneTurn of [false, true]) {
    const session = longSession(17, 240, oneTurn);
    const policy = engineContextPolicy("legacy", createLegacyEngine, { window: 64_000 });
    const result = await measure(policy, session, await WantedStrings.of(session));
    assert.ok(result.compactions > 0);
    assert.deepEqual(
      [result.invalidPrompts, result.lackingLiveInput, result.duplicates, result.overLimit],
      [0, 0, 0, 0],
    );
    assert.equal(result.brokenPrefixes, 0);
  }
});

test("inside a long turn an engine that leaves compactions to the host gets the built-in one", async () => {
  const recorder = new Recorder();
  const session = longSession(17, 240, true);
  const create = (): ContextEngine =>
    recorder.engine(
      {},
      {
        assemble: async ({ messages }) => ({ messages, estimatedTokens: 0 }),
        compact: async () => ({ ok: true, compacted: false, reason: "it compacts between turns only" }),
      },
    );
  const policy = engineContextPolicy("between turns", create, { window: 64_000 });
  const result = await measure(policy, session, await WantedStrings.of(session));
  assert.ok(result.compactions > 0);
  assert.deepEqual([result.overLimit, result.invalidPrompts, result.lackingLiveInput], [0, 0, 0]);
});
