import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { SessionBeforeCompact } from "../../../packages/contract/src/host/hook-parts.ts";
import type { HookMap } from "../../../packages/contract/src/host/hooks.ts";
import type { TurnRun } from "../../../packages/contract/src/host/run.ts";
import {
  engineWith,
  GOOD_SUMMARY,
  of,
  raise,
  withFault,
  type FaultOptions,
  type Mode,
} from "./fault-bench.ts";
import { turnAbout } from "../../runner/short-form.ts";
import { everyOther } from "../../runner/long-tests.ts";
import { turns } from "../../runner/loop-turns.ts";

type Answer = (payload: SessionBeforeCompact) => unknown;

/** Resolves when the turn has ended: answers that wait for it come after their deadline. */
let afterTurn = Promise.withResolvers<void>();

interface Fault {
  what: string;
  answer: Answer;
  says?: RegExp;
  timeoutSeconds?: number;
}

function replaced({ preparation }: SessionBeforeCompact, more: object = {}): unknown {
  const { firstKeptEntryId, tokensBefore } = preparation;
  return { compaction: { summary: "What the plugin says.", firstKeptEntryId, tokensBefore, ...more } };
}

const FAULTS: Fault[] = [
  {
    what: "throws",
    answer: () => raise(new Error("it broke")),
    says: /session_before_compact.*hooks.*it broke/,
  },
  {
    what: "rejects with a value without a message",
    answer: () => Promise.reject(Object.create(null)),
    says: /hooks/,
  },
  { what: "returns null", answer: () => null },
  { what: "returns a string", answer: () => "a summary" },
  {
    what: "gives a compaction that is a string",
    answer: () => ({ compaction: "x" }),
    says: /hooks gave no summary/,
  },
  {
    what: "gives no summary",
    answer: (payload) => replaced(payload, { summary: null }),
    says: /hooks gave no summary/,
  },
  {
    what: "names an unknown first kept entry",
    answer: (payload) => replaced(payload, { firstKeptEntryId: "nobody" }),
    says: /hooks was not taken/,
  },
  {
    what: "splits a tool call from its result",
    answer: (payload) => {
      const { messagesToSummarize } = payload.preparation;
      const result = messagesToSummarize.findLast(({ role }) => role === "toolResult");
      return replaced(payload, { firstKeptEntryId: result?.entryId });
    },
    says: /hooks was not taken/,
  },
  {
    what: "gives a summary longer than what it replaces",
    answer: (payload) => replaced(payload, { summary: "A long word. ".repeat(10_000) }),
    says: /hooks was not taken.*smaller/,
  },
  {
    what: "gives NaN tokensBefore",
    answer: (payload) => replaced(payload, { tokensBefore: NaN }),
    says: /tokensBefore/,
  },
  {
    what: "changes its input",
    answer: ({ preparation, branchEntries }) => {
      for (const message of preparation.messagesToSummarize) message.content = [];
      for (const entry of branchEntries as { id: string; message?: { content: unknown } }[]) {
        entry.id = "taken apart";
        if (entry.message) entry.message.content = [];
      }
      branchEntries.length = 0;
      return undefined;
    },
  },
  {
    what: "hangs",
    answer: () => new Promise(() => undefined),
    says: /took longer than 1 s/,
    timeoutSeconds: 1,
  },
  {
    what: "answers after its deadline",
    answer: (payload) => afterTurn.promise.then(() => replaced(payload)),
    says: /took longer than 1 s/,
    timeoutSeconds: 1,
  },
  {
    what: "cancels after its deadline",
    answer: () => afterTurn.promise.then(() => ({ cancel: true })),
    says: /took longer than 1 s/,
    timeoutSeconds: 1,
  },
];

/** The engine intercepts and refuses, so that the lane is on in both modes. */
function hooked(answer: Answer, mode: Mode, timeoutSeconds?: number): FaultOptions {
  const interceptCompaction = (): Promise<{ handled: false; reason: string }> =>
    Promise.resolve({ handled: false, reason: "not now" });
  return {
    engine: engineWith({ interceptCompaction }, { interceptsCompaction: true }),
    mode,
    ...(timeoutSeconds === undefined ? {} : { timeoutSeconds }),
    plugin: (api) =>
      api.on(
        "session_before_compact",
        (payload) => answer(payload) as HookMap["session_before_compact"]["result"],
      ),
  };
}

describe("a handler of session_before_compact", () => {
  for (const [index, { what, answer, says, timeoutSeconds }] of everyOther(FAULTS).entries()) {
    for (const mode of turnAbout<Mode>(["default", "safeguard"], index)) {
      it(`that ${what} leaves the default compaction (${mode})`, async () => {
        await withFault(hooked(answer, mode, timeoutSeconds), async (fault) => {
          afterTurn = Promise.withResolvers();
          const before = fault.bytes();
          const played = await fault.cross("in-attempt");
          assert.equal(played.last.type, "turn.completed", JSON.stringify(played.last));
          // Later answers arrive now.
          afterTurn.resolve();
          await turns();
          assert.equal(of(played.events, "compaction.started").length, 1);
          const [completed] = of(played.events, "compaction.completed");
          assert.equal(completed?.handledBy, mode === "default" ? "built-in" : "safeguard");
          assert.equal(played.summaries, 1);
          const reported = of(played.events, "context.degraded").filter(({ stage }) => stage === "hook");
          assert.equal(reported.length, says ? 1 : 0, JSON.stringify(of(played.events, "context.degraded")));
          if (says) {
            assert.match(reported[0]?.reason ?? "", says);
            assert.ok((await fault.degraded()).some(({ stage }) => stage === "hook"));
          }
          await fault.assertSound(before, played);
          const summaries = fault
            .entries()
            .flatMap((entry) => (entry.type === "compaction" ? [entry.summary] : []));
          assert.deepEqual(
            summaries.map((summary) => summary.slice(0, 20)),
            [GOOD_SUMMARY.slice(0, 20)],
          );
        });
      });
    }
  }

  it("that cancels leaves the history as it is, and is not called again while the context hardly grows", async () => {
    let asked = 0;
    const cancel: Answer = () => {
      asked += 1;
      return { cancel: true };
    };
    await withFault(hooked(cancel, "default"), async (fault) => {
      const before = fault.bytes();
      const played = await fault.play("look:10,look:0,look:0,look:0");
      assert.equal(played.last.type, "turn.completed", JSON.stringify(played.last));
      assert.equal(asked, 1);
      const [failed, more] = of(played.events, "compaction.failed");
      assert.match(failed?.reason ?? "", /cancelled by hooks/);
      assert.equal(more, undefined);
      assert.equal(played.summaries, 0);
      assert.ok(
        (await fault.degraded()).some(({ stage }) => stage === "trim"),
        "what is left out is said",
      );
      // The queued lane of the next turn is the engine's, and no handler is called there.
      await fault.assertSound(before, played, { again: 1 });
    });
  });

  it("that answers after the turn was aborted changes nothing", async () => {
    const asked = Promise.withResolvers<void>();
    const late = Promise.withResolvers<void>();
    const answer: Answer = async (payload) => {
      asked.resolve();
      await late.promise;
      return replaced(payload);
    };
    await withFault(hooked(answer, "default"), async (fault) => {
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
      late.resolve();
      await turns();
      assert.ok(fault.bytes().equals(ended), "the late answer writes nothing");
      assert.ok(!fault.entries().some(({ type }) => type === "compaction"));
      await fault.assertSound(before, played, { again: 1 });
    });
  });
});
