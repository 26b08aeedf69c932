import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ContextEngine } from "../../../packages/contract/src/engine/engine.ts";
import type { CompactParams } from "../../../packages/contract/src/engine/engine-compaction.ts";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import type { TurnRun } from "../../../packages/contract/src/host/run.ts";
import { turnAbout } from "../../runner/short-form.ts";
import { engineWith, of, raise, withFault, type Mode } from "./fault-bench.ts";
import { everyOther } from "../../runner/long-tests.ts";
import { turns } from "../../runner/loop-turns.ts";

/** Resolves when the turn has ended: answers that wait for it come after their deadline. */
let afterTurn = Promise.withResolvers<void>();

interface Fault {
  what: string;
  answer(params: CompactParams): unknown;
  /** Pattern of the degradation and of the failed compaction. */
  says: RegExp;
  /** The engine itself reports no failure. */
  quiet?: boolean;
  timeoutSeconds?: number;
}

async function pathOf(params: CompactParams): Promise<AgentMessage[]> {
  const messages: AgentMessage[] = [];
  for await (const entry of params.runtimeContext?.transcript.forward() ?? [])
    if (entry.type === "message") messages.push({ ...entry.message, entryId: entry.id });
  return messages;
}

/** A valid cut at the middle of the history, overlaid with the fault. */
async function compacted(params: CompactParams, more: object = {}): Promise<unknown> {
  const messages = await pathOf(params);
  const users = messages.filter(({ role }) => role === "user");
  const firstKeptEntryId = users.at(-2)?.entryId;
  const result = { summary: "What the engine says.", firstKeptEntryId, tokensBefore: 1, ...more };
  return { ok: true, compacted: true, result };
}

const FAULTS: Fault[] = [
  { what: "throws", answer: () => raise(new Error("it broke")), says: /faulty.*it broke/ },
  {
    what: "rejects with its input",
    answer: async (params) => raise(new Error(`cannot read:\n${JSON.stringify(await pathOf(params))}`)),
    says: /faulty.*cannot read/,
  },
  {
    what: "rejects with a value without a message",
    answer: () => Promise.reject(Object.create(null)),
    says: /faulty/,
  },
  { what: "returns null", answer: () => null, says: /faulty.*invalid result.*no object/ },
  { what: "returns a string", answer: () => "compacted", says: /faulty.*invalid result.*no object/ },
  { what: "reports neither ok nor compacted", answer: () => ({}), says: /faulty.*invalid result/ },
  {
    what: "gives a result that is a string",
    answer: () => ({ ok: true, compacted: true, result: "short" }),
    says: /faulty.*invalid result/,
  },
  {
    what: "gives an empty summary",
    answer: (params) => compacted(params, { summary: " " }),
    says: /faulty.*invalid result.*empty summary/,
  },
  {
    what: "names no first kept entry",
    answer: (params) => compacted(params, { firstKeptEntryId: undefined }),
    says: /no first kept entry/,
  },
  {
    what: "names a first kept entry that is no word",
    answer: (params) => compacted(params, { firstKeptEntryId: 7 }),
    says: /first kept entry|not taken/,
  },
  {
    what: "names an unknown first kept entry",
    answer: (params) => compacted(params, { firstKeptEntryId: "nobody" }),
    says: /not taken/,
  },
  {
    what: "splits a tool call from its result",
    answer: async (params) => {
      const result = (await pathOf(params)).findLast(({ role }) => role === "toolResult");
      return compacted(params, { firstKeptEntryId: result?.entryId });
    },
    says: /not taken/,
  },
  {
    what: "gives a summary longer than what it replaces",
    answer: (params) => compacted(params, { summary: "A long word. ".repeat(10_000) }),
    says: /not taken.*smaller/,
  },
  {
    what: "gives NaN tokensBefore",
    answer: (params) => compacted(params, { tokensBefore: NaN }),
    says: /tokensBefore/,
  },
  {
    what: "gives details that are no JSON",
    answer: (params) => compacted(params, { details: { many: 1n } }),
    says: /not taken.*JSON/,
  },
  {
    what: "reports a failure",
    answer: () => ({ ok: false, compacted: false, reason: "no room on my shelf" }),
    says: /no room on my shelf/,
  },
  {
    what: "reports a failure with a reason that is no text",
    answer: () => ({ ok: false, compacted: false, reason: Object.create(null) as string }),
    says: /faulty/,
  },
  {
    what: "has nothing to compact",
    answer: () => ({ ok: true, compacted: false, reason: "nothing to compact" }),
    says: /nothing to compact/,
    quiet: true,
  },
  {
    what: "hangs",
    answer: () => new Promise(() => undefined),
    says: /took longer than 1 s/,
    timeoutSeconds: 1,
  },
  {
    what: "answers after its deadline",
    answer: (params) => afterTurn.promise.then(() => compacted(params)),
    says: /took longer than 1 s/,
    timeoutSeconds: 1,
  },
];

