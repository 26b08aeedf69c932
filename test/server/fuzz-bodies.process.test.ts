/** Bodies near valid ones, at random, on each API of a real server: the short form of `scripts/fuzz-server.ts`. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ALL } from "../runner/short-form.ts";
import { FuzzRun } from "./fuzz-run.ts";
import { answerLines, PART_HEAD, partLine } from "./fuzz-table.ts";

const REQUESTS = ALL ? 3_000 : 600;

test(`${REQUESTS} bodies at random are answered below 500 while others are served`, async (context) => {
  const run = await FuzzRun.start(100, context.signal);
  try {
    const part = await run.part(1, REQUESTS);
    for (const line of [...answerLines([part]), ...PART_HEAD, partLine(part)]) context.diagnostic(line);
    assert.deepEqual(part.failed, []);
    assert.ok(part.asked > 0);
    await run.check();
  } finally {
    await run.end();
  }
});
