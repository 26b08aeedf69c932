import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { turnAbout } from "../../runner/short-form.ts";
import { contextOverflowReply, type ReplyStep } from "../../servers/server.ts";
import { of, withFault, type Lane, type Mode } from "./fault-bench.ts";
import { everyOther } from "../../runner/long-tests.ts";

interface Fault {
  what: string;
  reply(): ReplyStep;
  /** The compaction's deadline, when the model's retries or its silence would outlast it. */
  timeoutSeconds?: number;
}

/** Seconds; a tenth of them is left for the extract, which has to be enough on a busy machine. */
const ENDS_AFTER = 15;

const FAULTS: Fault[] = [
  { what: "fails with 500", reply: () => ({ status: 500 }), timeoutSeconds: ENDS_AFTER },
  {
    what: "fails with 429",
    reply: () => ({ status: 429, headers: { "retry-after": "30" } }),
    timeoutSeconds: ENDS_AFTER,
  },
  { what: "fails with 401", reply: () => ({ status: 401 }) },
  { what: "fails with 400", reply: () => ({ status: 400 }) },
  { what: "takes no context that long", reply: () => contextOverflowReply("openai-completions") },
  {
    what: "hangs before its first word",
    reply: () => ({ text: "x", hangAfterChunks: 0 }),
    timeoutSeconds: ENDS_AFTER,
  },
  {
    what: "hangs in the middle",
    reply: () => ({ text: "## Goal\nFollow the harbour.", hangAfterChunks: 2 }),
    timeoutSeconds: ENDS_AFTER,
  },
  { what: "answers empty", reply: () => ({ text: "" }) },
  { what: "answers with nothing but space", reply: () => ({ text: " \n\n " }) },
  {
    what: "answers longer than its input",
    reply: () => ({ text: "A long word. ".repeat(20_000), chunkSize: 20_000 }),
  },
  { what: "is cut at its length", reply: () => ({ text: "## Goal\nFollow the", stop: "length" }) },
  { what: "refuses", reply: () => ({ text: "", stop: "refused" }) },
  {
    what: "answers with a web page",
    reply: () => ({ page: "<html>Sign in</html>" }),
    timeoutSeconds: ENDS_AFTER,
  },
  {
    what: "ends its stream too early",
    reply: () => ({ text: "## Goal", cutAfterChunks: 1 }),
    timeoutSeconds: ENDS_AFTER,
  },
];

/** Requirements of the safeguard that the default does not have. */
const INCOMPLETE: Fault = {
  what: "leaves out parts",
  reply: () => ({ text: "All is well in the harbour." }),
};

const LANES: readonly Lane[] = ["queued", "in-attempt"];

// Most of them wait for a deadline, and each has a host of its own.
describe("a summarizing model", { concurrency: 8 }, () => {
  for (const [index, { what, reply, timeoutSeconds }] of everyOther(FAULTS).entries()) {
    for (const lane of turnAbout(LANES, index)) {
      it(`that ${what} is replaced by an extract (default, ${lane})`, async () => {
        const options = { summarizer: reply, ...(timeoutSeconds ? { timeoutSeconds } : {}) };
        await withFault(options, async (fault) => {
          const before = fault.bytes();
          const played = await fault.cross(lane);
          assert.equal(played.last.type, "turn.completed", JSON.stringify(played.last));
          assert.equal(of(played.events, "compaction.started").length, 1);
          assert.equal(of(played.events, "compaction.completed")[0]?.lane, lane);
          const entry = fault.entries().find(({ type }) => type === "compaction");
          assert.ok(entry?.type === "compaction" && entry.origin === "extractive");
          const [reported, more] = of(played.events, "context.degraded");
          assert.equal(reported?.stage, "compact");
          assert.match(reported?.reason ?? "", /is an extract, because its model failed: \w+: \w/);
          assert.equal(more, undefined);
          assert.ok((await fault.degraded()).some(({ stage }) => stage === "compact"));
          await fault.assertSound(before, played);
        });
      });
    }

    for (const lane of turnAbout(LANES, index + 1)) {
      it(`that ${what} ends the compaction (safeguard, ${lane})`, () =>
        refused({ what, reply, timeoutSeconds }, lane));
    }
  }

  it("that leaves out parts is good enough by default", async () => {
    await withFault({ summarizer: INCOMPLETE.reply }, async (fault) => {
      const before = fault.bytes();
      const played = await fault.cross("queued");
      assert.deepEqual(of(played.events, "context.degraded"), []);
      await fault.assertSound(before, played);
    });
  });

  for (const lane of LANES) {
    it(`that leaves out parts is called twice and ends the compaction (safeguard, ${lane})`, () =>
      refused(INCOMPLETE, lane));
  }
});

/** Mode safeguard: no extract replaces it, the history stays, and what does not fit is left out and reported. */
async function refused(
  { reply, timeoutSeconds }: { what: string; reply(): ReplyStep; timeoutSeconds?: number | undefined },
  lane: Lane,
): Promise<void> {
  const mode: Mode = "safeguard";
  const options = { summarizer: reply, mode, ...(timeoutSeconds ? { timeoutSeconds } : {}) };
  await withFault(options, async (fault) => {
    const before = fault.bytes();
    const played = await fault.cross(lane);
    assert.equal(played.last.type, "turn.completed", JSON.stringify(played.last));
    assert.equal(of(played.events, "compaction.started").length, 1);
    const reason = of(played.events, "compaction.failed")[0]?.reason ?? "";
    assert.match(
      reason,
      /context is unchanged: in safeguard mode a failed summary ends it: \w+: \w|took longer than/,
    );
    assert.ok(!fault.entries().some(({ type }) => type === "compaction"));
    const degraded = await fault.degraded();
    assert.deepEqual(
      degraded.map(({ stage }) => stage).toSorted(),
      ["compact", "trim"],
      "the refusal is said, and what the model does not see",
    );
    await fault.assertSound(before, played, { again: 1 });
  });
}
