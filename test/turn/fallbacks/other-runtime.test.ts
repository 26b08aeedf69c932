/** Runtimes that call their model themselves, where fallbacks are configured. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fallbackRows } from "../../../packages/host/src/command/fallback-text.ts";
import type { TurnEvent } from "../../../packages/contract/src/host/events.ts";
import type { AgentHarness } from "../../../packages/contract/src/harness/harness.ts";
import { PagurusError } from "../../../packages/contract/src/errors.ts";
import { HARNESS_CONTRACT } from "../../../packages/contract/src/version.ts";
import { createPagurus } from "../../../packages/app/src/create.ts";
import { eventsOf } from "../in-process.ts";
import { run as runCommand } from "../setting.ts";
import { startWith } from "../start-with.ts";
import { cooldowns, startChain, takeovers } from "./fallback-setting.ts";

test("a runtime that calls its model itself has no fallbacks, also while the model cools", async () => {
  const chain = await startChain({ one: () => ({ status: 529 }), two: () => ({ text: "It is noon." }) });
  const failure = new PagurusError("model_unavailable", "Overloaded.", { details: { reason: "overloaded" } });
  const seen: string[] = [];
  const own: AgentHarness = {
    id: "own",
    label: "Own",
    contract: HARNESS_CONTRACT,
    execution: { kind: "in-process" },
    seam: "thread",
    capabilities: ["bootstrap", "assemble-before-prompt", "after-turn", "maintain", "compact"],
    supports: () => ({ supported: true }),
    start: startWith(async (turn) => {
      await turn.context.assemble();
      seen.push(turn.model.ref);
      await assert.rejects(turn.context.fallback(failure, { shown: false }), failure);
      throw failure;
    }),
  };
  const { home, workspace: cwd, env } = chain.setting;
  try {
    const first = await runCommand(chain.setting, "What time is it?");
    assert.equal(takeovers(first.events).length, 1);
    const before = cooldowns(chain);
    const pagurus = await createPagurus({ home, env, harnesses: [own] });
    try {
      const events: TurnEvent[] = await eventsOf(pagurus.run({ prompt: "And now?", cwd, runtime: "own" }));
      assert.deepEqual(takeovers(events), []);
      const last = events.at(-1);
      assert.ok(last?.type === "turn.failed" && last.error.message === "Overloaded.", JSON.stringify(last));
      assert.deepEqual(seen, ["one/model"]);
      assert.deepEqual(cooldowns(chain), before);
    } finally {
      await pagurus.close();
    }
  } finally {
    await chain.close();
  }
});

test("status says that the fallbacks of such a runtime are not applied", () => {
  const fallbacks = { models: ["a/b", "c/d"], applied: false, cooldowns: [], recent: [] };
  assert.deepEqual(fallbackRows({ fallbacks, Runtime: { id: "codex", rule: "" } }), [
    ["Fallbacks", "a/b, c/d (not applied: the runtime codex calls its model itself)"],
  ]);
});
