import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ContextEngine } from "../../../packages/contract/src/engine/engine.ts";
import type { CompactionInterceptRequest } from "../../../packages/contract/src/engine/engine-compaction.ts";
import type { TurnRun } from "../../../packages/contract/src/host/run.ts";
import { engineWith, GOOD_SUMMARY, of, raise, withFault, type Mode } from "./fault-bench.ts";
import { turnAbout } from "../../runner/short-form.ts";
import { everyOther } from "../../runner/long-tests.ts";
import { turns } from "../../runner/loop-turns.ts";

interface Fault {
  what: string;
  answer(request: CompactionInterceptRequest): unknown;
  /** Pattern of the degradation; absent: the refusal is allowed and only logged. */
  says?: RegExp;
  /** The compaction's deadline, when the fault depends on it. */
  timeoutSeconds?: number;
}

const DEADLINE_MS = 1_000;
/** Resolves when the turn has ended: answers that wait for it come after their deadline. */
let afterTurn = Promise.withResolvers<void>();

function replaced(request: CompactionInterceptRequest, more: object = {}): unknown {
  const { firstKeptEntryId, tokensBefore } = request;
  return { handled: true, summary: "What the engine says.", firstKeptEntryId, tokensBefore, ...more };
}

/** The entry of a tool's result: a cut there would split it from its call. */
function resultEntry({ messages }: CompactionInterceptRequest): string | undefined {
  return messages.findLast(({ role }) => role === "toolResult")?.entryId;
}

const FAULTS: Fault[] = [
  { what: "throws", answer: () => raise(new Error("it broke")), says: /it broke/ },
  {
    what: "rejects with its input",
    answer: (request) => Promise.reject(new Error(`cannot read:\n${JSON.stringify(request.messages)}`)),
    says: /cannot read/,
  },
  { what: "rejects with nothing", answer: () => Promise.reject(), says: /undefined|failed/ },
  {
    what: "rejects with a value without a message",
    answer: () => Promise.reject(Object.create(null)),
    says: /fail/,
  },
  { what: "returns null", answer: () => null, says: /invalid result.*no object/ },
  { what: "returns a string", answer: () => "a summary", says: /invalid result.*no object/ },
  { what: "returns nothing", answer: () => undefined, says: /invalid result.*no object/ },
  {
    what: "gives no summary",
    answer: (request) => replaced(request, { summary: undefined }),
    says: /no summary/,
  },
  {
    what: "gives an empty summary",
    answer: (request) => replaced(request, { summary: " \n" }),
    says: /no summary/,
  },
  {
    what: "names no first kept entry",
    answer: (request) => replaced(request, { firstKeptEntryId: null }),
    says: /no first kept entry/,
  },
  {
    what: "names an unknown first kept entry",
    answer: (request) => replaced(request, { firstKeptEntryId: "nobody" }),
    says: /not taken/,
  },
  {
    what: "splits a tool call from its result",
    answer: (request) => replaced(request, { firstKeptEntryId: resultEntry(request) }),
    says: /not taken/,
  },
  {
    what: "gives a summary longer than what it replaces",
    answer: (request) => replaced(request, { summary: "A long word. ".repeat(10_000) }),
    says: /not taken.*smaller/,
  },
  {
    what: "gives NaN tokensBefore",
    answer: (request) => replaced(request, { tokensBefore: NaN }),
    says: /tokensBefore/,
  },
  {
    what: "gives details that are no JSON",
    answer: (request) => replaced(request, { details: { many: 1n } }),
    says: /not taken.*JSON/,
  },
  {
    what: "answers with a getter that throws",
    answer: (request) => ({
      ...(replaced(request) as object),
      get summary() {
        return raise(new Error("no summary here"));
      },
    }),
    says: /no summary here/,
  },
  { what: "does not handle it", answer: () => ({ handled: false, reason: "not now" }) },
  {
    what: "does not handle it, with a reason that is no text",
    answer: () => ({ handled: false, reason: Object.create(null) as string }),
  },
  {
    what: "changes its input",
    answer: (request) => {
      for (const message of request.messages) message.content = [];
      request.messages.length = 0;
      return { handled: false, reason: "taken apart" };
    },
  },
  {
    what: "hangs",
    answer: () => new Promise(() => undefined),
    says: /took longer than 1 s/,
    timeoutSeconds: DEADLINE_MS / 1000,
  },
  {
    what: "answers after its deadline",
    answer: (request) => afterTurn.promise.then(() => replaced(request)),
    says: /took longer than 1 s/,
    timeoutSeconds: DEADLINE_MS / 1000,
  },
  {
    what: "fails after its deadline",
    answer: () => afterTurn.promise.then(() => raise(new Error("too late"))),
    says: /took longer than 1 s/,
    timeoutSeconds: DEADLINE_MS / 1000,
  },
];

