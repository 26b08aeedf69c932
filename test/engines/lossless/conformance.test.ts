import assert from "node:assert/strict";
import { test } from "node:test";
import { createLosslessEngine } from "../../../src/engines/lossless/engine.ts";
import { runEngineSuite } from "../../../src/testkit/index.ts";

/** Checks of what the engine does not offer, or that its own way of compacting does not come to. */
const NOT_OFFERED = [
  "compact.aborted-midway",
  "compact.after-failure",
  "compact.focus",
  "compact.makes-room",
  "compact.model-empty",
  "compact.model-fails",
  "compact.model-long",
  "info.accepted-params",
  "maintain.refused",
  "maintain.rewrites",
  "rotation.before",
  "rotation.file",
  "rotation.goes-on",
  "rotation.kept",
  "rotation.tree",
  "settle.after-turn",
  "settle.ingest-batch",
];

test("the lossless engine passes the conformance suite, but for what it does not offer", async () => {
  const report = await runEngineSuite({
    create: ({ dir }) => createLosslessEngine({ agentDir: dir, config: {} }),
  });
  const ids = (wanted: string): string[] =>
    report.results.flatMap(({ status, id }) => (status === wanted ? [id] : [])).toSorted();
  assert.deepEqual(ids("failed"), []);
  assert.deepEqual(ids("skipped"), NOT_OFFERED);
});
