import assert from "node:assert/strict";
import { it } from "node:test";
import type { AgentHarness } from "../../../packages/contract/src/harness/harness.ts";
import type { TurnRun } from "../../../packages/contract/src/host/run.ts";
import {
  HARNESS_CONTRACT_1,
  type RunTurn1,
  type Turn1,
} from "../../../packages/host/src/plugin/compat/harness-contract-1.ts";
import { Bench, eventsOf } from "../../turn/in-process.ts";

it("a harness of the contract pagurus.harness/1 gets all members of the turn side by side, in one object for the whole turn", async () => {
  const bench = await Bench.with(() => ({ text: "Not asked." }));
  try {
    const turns: Turn1[] = [];
    const taken: unknown[] = [];
    let run: TurnRun | undefined;
    const runTurn: RunTurn1 = async (turn) => {
      turns.push(turn);
      taken.push(...(await turn.takeInputs()).map(({ content }) => content));
      const { messages } = await turn.assemble();
      turn.receipt({});
      turn.bind({ nativeId: "thread", state: { count: messages.length } });
      const content = [{ type: "text" as const, text: `${turn.said().length} of ${turn.fragments.length}` }];
      await turn.emit({ type: "message", message: { role: "assistant", content } });
      if (turns.length === 1) run?.steer("And the wind?");
      return { stopReason: "stop", usage: { input: 0, output: 0, totalTokens: 0 } };
    };
    const earlier = {
      id: "earlier",
      label: "Earlier",
      contract: HARNESS_CONTRACT_1,
      execution: { kind: "in-process" },
      seam: "embedded",
      capabilities: ["bootstrap", "assemble-before-prompt", "after-turn", "maintain", "compact"],
      supports: () => ({ supported: true }),
      runTurn,
    } as unknown as AgentHarness;
    const pagurus = await bench.host({ more: { harnesses: [earlier] } });
    run = pagurus.run({ prompt: "The tide?", cwd: bench.root, runtime: "earlier" });
    const events = await eventsOf(run);
    const end = events.at(-1);
    assert.ok(end?.type === "turn.completed", JSON.stringify(end));
    assert.deepEqual(end.degraded, []);
    assert.equal(turns.length, 2);
    assert.equal(turns[0], turns[1]);
    assert.deepEqual(taken, [[{ type: "text", text: "And the wind?" }]]);
    assert.deepEqual(turns[0]?.binding(), { nativeId: "thread", state: { count: 3 } });
  } finally {
    await bench.end();
  }
});
