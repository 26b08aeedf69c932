import assert from "node:assert/strict";
import { test } from "node:test";
import type { ContextEngine } from "../../../packages/contract/src/engine/engine.ts";
import { createLosslessEngine } from "../../../packages/lossless/src/lossless-engine.ts";
import { engineChecks, runEngineSuite, type SuiteReport } from "../../../packages/testkit/src/index.ts";
import { longTest } from "../../runner/long-tests.ts";

/** Checks for features that the engine does not offer, with the reason. */
const NOT_OFFERED: Record<string, string> = {
  "compact.makes-room":
    "is of engines that do not own compaction; compact.owner is the check of those that do",
  "info.accepted-params": "the engine takes every parameter, so it names none",
  "maintain.refused":
    "nothing is rewritten in the transcript: what is left out of a context is a matter of its epoch",
  "maintain.rewrites": "as maintain.refused",
  "rotation.before": "a compaction stays in its session; nothing has to be moved to shorten a context",
  "rotation.file": "as rotation.before",
  "rotation.goes-on": "as rotation.before",
  "rotation.kept": "as rotation.before",
  "rotation.tree": "as rotation.before",
  "settle.after-turn":
    "turns are taken by commitTurn, which is preferred to it and knows a turn that comes twice",
  "settle.ingest-batch": "as settle.after-turn",
};

/** A model writes summaries in manual compactions and in the background; no other compaction waits for it. */
const BY_A_MODEL = [
  "compact.aborted-midway",
  "compact.focus",
  "compact.model-empty",
  "compact.model-fails",
  "compact.model-long",
];
/** Without its model the compaction still succeeds, so there is nothing to retry. */
const NEVER_FAILS = "compact.after-failure";

const create = ({ dir }: { dir: string }): ContextEngine =>
  createLosslessEngine({ agentDir: dir, config: {} });

/** The engine as called by `/compact`. */
function asked(context: { dir: string }): ContextEngine {
  const engine = create(context);
  return {
    ...engine,
    compact: (params) => {
      const { runtimeContext } = params;
      if (!runtimeContext) return engine.compact(params);
      return engine.compact({ ...params, runtimeContext: { ...runtimeContext, manualCompaction: true } });
    },
  };
}

function ids(report: SuiteReport, wanted: string): string[] {
  return report.results.flatMap(({ status, id }) => (status === wanted ? [id] : [])).toSorted();
}

function failures({ results }: SuiteReport): string[] {
  return results.flatMap(({ id, status, reason }) => (status === "failed" ? [`${id}: ${reason}`] : []));
}

test("the lossless engine passes the conformance suite, except features that it does not offer", async () => {
  const report = await runEngineSuite({ create });
  assert.deepEqual(failures(report), []);
  assert.deepEqual(
    ids(report, "skipped"),
    [...Object.keys(NOT_OFFERED), ...BY_A_MODEL, NEVER_FAILS].toSorted(),
  );
});

longTest("its manual compactions, which a model writes, pass the conformance suite too", async () => {
  const only = engineChecks()
    .map(({ id }) => id)
    .filter((id) => id.startsWith("compact."));
  const report = await runEngineSuite({ create: asked, only });
  assert.deepEqual(failures(report), []);
  const skipped = [NEVER_FAILS, "compact.makes-room"];
  assert.deepEqual(ids(report, "skipped"), skipped.toSorted());
});