function intercepting(answer: Fault["answer"]): ContextEngine {
  const interceptCompaction = ((request: CompactionInterceptRequest) => answer(request)) as NonNullable<
    ContextEngine["interceptCompaction"]
  >;
  return engineWith({ interceptCompaction }, { interceptsCompaction: true });
}

describe("an interceptor of compactions", () => {
  for (const [index, { what, answer, says, timeoutSeconds }] of everyOther(FAULTS).entries()) {
    for (const mode of turnAbout<Mode>(["default", "safeguard"], index)) {
      it(`that ${what} leaves the default compaction (${mode})`, async () => {
        const options = { engine: intercepting(answer), mode, ...(timeoutSeconds ? { timeoutSeconds } : {}) };
        await withFault(options, async (fault) => {
          afterTurn = Promise.withResolvers();
          const before = fault.bytes();
          const played = await fault.cross("in-attempt");
          assert.equal(played.last.type, "turn.completed", JSON.stringify(played.last));
          assert.equal(of(played.events, "compaction.started").length, 1);
          // Later answers arrive now.
          afterTurn.resolve();
          await turns();
          const [completed] = of(played.events, "compaction.completed");
          assert.equal(completed?.handledBy, mode === "default" ? "built-in" : "safeguard");
          assert.equal(played.summaries, 1, "the summarizing model is asked once");
          const reported = of(played.events, "context.degraded").filter(({ stage }) => stage === "intercept");
          assert.equal(reported.length, says ? 1 : 0, JSON.stringify(of(played.events, "context.degraded")));
          if (says) {
            assert.match(reported[0]?.reason ?? "", says);
            assert.equal(reported[0]?.engineId, "faulty");
            assert.ok(
              (await fault.degraded()).some(
                ({ stage, engineId }) => stage === "intercept" && engineId === "faulty",
              ),
            );
          } else assert.match(fault.logged(), /compaction interception/);
          await fault.assertSound(before, played);
          const summaries = fault.entries().filter((entry) => entry.type === "compaction");
          assert.deepEqual(
            summaries.map(({ summary, handledBy }) => [summary.slice(0, 7), handledBy]),
            [[GOOD_SUMMARY.slice(0, 7), completed?.handledBy]],
          );
        });
      });
    }
  }

  it("that does not exist leaves the default compaction", async () => {
    await withFault({ engine: engineWith({}, { interceptsCompaction: true }) }, async (fault) => {
      const before = fault.bytes();
      const played = await fault.cross("in-attempt");
      assert.equal(of(played.events, "compaction.completed")[0]?.handledBy, "built-in");
      assert.deepEqual(of(played.events, "context.degraded"), []);
      await fault.assertSound(before, played);
    });
  });

  it("that answers after the turn was aborted changes nothing, and the next turn compacts", async () => {
    const asked = Promise.withResolvers<void>();
    const late = Promise.withResolvers<void>();
    let calls = 0;
    const engine = intercepting(async (request) => {
      calls += 1;
      if (calls > 1) return { handled: false, reason: "not now" };
      asked.resolve();
      await late.promise;
      return replaced(request);
    });
    await withFault({ engine }, async (fault) => {
      const before = fault.bytes();
      let running: TurnRun | undefined;
      const playing = fault.cross("in-attempt", (run) => {
        running = run;
      });
      await asked.promise;
      running?.abort();
      const played = await playing;
      assert.ok(played.last.type === "turn.completed" && played.last.stopReason === "aborted");
      const ended = fault.bytes();
      assert.ok(ended.subarray(0, before.length).equals(before));
      late.resolve();
      await turns();
      assert.ok(fault.bytes().equals(ended), "the late answer writes nothing");
      assert.ok(!fault.entries().some(({ type }) => type === "compaction"));
      await fault.assertSound(before, played, { again: 1 });
    });
  });
});
