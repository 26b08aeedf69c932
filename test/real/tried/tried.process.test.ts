/** The programs that users have with Pagurus, as the table of docs/tried-with.md has them: turns, a compaction, a resume. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ALL, FULL } from "../../runner/short-form.ts";
import { pinnedProgram } from "../programs.ts";
import { SUBJECT_IDS } from "./subjects.ts";
import { PASS, tryProgram } from "./trial.ts";

const TURNS = FULL ? 10 : 2;
/** OpenCode takes longest to start; only CI has it in short form. */
const IDS = ALL ? SUBJECT_IDS : SUBJECT_IDS.filter((id) => id !== "opencode");

describe(`${TURNS} turns with tools, a compaction and a resume in a new process`, { concurrency: 2 }, () => {
  for (const id of IDS)
    it(`pass with ${id}`, async () => {
      assert.deepEqual(await tryProgram(id, pinnedProgram(id), TURNS), {
        turns: PASS,
        compaction: PASS,
        resume: PASS,
      });
    });
});
