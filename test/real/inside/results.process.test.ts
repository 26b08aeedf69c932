/** Large tool results in the real Claude Code: the model sees a stub, one call brings back the exact text, and requests are smaller. */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { RecordedRequest, ReplyStep } from "../../servers/server.ts";
import { byLength } from "../../runner/short-form.ts";
import { blocksOf, InsideBench } from "./inside-bench.ts";

const SMALL = { input: 900, output: 10 };
/** Characters of a command's output: below the size from which Claude Code itself keeps it in a file. */
const SIZE = 24_000;
const READS = byLength(12, 6, 4);

const OUTPUT = Array.from({ length: 2_000 }, (_, line) => `${line}: depth ${(line * 37) % 91} m`)
  .join("\n")
  .slice(0, SIZE)
  .trimEnd();

/** Text of a request's newest tool result. */
function resultOf(request: RecordedRequest | undefined): string {
  const block = blocksOf(request).findLast(({ type }) => type === "tool_result");
  const content = block?.["content"];
  if (typeof content === "string") return content;
  return ((content ?? []) as { text?: string }[]).map(({ text }) => text ?? "").join("");
}

describe("a large result of a tool in Claude Code", { timeout: 600_000 }, () => {
  const open: InsideBench[] = [];
  after(async () => {
    for (const bench of open) await bench.end();
  });

  async function opened(script: (nth: number, request: RecordedRequest) => ReplyStep): Promise<InsideBench> {
    const bench = await InsideBench.open(script);
    open.push(bench);
    writeFileSync(join(bench.cwd, "soundings.txt"), OUTPUT);
    return bench;
  }

  const cat = (nth: number): ReplyStep => ({
    text: "I look.",
    toolCalls: [
      { id: `toolu_${nth}`, name: "Bash", arguments: { command: "cat soundings.txt", description: "look" } },
    ],
    usage: SMALL,
  });

  it("is a stub for the model, and one call gives its exact text", async () => {
    const bench = await opened((nth, request) => {
      if (nth === 1) return cat(nth);
      const [, id = ""] = /the id (\S+) gives its exact text/.exec(resultOf(request)) ?? [];
      if (nth === 2)
        return {
          toolCalls: [{ id: "toolu_open", name: "mcp__pagurus__open", arguments: { id } }],
          usage: SMALL,
        };
      return { text: "Done.", usage: SMALL };
    });
    await bench.install();
    await bench.startHost();
    // Else Claude Code adds the number of tokens that are left to the end of each result.
    const claude = bench.claude([], { CLAUDE_CODE_TOTAL_TOKENS_REMINDER: "off" });
    await claude.send("How deep is it?");
    assert.deepEqual(claude.notices, []);
    const stub = resultOf(bench.mains[1]);
    assert.match(stub, /^\[Pagurus keeps the whole of this result: \d+ characters/);
    assert.ok(stub.length < 4_000, `${stub.length} characters`);
    assert.ok(stub.includes(OUTPUT.slice(0, 500)) && stub.includes(OUTPUT.slice(-500)), stub);
    assert.equal(resultOf(bench.mains[2]), OUTPUT);
    await claude.end();
    const stored = await bench.stored(claude.sessionId);
    assert.ok(
      stored.some((text) => text.includes(JSON.stringify(OUTPUT).slice(1, -1))),
      "it is stored whole",
    );
  });

  it("makes the requests of a session at most 0.8 times as large as without the engine", async () => {
    const script = (nth: number): ReplyStep =>
      nth % 2 === 1 ? cat(nth) : { text: `It is deep, ${nth}.`, usage: SMALL };
    const sizes = [];
    for (const isInstalled of [true, false]) {
      const bench = await opened(script);
      if (isInstalled) {
        await bench.install();
        await bench.startHost();
      }
      const claude = bench.claude();
      for (let turn = 0; turn < READS; turn += 1) await claude.send(`Sounding ${turn}?`);
      assert.equal(bench.mains.length, 2 * READS);
      sizes.push(bench.mains.reduce((sum, { text }) => sum + text.length, 0));
      await claude.end();
    }
    const [inside = 0, alone = 1] = sizes;
    console.log(
      `${READS} turns with a result of ${SIZE} characters: ${(inside / alone).toFixed(2)} of the bytes sent`,
    );
    assert.ok(inside / alone <= 0.8, `${inside} and ${alone} bytes`);
  });
});
