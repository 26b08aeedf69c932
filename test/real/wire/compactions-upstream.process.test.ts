/**
 * Compactions of the user's own programs that the engine does not answer: the model that makes them gets the engine's
 * context, and not the program's own.
 */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { RecordedRequest, ReplyStep } from "../../servers/server.ts";
import { CompactionBench } from "./compactions-bench.ts";
import {
  claudeShows,
  codexShows,
  isClaudeCompaction,
  isCodexCompaction,
  MODEL_SUMMARY,
  sessionLines,
} from "./compactions-words.ts";

const FULL = { input: 99_000, output: 10 };
const SMALL = { input: 900, output: 10 };
const turn = (question: string, nth: number): string[] => [`user: ${question}`, `assistant: Answer ${nth}.`];

function looks(tool: string, id: string, usage: ReplyStep["usage"]): ReplyStep {
  const args = tool === "Bash" ? { command: `echo ${id}`, description: id } : { cmd: `echo ${id}` };
  return { text: "I look.", toolCalls: [{ id, name: tool, arguments: args }], ...(usage ? { usage } : {}) };
}

describe("a compaction that the engine leaves to the model", { timeout: 240_000 }, () => {
  let bench: CompactionBench;
  afterEach(() => bench.end());

  /** The request for the compaction comes last. */
  function assertShows(lines: string[], expected: readonly string[], asking: RegExp): void {
    assert.match(lines.at(-1) ?? "", asking);
    assert.deepEqual(lines.slice(0, -1), expected);
  }

  it("shows it the engine's context inside a loop and between turns: Codex", async () => {
    let nth = 0;
    const codex = await CompactionBench.codex({
      how: "declines",
      top: "model_auto_compact_token_limit = 5000",
      script: (request: RecordedRequest): ReplyStep => {
        if (isCodexCompaction(request)) return { text: MODEL_SUMMARY };
        nth += 1;
        if (nth === 2) return looks("exec_command", "call_a", FULL);
        return { text: `Answer ${nth}.`, usage: nth === 4 ? FULL : SMALL };
      },
    });
    bench = codex;
    for (const text of ["First?", "Second?", "Third?", "Fourth?"])
      assert.equal(await codex.ask(text), "completed");
    const [inLoop, between, ...more] = bench.requests.filter(isCodexCompaction);
    assert.ok(inLoop && between && more.length === 0);
    const loop = [
      ...turn("First?", 1),
      "user: Second?",
      "assistant: I look.",
      "call exec_command call_a",
      "result call_a",
    ];
    assertShows(codexShows(inLoop), loop, /CONTEXT CHECKPOINT COMPACTION/);
    const whole = [...loop, "assistant: Answer 3.", ...turn("Third?", 4)];
    assertShows(codexShows(between), whole, /CONTEXT CHECKPOINT COMPACTION/);
    assert.ok(!between.text.includes(MODEL_SUMMARY), "Codex's own history is no part of it");
    await bench.finish();
    const { messages } = await bench.session();
    assert.deepEqual(sessionLines(messages), [...whole, ...turn("Fourth?", 5)]);
  });

  it("shows it the engine's context inside a loop and for the user: Claude Code", async () => {
    let nth = 0;
    const claude = await CompactionBench.claude({
      how: "declines",
      env: { CLAUDE_CODE_AUTO_COMPACT_WINDOW: "100000" },
      script: (request: RecordedRequest): ReplyStep => {
        if (isClaudeCompaction(request))
          return { text: `<analysis>It was short.</analysis>\n<summary>${MODEL_SUMMARY}</summary>` };
        nth += 1;
        if (nth === 2) return looks("Bash", "toolu_a", SMALL);
        if (nth === 3) return looks("Bash", "toolu_b", FULL);
        return { text: `Answer ${nth}.`, usage: SMALL };
      },
    });
    bench = claude;
    for (const text of ["First?", "Second?", "Third?"]) await claude.ask(text);
    await claude.ask("/compact the words");
    await claude.ask("Fourth?");
    assert.deepEqual(claude.boundaries, ["auto", "manual"]);
    const [inLoop, asked, ...more] = bench.requests.filter(isClaudeCompaction);
    assert.ok(inLoop && asked && more.length === 0);
    const loop = [
      ...turn("First?", 1),
      "user: Second?",
      "assistant: I look.",
      "call Bash toolu_a",
      "result toolu_a",
    ];
    const asking = /CRITICAL: Respond with TEXT ONLY/;
    assertShows(claudeShows(inLoop), loop, asking);
    const again = ["assistant: I look.", "call Bash toolu_b", "result toolu_b"];
    const whole = [...loop, ...again, "assistant: Answer 4.", ...turn("Third?", 5)];
    assertShows(claudeShows(asked), whole, asking);
    assert.ok(!asked.text.includes(MODEL_SUMMARY), "Claude Code's own history is no part of it");
    await bench.finish();
    const { messages } = await bench.session();
    assert.deepEqual(sessionLines(messages), [...whole, ...turn("Fourth?", 6)]);
  });
});
