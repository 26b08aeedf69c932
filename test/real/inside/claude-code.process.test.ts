/** Compactions of the real Claude Code that the engine answers inside it, and what happens where the host is killed. */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import type { RecordedRequest, ReplyStep } from "../../servers/server.ts";
import { byLength } from "../../runner/short-form.ts";
import {
  assertWholePairs,
  blocksOf,
  FULL_USAGE,
  InsideBench,
  isHead,
  WINDOW,
  type ClaudeLines,
} from "./inside-bench.ts";

const SMALL = { input: 900, output: 10 };
const ROUNDS = byLength(6, 3, 2);
/** Turns of a round; the last one of an odd round fills the window. */
const TURNS = byLength(10, 6, 4);

const words = (name: string, count = 500): string =>
  Array.from({ length: count }, (_, n) => `${name}${n}`).join(" ");
const question = (round: number, turn: number): string =>
  `Question ${round}.${turn} about the harbour. ${words(`q${round}x${turn}x`)}`;

/** Texts of the newest message of a request. */
function newest(request: RecordedRequest): string {
  return blocksOf(request)
    .slice(-2)
    .map(({ text }) => (typeof text === "string" ? text : ""))
    .join("\n");
}

/** Each third turn runs a command, one starts a subagent; the others only answer. */
function answer(nth: number, request: RecordedRequest): ReplyStep {
  const [, round = "", turn = ""] = /Question (\d+)\.(\d+) /.exec(newest(request)) ?? [];
  const full = Number(round) % 2 === 1 && Number(turn) === TURNS - 1;
  const usage = full ? FULL_USAGE : SMALL;
  const last = blocksOf(request).at(-1);
  if (last?.["type"] === "tool_result") return { text: `Done ${nth}.`, usage: SMALL };
  if (turn === "1")
    return {
      text: "I look.",
      toolCalls: [
        {
          id: `toolu_a${nth}`,
          name: "Bash",
          arguments: { command: `echo ${words(`out${nth}x`, 60)}`, description: "look" },
        },
        { id: `toolu_b${nth}`, name: "Bash", arguments: { command: "echo two", description: "look" } },
      ],
      usage,
    };
  if (turn === "2" && round === "0")
    return {
      text: "I delegate.",
      toolCalls: [
        {
          id: `toolu_s${nth}`,
          name: "Agent",
          arguments: { description: "count", prompt: "Count the boats.", subagent_type: "general-purpose" },
        },
      ],
      usage,
    };
  return { text: `Answer ${nth} ${words(`a${nth}x`, 60)}`, usage };
}

describe("Claude Code with the engine inside", { timeout: 1_500_000 }, () => {
  const open: InsideBench[] = [];
  after(async () => {
    for (const bench of open) await bench.end();
  });

  async function started(script = answer): Promise<InsideBench> {
    const bench = await InsideBench.open(script);
    open.push(bench);
    await bench.install();
    await bench.startHost();
    return bench;
  }

  it("has its compactions answered without a model request, and resumes with the kept messages and no old ones", async () => {
    const bench = await started();
    let resume: string[] = [];
    let sessionId = "";
    for (let round = 0; round < ROUNDS; round += 1) {
      const claude = bench.claude(resume, WINDOW);
      const firstRequest = bench.mains.length;
      for (let turn = 0; turn < TURNS; turn += 1) await claude.send(question(round, turn));
      const before = bench.mains.at(-1);
      if (round % 2 === 0) await claude.send("/compact keep the harbour");
      const count = bench.mains.length;
      await claude.send(`And now ${round}?`);
      assert.deepEqual(claude.boundaries, [round % 2 === 0 ? "manual" : "auto"], claude.notices.join("\n"));
      assertCompacted(before, bench.mains[count]);
      if (round > 0) assertCompacted(undefined, bench.mains[firstRequest]);
      bench.mains.slice(firstRequest).forEach(assertWholePairs);
      assert.deepEqual(claude.notices, []);
      sessionId = claude.sessionId;
      resume = ["--resume", sessionId];
      await claude.end();
    }
    assert.deepEqual(bench.compactions, [], "zero requests for compactions");
    const stored = await bench.stored(sessionId);
    for (let round = 0; round < ROUNDS; round += 1)
      for (let turn = 0; turn < TURNS; turn += 1) {
        const has = stored.filter((text) => text.includes(question(round, turn)));
        assert.equal(has.length, 1, `question ${round}.${turn} is stored once`);
      }
  });

  /** One head at the beginning; after it blocks that the request before had too, byte for byte, and not all of them. */
  function assertCompacted(before: RecordedRequest | undefined, request: RecordedRequest | undefined): void {
    const blocks = blocksOf(request);
    assert.deepEqual(
      blocks.map(isHead),
      blocks.map((_, index) => index === 0),
    );
    if (!before) return;
    const known = new Set(blocksOf(before).map((block) => JSON.stringify(block)));
    // The last answer is in no request before, and the newest words are new.
    const kept = blocks.slice(1, -2).map((block) => JSON.stringify(block));
    assert.deepEqual(
      kept.filter((block) => !known.has(block)),
      [],
    );
    assert.ok(kept.length < known.size, "the older messages are not sent");
  }

  async function talked(bench: InsideBench): Promise<ClaudeLines> {
    const claude = bench.claude();
    for (let turn = 3; turn < 7; turn += 1) await claude.send(question(0, turn));
    return claude;
  }

  it("compacts by itself where the host is killed before, and says so once", async () => {
    const bench = await started();
    const claude = await talked(bench);
    await bench.killHost();
    await claude.send("/compact");
    assert.deepEqual(claude.boundaries, ["manual"]);
    assert.equal(bench.compactions.length, 1);
    assert.match(claude.notices.join("\n"), /^Pagurus: the compaction was left to claude-code/m);
    await claude.send("And now?");
    await bench.startHost();
    await claude.send("And again?");
    await claude.end();
    const stored = await bench.stored(claude.sessionId);
    for (const text of [question(0, 3), question(0, 6), "And now?", "And again?"])
      assert.equal(stored.filter((each) => each.includes(text)).length, 1, text.slice(0, 20));
  });

  it("compacts by itself where the host is killed while it answers", async () => {
    const bench = await started();
    const claude = await talked(bench);
    bench.signal("SIGSTOP");
    const done = claude.send("/compact");
    await new Promise((resolve) => void setTimeout(resolve, 1_500));
    await bench.killHost();
    await done;
    assert.deepEqual(claude.boundaries, ["manual"]);
    assert.equal(bench.compactions.length, 1);
    await claude.send("And now?");
    bench.mains.forEach(assertWholePairs);
  });

  it("keeps the engine's compaction where the host is killed after it", async () => {
    const bench = await started();
    const claude = await talked(bench);
    await claude.send("/compact");
    await bench.killHost();
    await claude.send("And now?");
    await claude.end();
    const resumed = bench.claude(["--resume", claude.sessionId]);
    await resumed.send("And later?");
    assert.deepEqual(bench.compactions, []);
    const blocks = blocksOf(bench.mains.at(-1));
    assert.deepEqual(blocks.filter(isHead).length, 1);
    assert.ok(!blocks.some(({ text }) => text === question(0, 3)), "no old message is sent again");
  });
});
