/**
 * Seam "wire" on agents: their requests pass the host's model gateway, which shows the model the engine's context; a native
 * session gets only the user's messages, and one serves all turns.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { TurnEvent } from "../../../packages/contract/src/host/events.ts";
import type { AgentName } from "./acp-bench.ts";
import { assertPairs, nativeIdOf, notOnce, WireBench } from "./wire-bench.ts";

const TURNS = 8;
const LONG_TURN = 3;
const ROUNDS = 30;
const ELSEWHERE = 5;
const MORE = "The keeper of the quay wrote down which ships had come, and when they would leave. ".repeat(16);

for (const agent of ["codex", "claude"] as AgentName[])
  describe(`${agent} over ACP at the model gateway`, { timeout: 180_000 }, () => {
    it("shows its model the whole conversation once at each request, verbatim or through a summary, in one session", async () => {
      let turn = 0;
      let round = 0;
      const bench = await WireBench.with(agent, (nth) => {
        const wanted = turn === ELSEWHERE ? 0 : turn === LONG_TURN ? ROUNDS : turn % 2;
        if (round >= wanted) return { text: `verbatim-${turn}-verbatim ${MORE}` };
        round += 1;
        const toolCalls = ["a", "b"].map((name) =>
          bench.noteCall(`call_${nth}${name}`, `w${turn}-${round}${name}-w`),
        );
        return { text: `I look, ${round}. ${MORE}`, toolCalls };
      });
      const wrong: string[] = [];
      const markers: string[] = [];
      const lanes: string[] = [];
      const sessions = new Set<unknown>();
      try {
        const pagurus = await bench.host({ trigger: 6_000, headTokens: 3_000, tailTokens: 1_500 });
        for (turn = 0; turn < TURNS; turn += 1) {
          round = 0;
          const from = bench.mains.length;
          const prompt = `asked-${turn}-asked`;
          markers.push(prompt);
          const runtime = turn === ELSEWHERE ? { runtime: "embedded" } : {};
          const events: TurnEvent[] = [];
          for await (const event of pagurus.run({ prompt, cwd: bench.cwd, ...runtime })) events.push(event);
          const last = events.at(-1);
          assert.ok(last?.type === "turn.completed", JSON.stringify(last));
          assert.deepEqual([last.seam, last.degraded], [turn === ELSEWHERE ? "embedded" : "wire", []]);
          lanes.push(...events.flatMap((each) => (each.type === "compaction.started" ? [each.lane] : [])));
          const requests = turn === ELSEWHERE ? [] : bench.mains.slice(from);
          if (turn !== ELSEWHERE) assert.equal(requests.length, round + 1, `requests of turn ${turn}`);
          for (const [index, request] of requests.entries()) {
            if (index > 0) for (const name of ["a", "b"]) markers.push(`w${turn}-${index}${name}-w`);
            wrong.push(...notOnce(request, markers).map((what) => `turn ${turn}, request ${index}: ${what}`));
            assertPairs(request);
            sessions.add(nativeIdOf(request));
            assert.ok(!request.text.includes("<conversation_context>"), "nothing is sent in a prompt");
          }
          markers.push(`verbatim-${turn}-verbatim`);
        }
      } finally {
        await bench.end();
      }
      assert.deepEqual(wrong, []);
      assert.equal(sessions.size, 1);
      assert.ok(lanes.length >= 2 && !lanes.includes("harness"), lanes.join());
    });
  });
