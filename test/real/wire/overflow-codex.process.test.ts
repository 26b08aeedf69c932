/** The provider refuses the context inside a stream, as OpenAI's own endpoint does: the user's own Codex does not notice it. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { RecordedRequest, ReplyStep } from "../../servers/server.ts";
import { CompactionBench, type Codex } from "./compactions-bench.ts";
import { codexShows, isCodexCompaction, sessionLines, withoutLeft } from "./compactions-words.ts";

const LONG = "The keeper of the quay wrote down which ships had come. ".repeat(150);
const SMALL = { input: 900, output: 10 };
const REFUSED: ReplyStep = {
  errorEvent: {
    code: "context_length_exceeded",
    message: "Your input exceeds the context window of this model. Please adjust your input and try again.",
  },
};

/** The engine's own model is called for its summaries. */
const isOfEngine = ({ text }: RecordedRequest): boolean => text.includes("<transcript>");

describe("a context that is refused inside a stream, under a wrap of Codex", { timeout: 240_000 }, () => {
  let bench: Codex;
  afterEach(() => bench.end());

  it("is reduced by the engine, with one more request, and the turn succeeds", async () => {
    let nth = 0;
    bench = await CompactionBench.codex({
      lossless: { trigger: 150_000 },
      script: (request) => {
        if (isOfEngine(request)) return { text: "## Goal\n- The quay is looked after." };
        nth += 1;
        return nth === 4 ? REFUSED : { text: `Answer ${nth}. ${nth < 4 ? LONG : ""}`, usage: SMALL };
      },
    });
    for (const text of ["First?", "Second?", "Third?"])
      assert.equal(await bench.ask(`${text} ${LONG}`), "completed");
    assert.equal(await bench.ask("Fourth?"), "completed");
    const mains = bench.requests.filter((request) => !isOfEngine(request));
    assert.ok(!mains.some(isCodexCompaction), "Codex made no compaction");
    assert.equal(mains.length, 5, "exactly one more");
    const [refused, again] = mains.slice(-2);
    assert.ok(refused && again);
    const shown = withoutLeft(codexShows(again));
    const before = withoutLeft(codexShows(refused)).join("").length;
    assert.ok(
      shown.join("").length < before / 2,
      "the conversation takes less than half of what was refused",
    );
    assert.match(shown[0] ?? "", /^user: <conversation_summary>/);
    assert.equal(shown.at(-1), "user: Fourth?");
    const { notices } = await bench.finish();
    assert.deepEqual(notices, []);
    const lines = sessionLines((await bench.session()).messages);
    assert.deepEqual(lines.slice(-2), ["user: Fourth?", "assistant: Answer 5. "]);
    assert.equal(lines.filter((line) => line.startsWith("user: ")).length, 4);
  });

  it("is reported to Codex where it is refused again", async () => {
    bench = await CompactionBench.codex({
      how: "declines",
      script: (request, index) => {
        if (index === 0) return { text: "Answer 1.", usage: SMALL };
        return isCodexCompaction(request) ? { text: "What was." } : REFUSED;
      },
    });
    assert.equal(await bench.ask("First?"), "completed");
    assert.equal(await bench.ask("Second?"), "failed");
  });
});
