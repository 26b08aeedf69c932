/** Prompts that the provider refuses, under a wrap of the real Claude Code: what the session records of them. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { RecordedRequest, ReplyStep } from "../../servers/server.ts";
import { CompactionBench, type Claude } from "./compactions-bench.ts";
import { isClaudeCompaction, MODEL_SUMMARY, sessionLines } from "./compactions-words.ts";

const SMALL = { input: 900, output: 10 };
const FULL = { input: 99_000, output: 10 };
const REFUSED: ReplyStep = {
  status: 400,
  errorBody: { type: "error", error: { type: "invalid_request_error", message: "The quay is closed." } },
};

describe("a prompt that the provider refuses, under a wrap of Claude Code", { timeout: 240_000 }, () => {
  let bench: Claude;
  afterEach(() => bench.end());

  /** `second`: the reply to the second question, by how often it was answered. The third is refused. */
  async function conversation(...second: ReplyStep[]): Promise<string[]> {
    let looks = 0;
    bench = await CompactionBench.claude({
      how: "declines",
      env: { CLAUDE_CODE_AUTO_COMPACT_WINDOW: "100000" },
      script: (request: RecordedRequest): ReplyStep => {
        if (isClaudeCompaction(request))
          return { text: `<analysis>It was short.</analysis>\n<summary>${MODEL_SUMMARY}</summary>` };
        const { text } = request;
        if (text.includes("Fourth?")) return { text: "Answer to all.", usage: SMALL };
        if (text.includes("Third?")) return REFUSED;
        if (!text.includes("Second?")) return { text: "Answer 1.", usage: SMALL };
        looks += 1;
        return second[looks - 1] ?? { text: "Answer 2.", usage: SMALL };
      },
    });
    for (const text of ["First?", "Second?", "Third?", "Fourth?"]) await bench.ask(text);
    await bench.finish();
    return sessionLines((await bench.session()).messages);
  }

  /** Claude Code sends it again with the next one; what was recorded of it alone is taken back. */
  function assertOnce(lines: string[]): void {
    assert.deepEqual(lines.slice(-2), ["user: Third?Fourth?", "assistant: Answer to all."]);
    assert.equal(lines.filter((line) => line.includes("Third?")).length, 1, lines.join("; "));
    assert.equal(lines.filter((line) => line.includes("Second?")).length, 1, lines.join("; "));
  }

  it("is in the session once", async () => assertOnce(await conversation()));

  it("is in it once after a compaction inside a loop, too", async () => {
    const look = (id: string, usage: ReplyStep["usage"]): ReplyStep => ({
      text: `I look ${id}.`,
      toolCalls: [{ id, name: "Bash", arguments: { command: `echo ${id}`, description: id } }],
      ...(usage ? { usage } : {}),
    });
    const lines = await conversation(look("toolu_a", SMALL), look("toolu_b", FULL));
    assert.deepEqual(bench.boundaries, ["auto"]);
    assertOnce(lines);
  });
});
