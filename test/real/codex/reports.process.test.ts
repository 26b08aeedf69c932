/** What a turn on Codex reports: events, receipts, the log; and abandoned threads. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import type { ContextEngine } from "../../../packages/contract/src/engine/engine.ts";
import { CodexBench, conversation } from "./codex-bench.ts";

/** Owns compaction and finds something to compact each time. */
const OWNER: ContextEngine = {
  info: { id: "owner", name: "Owner", ownsCompaction: true },
  bootstrap: async () => ({ bootstrapped: true }),
  ingest: async () => ({ ingested: true }),
  assemble: async ({ messages }) => ({
    messages,
    estimatedTokens: 10,
    contextProjection: { mode: "thread_bootstrap", epoch: "one" },
  }),
  maintain: async () => ({ changed: false, bytesFreed: 0, rewrittenEntries: 0 }),
  compact: async () => ({ ok: true, compacted: true, result: { tokensBefore: 10, tokensAfter: 5 } }),
};

type LogLine = Record<string, unknown> & { msg: string };

describe("a turn on Codex", () => {
  let bench: CodexBench;
  afterEach(() => bench.end());

  function log(): LogLine[] {
    const text = readFileSync(join(bench.root, "home", "logs", "pagurus.log"), "utf8");
    return text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as LogLine);
  }

  it("reports the diff of its folder's files, whole, as it changes", async () => {
    const patch = "*** Begin Patch\n*** Add File: note.txt\n+harbour\n*** End Patch";
    bench = await CodexBench.with((_request, index) =>
      index === 0
        ? {
            toolCalls: [
              { id: "w", name: "exec_command", arguments: { cmd: `apply_patch <<'EOP'\n${patch}\nEOP` } },
            ],
          }
        : { text: "Done." },
    );
    const pagurus = await bench.host();
    const events = await bench.ask(pagurus, "Begin.");
    const diff = events.findLast((event) => event.type === "diff.updated");
    assert.ok(diff?.type === "diff.updated", "a difference");
    assert.match(diff.diff, /note\.txt[\s\S]*\+harbour/);
  });

  it("has a receipt for each request, with its content and its cost", async () => {
    bench = await CodexBench.with((_request, index) =>
      index < 2
        ? {
            text: `Look ${index}.`,
            toolCalls: [{ id: `c${index}`, name: "exec_command", arguments: { cmd: "echo harbour" } }],
            usage: { input: 100 + index, output: 7 },
          }
        : { text: "Done.", usage: { input: 150, output: 7, cacheRead: 90 } },
    );
    const pagurus = await bench.host();
    await bench.ask(pagurus, "Begin.");
    const receipts = await pagurus.context.receipts({});
    assert.deepEqual(
      receipts.map(({ request, seam, runtime, usage }) => [request, seam, runtime, usage?.input]),
      [
        [0, "thread", "codex", 100],
        [1, "thread", "codex", 101],
        [2, "thread", "codex", 150],
      ],
    );
    for (const [index, { parts, liveFrom, sharedParts }] of receipts.entries()) {
      const live = parts.slice(liveFrom).map(({ role }) => role);
      assert.deepEqual(
        live,
        ["user", ...Array(index).fill(["assistant", "toolResult"]).flat()],
        `request ${index}`,
      );
      if (index > 0)
        assert.equal(sharedParts, receipts[index - 1]?.parts.length, "the request before is its prefix");
    }
  });

  it("names the seam of a projection in its last event and its receipts", async () => {
    bench = await CodexBench.with(() => ({ text: "Fine." }));
    const engine: ContextEngine = {
      info: { id: "plain", name: "Plain" },
      ingest: async () => ({ ingested: true }),
      assemble: async ({ messages }) => ({ messages, estimatedTokens: 10 }),
      compact: async () => ({ ok: true, compacted: false }),
    };
    const pagurus = await bench.host({ engine });
    const events = await bench.ask(pagurus, "Begin.");
    const last = events.at(-1);
    assert.ok(last?.type === "turn.completed" && last.seam === "projection");
    const [receipt] = await pagurus.context.receipts({});
    assert.equal(receipt?.seam, "projection");
  });

  it("leaves the lines of its lifecycle in the log, with ids and counts and no content of the conversation", async () => {
    bench = await CodexBench.with((_request, index) =>
      index === 1 ? { status: 400 } : { text: `Pelican ${index}.` },
    );
    const first = await bench.host({ engine: OWNER });
    await bench.ask(first, "Heron one?");
    await first.close();
    const pagurus = await bench.host({ engine: OWNER });
    for await (const event of pagurus.run({ prompt: "Heron two?", cwd: bench.cwd })) void event;
    await bench.ask(pagurus, "Heron three?");
    await pagurus.compact({ cwd: bench.cwd });
    await pagurus.close();
    const lines = log();
    const line = (message: string): LogLine => {
      const found = lines.find(({ msg }) => msg === message);
      assert.ok(found, `${message}\n${lines.map(({ msg }) => msg).join("\n")}`);
      return found;
    };
    const applied = line("codex context engine assemble applied");
    for (const field of ["sessionId", "turnId", "engineId", "threadId"])
      assert.match(String(applied[field]), /^[\w-]{4,}$/, field);
    for (const field of ["assembledMessageCount", "estimatedTokens"])
      assert.equal(typeof applied[field], "number", field);
    assert.equal(typeof applied["hasSystemPromptAddition"], "boolean");
    for (const message of [
      "context engine bootstrap started",
      "context engine bootstrap completed",
      "context engine finalize completed",
      "native compaction not made alongside context-engine compaction",
    ])
      assert.equal(line(message)["runtime"], "codex", message);
    assert.match(String(line("context engine maintenance skipped")["reason"]), /^model_/);
    assert.doesNotMatch(JSON.stringify(lines), /Heron|Pelican/);
  });

  for (const reason of ["new", "reset"] as const)
    it(`begins on its own thread after /${reason}, and the former one is archived`, async () => {
      bench = await CodexBench.with((_request, index) => ({ text: `Answer ${index}.` }));
      const pagurus = await bench.host();
      await bench.ask(pagurus, "First?");
      await pagurus.renew({ reason, cwd: bench.cwd });
      await bench.ask(pagurus, "Second?");
      assert.deepEqual(conversation(bench.request(-1)), ["user: Second?"]);
      await pagurus.close();
      const codex = join(bench.root, "codex");
      assert.equal(readdirSync(join(codex, "archived_sessions")).length, 1);
    });
});
