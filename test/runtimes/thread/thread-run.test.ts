import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { toPagurusError } from "../../../packages/contract/src/errors.ts";
import type {
  HarnessTurn,
  HarnessTurnResult,
  SteeringMessage,
} from "../../../packages/contract/src/harness/harness.ts";
import { ThreadRun, type ThreadTurn } from "../../../packages/runtimes/src/thread/thread-run.ts";

const DONE: HarnessTurnResult = { stopReason: "stop", usage: { input: 0, output: 0, totalTokens: 0 } };
const INPUT: SteeringMessage[] = [{ role: "user", content: [{ type: "text", text: "More." }] }];

/** A runtime whose tries fail as listed, and what the driver asked of it. */
function played(failures: readonly (Error | undefined)[], { helps = true, continues = true } = {}) {
  const asked: string[] = [];
  const abort = new AbortController();
  const tries = failures.values();
  const begun = (name: string): ThreadTurn => ({
    canContinue: continues,
    first: () => {
      const failure = tries.next().value;
      return failure ? Promise.reject(failure) : Promise.resolve(DONE);
    },
    further: (inputs) => {
      asked.push(`further ${name} ${inputs.length}`);
      return Promise.resolve(DONE);
    },
  });
  const run = new ThreadRun<string, ThreadTurn>({ signal: abort.signal } as HarnessTurn, {
    prepare: () => {
      asked.push("prepare");
      return Promise.resolve("whole");
    },
    open: (from, inputs, before) => {
      asked.push(`open ${from} ${inputs?.length ?? "new"} ${before ? "after" : "first"}`);
      return Promise.resolve(begun(from));
    },
    failureOf: (error) => toPagurusError(error, "runtime_failed"),
    again: ({ from, failure }) => {
      asked.push(`again ${failure.message}`);
      return Promise.resolve(helps ? `${from} again` : undefined);
    },
  });
  return { run, asked, abort };
}

describe("A turn on a native thread", () => {
  it("is tried once more from what its runtime gives, and fails with the second failure", async () => {
    const once = played([new Error("lost."), undefined]);
    assert.equal(await once.run.run(), DONE);
    assert.deepEqual(once.asked, [
      "prepare",
      "open whole new first",
      "again lost.",
      "open whole again new first",
    ]);
    const twice = played([new Error("lost."), new Error("lost again.")]);
    await assert.rejects(twice.run.run(), { code: "runtime_failed", message: "lost again." });
  });

  it("is not tried again when that cannot help, or the turn was aborted", async () => {
    const helpless = played([new Error("lost.")], { helps: false });
    await assert.rejects(helpless.run.run(), { message: "lost." });
    assert.deepEqual(helpless.asked, ["prepare", "open whole new first", "again lost."]);
    const aborted = played([new Error("lost.")]);
    aborted.abort.abort();
    await assert.rejects(aborted.run.run(), { message: "lost." });
    assert.deepEqual(aborted.asked, ["prepare", "open whole new first"]);
  });

  it("continues with later input on its thread, or on another when that is gone", async () => {
    const kept = played([undefined]);
    await kept.run.run();
    await kept.run.continueWith(INPUT);
    assert.deepEqual(kept.asked.slice(2), ["further whole 1"]);
    const gone = played([undefined, undefined], { continues: false });
    await gone.run.run();
    await gone.run.continueWith(INPUT);
    assert.deepEqual(gone.asked.slice(2), ["prepare", "open whole 1 after"]);
  });
});
