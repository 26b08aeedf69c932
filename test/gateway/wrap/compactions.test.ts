/** A program compacts inside a turn: the turn continues, and the engine provides what the program has dropped. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { CompactionInterceptRequest } from "../../../packages/contract/src/engine/engine-compaction.ts";
import type { ContextEngine } from "../../../packages/contract/src/engine/engine.ts";
import { answer, lineOf, Played, request, result, user, WrapBench } from "./bench.ts";

describe("a compaction inside a turn of the user's own program", () => {
  const bench = { current: new WrapBench() };
  let asked: CompactionInterceptRequest[] = [];
  const engine: ContextEngine = {
    info: { id: "seen", name: "Seen", interceptsCompaction: true, assembleScope: "call" },
    ingest: async () => ({ ingested: true }),
    assemble: async ({ messages }) => ({ messages, estimatedTokens: 0 }),
    compact: async () => ({ ok: true, compacted: false }),
    interceptCompaction: async (question) => {
      asked.push(question);
      const { firstKeptEntryId, tokensBefore } = question;
      return { handled: true, summary: "What was.", firstKeptEntryId, tokensBefore };
    },
  };
  beforeEach(async () => {
    asked = [];
    bench.current = new WrapBench();
    const config = { ...WrapBench.CONFIG, plugins: { slots: { contextEngine: "seen" } } };
    await bench.current.open({}, { engines: { seen: () => engine }, config });
  });
  afterEach(() => bench.current.end());

  it("leaves its turn open, also if only the newest answer and its results are left of it", async () => {
    const { current } = bench;
    const program = new Played(current);
    await program.asks(user("Look."));
    await program.isAnswered(answer("I look.", "c1"));
    await program.asks(result("c1"));
    await program.isAnswered(answer("I look again.", "c2"));
    const kind = "compaction" as const;
    const compaction = { trigger: "auto" as const };
    // The newest round stays with the program, and is not part of the compaction.
    const dropped = program.messages.slice(0, 3);
    const reply = await current.governor.compaction(
      request({ messages: dropped, kind, compaction }),
      program.call(),
    );
    assert.deepEqual(reply, { summary: "What was." });
    assert.deepEqual(
      asked.map(({ messages }) => messages.map(lineOf)),
      [["user: Look.", "assistant: I look. | call c1", "result c1 done c1"]],
    );
    const kept = [answer("I look again.", "c2"), result("c2")];
    const governed = await current.governor.main(request({ messages: kept, liveFrom: 0 }), program.call());
    const whole = [
      "user: Look.",
      "assistant: I look. | call c1",
      "result c1 done c1",
      "assistant: I look again. | call c2",
      "result c2 done c2",
    ];
    const { messages } = governed?.context ?? { messages: [] };
    assert.deepEqual(messages.map(lineOf), whole);
    assert.equal(current.governor.turns, 1);
    const [first] = asked;
    assert.equal(first?.firstKeptEntryId, messages[3]?.entryId, "the answer that waits for its results");
    // The program's elements only represent what came after it.
    assert.deepEqual(
      messages.map((message) => governed?.isOriginal(message)),
      [false, false, false, false, true],
    );
    assert.deepEqual(current.transcript(), whole);
  });
});
