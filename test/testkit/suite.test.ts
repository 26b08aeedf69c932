import assert from "node:assert/strict";
import { test } from "node:test";
import type { CompactParams } from "../../packages/contract/src/engine/engine-compaction.ts";
import type { ContextEngine } from "../../packages/contract/src/engine/engine.ts";
import { createLegacyEngine } from "../../packages/host/src/engines/legacy/legacy-engine.ts";
import {
  runEngineSuite,
  testEngine,
  type CheckResult,
  type EngineSuiteOptions,
} from "../../packages/testkit/src/index.ts";
import { MUTANTS } from "./mutants.ts";

const create = (): ContextEngine => createLegacyEngine();
const GAP = "compact.focus";

async function only(options: EngineSuiteOptions, id: string): Promise<CheckResult | undefined> {
  return (await runEngineSuite({ ...options, only: [id] })).results[0];
}

test("a declared gap that is one is skipped with its reason", async () => {
  const mutant = MUTANTS[GAP] ?? create;
  const result = await only({ create: mutant, gaps: { [GAP]: "Summaries have no focus." } }, GAP);
  assert.deepEqual([result?.status, result?.reason], ["skipped", "declared gap: Summaries have no focus."]);
});

test("a gap that is declared although the check passes is a failure", async () => {
  const result = await only({ create, gaps: { [GAP]: "Summaries have no focus." } }, GAP);
  assert.equal(result?.status, "failed");
  assert.match(result?.reason ?? "", /remove it from the gaps/);
});

test("what an engine does not offer is skipped without being declared", async () => {
  const result = await only({ create }, "maintain.answer");
  assert.deepEqual(
    [result?.status, result?.reason],
    ["skipped", "not offered: The engine has no maintain()."],
  );
});

test("an id that names no check is refused, in the gaps and among those to run", async () => {
  const code = { code: "usage_invalid" };
  await assert.rejects(runEngineSuite({ create, gaps: { "assemble.magic": "no" } }), code);
  await assert.rejects(runEngineSuite({ create, only: ["assemble.magic"] }), code);
  assert.throws(() => testEngine("legacy", { create, only: ["assemble.magic"] }, () => undefined), code);
});

test("an engine that cannot be created, or that hangs, fails its checks and the suite continues", async () => {
  const broken = (): never => {
    throw new Error("no database");
  };
  assert.equal((await only({ create: broken }, "assemble.empty"))?.reason, "no database");
  const hanging = (): ContextEngine => ({
    ...createLegacyEngine(),
    assemble: () => new Promise(() => undefined),
  });
  const result = await only({ create: hanging, deadlineMs: 50 }, "assemble.empty");
  assert.deepEqual(
    [result?.status, result?.reason],
    ["failed", "The check assemble.empty took longer than 50 ms."],
  );
});

test("a compaction that failed without a model succeeds when there is one", async () => {
  const made = (): ContextEngine => {
    const engine = createLegacyEngine();
    return {
      ...engine,
      compact: async (params: CompactParams) => {
        await params.runtimeContext?.llm.complete({
          messages: [{ role: "user", content: "Are you there?" }],
        });
        return await engine.compact(params);
      },
    };
  };
  assert.equal((await only({ create: made }, "compact.after-failure"))?.status, "passed");
});

test("testEngine registers a test for each check, which passes, fails or skips as the check does", async () => {
  const bodies = new Map<string, (context: { skip(reason?: string): void }) => Promise<void>>();
  const options: EngineSuiteOptions = {
    create: MUTANTS["assemble.order"] ?? create,
    only: ["info.members", "assemble.order", "end.used"],
  };
  testEngine("backward", options, (name, body) => bodies.set(name, body));
  const outcomes: string[] = [];
  for (const body of bodies.values()) {
    const skipped: string[] = [];
    const outcome = await body({ skip: (reason) => void skipped.push(reason ?? "") }).then(
      () => "passed",
      (error: Error) => `failed: ${error.message.slice(0, 15)}`,
    );
    outcomes.push(skipped[0] ?? outcome);
  }
  assert.deepEqual(outcomes, [
    "passed",
    "failed: assemble.order:",
    "not offered: The engine has no dispose().",
  ]);
  assert.ok([...bodies.keys()].every((name) => name.startsWith("backward: ")));
});
