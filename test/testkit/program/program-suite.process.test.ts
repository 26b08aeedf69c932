/** The suite of programs over a small client: it passes, and each planted fault fails the check that names it. */
import assert from "node:assert/strict";
import { dirname } from "node:path";
import { describe, it } from "node:test";
import { createPagurus } from "../../../packages/app/src/app.ts";
import { isOwnSuite, TRIED } from "../../../packages/core/src/data/tried-programs.ts";
import { programRecipe, type ProgramRecipe } from "../../../packages/testkit/src/program/program-recipes.ts";
import { programChecks, runProgramSuite } from "../../../packages/testkit/src/program/program-suite.ts";
import type { ProgramUnderTest } from "../../../packages/testkit/src/program/program-stage.ts";
import type { SuiteReport } from "../../../packages/testkit/src/index.ts";
import { LAUNCHER } from "../../runner/program.ts";
import { firstOf } from "../../runner/long-tests.ts";
import { FULL } from "../../runner/short-form.ts";

const CLIENT = new URL("client.ts", import.meta.url).pathname;
/** For faults of an end: a tenth of it is the time in which processes have to end. */
const DEADLINE_MS = 60_000;
const NEVER_END = ["deaf", "leaves"];

function recipe(fault: string): ProgramRecipe {
  const own = (words: string): string[] => [process.execPath, CLIENT, fault, words];
  return {
    protocol: "openai-completions",
    seam: "wire",
    setUp: ({ origin }) => ({ OPENAI_BASE_URL: `${origin}/v1`, OPENAI_API_KEY: "key-of-test" }),
    call: (command) => ({ name: "bash", arguments: { command } }),
    prompt: ({ pagurus }, words, isNext) => {
      // Without the wire no engine puts back what the program forgets.
      if (fault === "direct" || fault === "forgets") return [own(words)];
      const continues = isNext ? ["--continue"] : [];
      const engine = fault === "legacy" ? "legacy" : "lossless";
      const wire = [...pagurus, "wire", "--engine", engine, ...continues, "--api", "completions", "--"];
      return [[...wire, ...own(words)]];
    },
    compact: ({ pagurus }) => (fault === "whole" ? ["true"] : [...pagurus, "compact"]),
  };
}

function under(fault: string): ProgramUnderTest {
  return {
    command: process.execPath,
    recipe: recipe(fault),
    pagurus: [process.execPath, LAUNCHER],
    open: createPagurus,
    env: { PATH: process.env["PATH"] },
  };
}

function suite(fault: string, only?: readonly string[]): Promise<SuiteReport> {
  return runProgramSuite({
    ...under(fault),
    ...(NEVER_END.includes(fault) ? { deadlineMs: DEADLINE_MS } : {}),
    ...(only ? { only } : {}),
  });
}

/** By the check that finds it. */
const FAULTS: Readonly<Record<string, string>> = {
  "start.answer": "silent",
  "start.input-once": "repeats",
  "start.tools": "ignores",
  "start.refused": "hides",
  "start.interrupted": "deaf",
  "start.ends": "leaves",
  "resume.history": "forgets",
  "record.transcript": "direct",
  "receipt.names": "legacy",
  "usage.reported": "direct",
  "compact.engine": "whole",
};
/** Those that need one start, in the form that CI runs; `npm test` has two of them. */
const SHORT = firstOf(["start.tools", "usage.reported", "start.answer", "start.input-once"], 2);

describe("the suite of programs", { concurrency: 2 }, () => {
  it("has a recipe for each program that the command tries by itself", () => {
    const own = Object.keys(TRIED).filter(isOwnSuite);
    assert.deepEqual(
      own.filter((id) => programRecipe(id) === undefined),
      [],
    );
    assert.ok(own.length > 0);
  });

  it("starts a program in a folder of its home, so that files of others above that are not of the start", async () => {
    const places: string[] = [];
    const own = recipe("none");
    const { failed } = await runProgramSuite({
      ...under("none"),
      recipe: {
        ...own,
        setUp: (place) => {
          places.push(place.home);
          return own.setUp(place);
        },
        prompt: (commands, ...more) => {
          places.push(dirname(commands.cwd));
          return own.prompt(commands, ...more);
        },
      },
      only: ["usage.reported"],
    });
    assert.equal(failed, 0);
    assert.equal(places.length, 2);
    assert.equal(places[0], places[1]);
  });

  it("has a planted fault for each check", () => {
    assert.deepEqual(
      Object.keys(FAULTS).toSorted(),
      programChecks()
        .map(({ id }) => id)
        .toSorted(),
    );
  });

  it("passes with a sound client", async () => {
    const { results } = await suite("none", FULL ? undefined : [...SHORT, "compact.engine"]);
    assert.deepEqual(
      results.filter(({ status }) => status !== "passed"),
      [],
    );
  });

  for (const [id, fault] of Object.entries(FAULTS).filter(([each]) => FULL || SHORT.includes(each)))
    it(`fails ${id} by the fault "${fault}"`, async () => {
      const { failed, results } = await suite(fault, [id]);
      assert.equal(failed, 1, JSON.stringify(results));
      assert.doesNotMatch(results[0]?.reason ?? "", /did not end within|deadline/);
    });
});
