import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createPagurus } from "../../../packages/app/src/app.ts";
import {
  harnessChecks,
  runHarnessSuite,
  testHarness,
  type CheckResult,
  type HarnessSuiteOptions,
} from "../../../packages/testkit/src/index.ts";
import { MUTANT } from "./making.ts";
import { MUTANTS } from "./mutants.ts";
import { longTest } from "../../runner/long-tests.ts";

const open = createPagurus;

async function only(options: Partial<HarnessSuiteOptions>, id: string): Promise<CheckResult | undefined> {
  return (await runHarnessSuite({ open, runtime: MUTANT, ...options, only: [id] })).results[0];
}

describe("the harness suite", () => {
  longTest("passes for the embedded runtime in all that it offers", async () => {
    const results: CheckResult[] = [];
    const report = await runHarnessSuite({
      open,
      runtime: "embedded",
      tell: (result) => results.push(result),
    });
    assert.deepEqual(
      report.results.flatMap(({ id, status, reason }) => (status === "passed" ? [] : [[id, status, reason]])),
      [["thread.kept", "skipped", "not offered: The runtime binds no thread of its own to a session."]],
    );
    assert.ok(report.ok);
    assert.equal(report.passed, harnessChecks().length - 1);
    assert.deepEqual(results, report.results);
  });

  it("passes for it over the other protocol as well", async () => {
    const ids = ["turn.history", "tools.parallel", "usage.reported", "abort.partial-text"];
    const report = await runHarnessSuite({ open, runtime: "embedded", api: "openai-completions", only: ids });
    assert.equal(report.passed, ids.length, JSON.stringify(report.results));
  });

  it("skips what needs a capability that is not declared", async () => {
    const sound = MUTANTS["info.identity"];
    assert.ok(sound);
    const create: HarnessSuiteOptions["create"] = (place) => ({
      ...sound(place),
      capabilities: ["bootstrap", "assemble-before-prompt", "after-turn", "maintain"],
    });
    const result = await only({ create }, "compact.queued");
    const reason = "not offered: The harness does not declare the capability compact.";
    assert.deepEqual([result?.status, result?.reason], ["skipped", reason]);
  });

  it("skips a declared gap with its reason, and fails a false one", async () => {
    const [id, reason] = ["turn.answer", "It stutters."];
    const create = MUTANTS[id];
    assert.ok(create);
    const gap = await only({ create, gaps: { [id]: reason } }, id);
    assert.deepEqual([gap?.status, gap?.reason], ["skipped", "declared gap: It stutters."]);
    const none = await only({ runtime: "embedded", gaps: { [id]: reason } }, id);
    assert.equal(none?.status, "failed");
    assert.match(none?.reason ?? "", /remove it from the gaps/);
  });

  it("fails one check where the harness runs no model here, and skips the others", async () => {
    const create = MUTANTS["info.supports"];
    assert.ok(create);
    const ids = ["info.supports", "turn.answer", "end.idle"];
    const { results } = await runHarnessSuite({ open, runtime: MUTANT, create, only: ids });
    const reason = "not offered: The harness runs no model here; see info.supports.";
    assert.deepEqual(
      results.map(({ id, status, reason: why }) => [id, status, why]),
      [
        ["info.supports", "failed", "The harness does not run suite/model: It is Sunday."],
        ["turn.answer", "skipped", reason],
        ["end.idle", "skipped", reason],
      ],
    );
  });

  it("refuses ids that name no check, and an unknown runtime fails each", async () => {
    await assert.rejects(runHarnessSuite({ open, runtime: MUTANT, only: ["turn.magic"] }), {
      code: "usage_invalid",
      message: "The harness suite has no checks turn.magic; harnessChecks() lists their ids.",
    });
    const result = await only({ runtime: "nobody" }, "info.identity");
    assert.equal(result?.status, "failed");
    assert.match(result?.reason ?? "", /^The host has no runtime nobody \(there are: /);
  });

  it("registers one test for each check", async () => {
    const bodies = new Map<string, (context: { skip(reason?: string): void }) => Promise<void>>();
    const create = MUTANTS["turn.answer"];
    assert.ok(create);
    const options = { open, runtime: MUTANT, create, only: ["turn.answer", "tools.offered"] };
    testHarness("stutters", options, (name, body) => bodies.set(name, body));
    const outcomes = await Promise.all(
      [...bodies.values()].map((body) =>
        body({ skip: () => undefined }).then(
          () => "passed",
          (error: Error) => error.message.slice(0, 12),
        ),
      ),
    );
    assert.deepEqual(outcomes, ["turn.answer:", "passed"]);
  });
});
