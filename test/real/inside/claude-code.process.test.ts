/** Compactions of the real Claude Code that the engine answers inside it, and what happens where the host is killed. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { contextOverflowReply } from "../../servers/errors.ts";
import { answer, assertCompacted, leadRounds, question, words } from "./claude-talk.ts";
import { assertWholePairs, blocksOf, InsideBench, isHead, WINDOW, type ClaudeLines } from "./inside-bench.ts";

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
    await leadRounds(bench, (resume) => bench.claude(resume, WINDOW));
  });

  it("has a compaction answered that it prepares ahead, and uses it once the provider refuses the context", async () => {
    const refused = 6;
    const bench = await started((nth, { text }) => {
      if (nth === refused) return contextOverflowReply("anthropic-messages");
      const usage = { input: Math.round(text.length / 3.5), output: 500 };
      return { text: `Answer ${nth} ${words(`a${nth}x`, 60)}`, usage };
    });
    // Only accounts with this feature prepare compactions; the size is that of another program which asks for one early.
    const flags = { tengu_sepia_moth: true };
    const cached = { cachedFeatureFlags: flags, cachedFeatureFlagsAt: Date.now() };
    writeFileSync(join(bench.config, ".claude.json"), JSON.stringify(cached));
    const settings = JSON.stringify({ precomputeCompactionEnabled: true, precomputeArmTokens: 60_000 });
    const log = join(bench.root, "debug.txt");
    const claude = bench.claude(["--settings", settings, "--debug-file", log], {
      CLAUDE_CODE_GB_DISK_CACHE_WHEN_TELEMETRY_OFF: "1",
    });
    const long = (turn: number): string => `Question ${turn} ${words(`q${turn}x`, 9_000)}`;
    for (let turn = 1; turn < refused; turn += 1) await claude.send(long(turn));
    const before = bench.mains.at(-1);
    await claude.send("And now?");
    await claude.send("And later?");
    await claude.end();
    const lines = readFileSync(log, "utf8");
    assert.match(lines, /session\.compact \(precompute\): a hook's \d+ messages stand/);
    assert.match(lines, /precomputed compact: consumed \(main, ready\)/);
    assert.deepEqual(claude.boundaries, ["auto"], claude.notices.join("\n"));
    assert.deepEqual(claude.notices, []);
    assert.deepEqual(bench.compactions, [], "zero requests for compactions");
    // The refused request is sent again after the compaction.
    assertCompacted(before, bench.mains[refused]);
    assertCompacted(undefined, bench.mains.at(-1));
    const resumed = bench.claude(["--resume", claude.sessionId]);
    await resumed.send("And after all?");
    assertCompacted(undefined, bench.mains.at(-1));
    const stored = await bench.stored(claude.sessionId);
    for (let turn = 1; turn < refused; turn += 1)
      assert.equal(stored.filter((text) => text.includes(long(turn))).length, 1, `question ${turn}`);
  });

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
    const { asked } = await bench.stopHostAt("/v1/compact");
    const claude = await talked(bench);
    const done = claude.send("/compact");
    await asked;
    await bench.killHost();
    await done;
    assert.deepEqual(claude.boundaries, ["manual"]);
    assert.equal(bench.compactions.length, 1);
    await claude.send("And now?");
    bench.mains.forEach(assertWholePairs);
  });

  it("reports a compaction for which the hook did not run, as under an organization's guard, and names wire", async () => {
    const bench = await started();
    // A guard passes the mod's other hooks; it needs settings of the machine, so here the mod has no such hook.
    const file = join(bench.mod, "hooks", "claude-code", "register.js");
    const text = readFileSync(file, "utf8");
    const without = text.replace('on("session.compact", compacts);', "");
    assert.notEqual(without, text);
    writeFileSync(file, without);
    const claude = await talked(bench);
    await claude.send("/compact");
    await claude.send("And now?");
    await claude.send("And again?");
    assert.deepEqual(claude.boundaries, ["manual"]);
    assert.equal(bench.compactions.length, 1, "the program's own compaction ran");
    const reports = claude.notices.filter((line) => line.includes("its compaction hook did not run"));
    assert.equal(reports.length, 1, claude.notices.join("\n"));
    assert.match(reports[0] ?? "", /`pagurus wire -- claude`/);
    await claude.end();
    const stored = await bench.stored(claude.sessionId);
    for (const words of [question(0, 3), question(0, 6), "And now?", "And again?"])
      assert.equal(stored.filter((each) => each.includes(words)).length, 1, words.slice(0, 20));
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