function compacting(answer: Fault["answer"], info: Partial<ContextEngine["info"]> = {}): ContextEngine {
  return engineWith(
    { compact: ((params: CompactParams) => answer(params)) as ContextEngine["compact"] },
    info,
  );
}

describe("an engine's compact()", () => {
  for (const [index, { what, answer, says, quiet, timeoutSeconds }] of everyOther(FAULTS).entries()) {
    for (const mode of turnAbout<Mode>(["default", "safeguard"], index)) {
      it(`that ${what} leaves the history as it is (${mode})`, async () => {
        const options = { engine: compacting(answer), mode, ...(timeoutSeconds ? { timeoutSeconds } : {}) };
        await withFault(options, async (fault) => {
          afterTurn = Promise.withResolvers();
          const before = fault.bytes();
          const played = await fault.cross("queued");
          assert.equal(played.last.type, "turn.completed", JSON.stringify(played.last));
          // Later answers arrive now.
          afterTurn.resolve();
          await turns();
          assert.equal(of(played.events, "compaction.started").length, 1);
          assert.equal(of(played.events, "compaction.completed").length, 0);
          assert.match(of(played.events, "compaction.failed")[0]?.reason ?? "", says);
          const reported = of(played.events, "context.degraded").filter(({ stage }) => stage === "compact");
          assert.equal(reported.length, quiet ? 0 : 1, JSON.stringify(reported));
          if (!quiet) assert.match(reported[0]?.reason ?? "", says);
          const stages = (await fault.degraded()).map(({ stage }) => stage);
          assert.ok(stages.includes("trim"), "what the model does not see is said");
          if (!quiet) assert.ok(stages.includes("compact"));
          assert.ok(!fault.entries().some(({ type }) => type === "compaction"));
          // It is still over its budget, so the next turn tries again in each enabled lane.
          await fault.assertSound(before, played, { again: mode === "default" ? 2 : 1 });
        });
      });
    }
  }

  it("that reports a compaction and changed nothing is not retried forever", async () => {
    let asked = 0;
    const engine = compacting(
      () => {
        asked += 1;
        return { ok: true, compacted: true };
      },
      { ownsCompaction: true },
    );
    await withFault({ engine }, async (fault) => {
      const before = fault.bytes();
      const played = await fault.play("look:0,look:0,look:0,look:0", undefined, 10);
      assert.equal(played.last.type, "turn.completed", JSON.stringify(played.last));
      assert.equal(asked, 1, "once in the turn");
      const [completed] = of(played.events, "compaction.completed");
      assert.equal(completed?.tokensAfter, completed?.tokensBefore, "no saving is claimed");
      const reasons = (await fault.degraded()).filter(({ stage }) => stage === "compact");
      assert.match(reasons[0]?.reason ?? "", /faulty.*not smaller/);
      await fault.assertSound(before, played, { again: 1 });
    });
  });

  it("that answers after the turn was aborted changes nothing", async () => {
    const asked = Promise.withResolvers<void>();
    const late = Promise.withResolvers<void>();
    let calls = 0;
    const engine = compacting(async (params) => {
      calls += 1;
      if (calls > 1) return { ok: true, compacted: false, reason: "nothing" };
      asked.resolve();
      await late.promise;
      return compacted(params);
    });
    await withFault({ engine }, async (fault) => {
      const before = fault.bytes();
      let running: TurnRun | undefined;
      const playing = fault.cross("queued", (run) => {
        running = run;
      });
      await asked.promise;
      running?.abort();
      const played = await playing;
      assert.ok(played.last.type === "turn.completed" && played.last.stopReason === "aborted");
      const ended = fault.bytes();
      late.resolve();
      await turns();
      assert.ok(fault.bytes().equals(ended), "the late answer writes nothing");
      await fault.assertSound(before, played, { again: 1 });
    });
  });

  it("that throws at /compact is reported and changes nothing", async () => {
    await withFault({ engine: compacting(() => raise(new Error("it broke"))) }, async (fault) => {
      const before = fault.bytes();
      const answer = await fault.pagurus.compact({ cwd: fault.bench.root });
      assert.equal(answer.compacted, false);
      assert.match(answer.reason ?? "", /faulty.*it broke/);
      // Only the record of the failure.
      assert.ok(fault.bytes().subarray(0, before.length).equals(before));
      const added = fault.bytes().subarray(before.length).toString().trim().split("\n");
      assert.deepEqual(
        added.map((line) => (JSON.parse(line) as { customType?: string }).customType),
        ["pagurus.degraded"],
      );
    });
  });
});
