/** `pagurus runtimes test` over the real programs that Pagurus wraps or serves: every check passes. */
import { describe, it } from "node:test";
import { delimiter, dirname } from "node:path";
import { createPagurus } from "../../../packages/app/src/app.ts";
import { programRecipe } from "../../../packages/testkit/src/program/program-recipes.ts";
import { testProgram } from "../../../packages/testkit/src/program/program-suite.ts";
import { LAUNCHER } from "../../runner/program.ts";
import { FULL } from "../../runner/short-form.ts";
import { pinnedProgram } from "../programs.ts";

/** In short form the two that start fastest, through the checks that show most of the program's own behaviour. */
const IDS = FULL
  ? (["pi", "opencode", "copilot", "gemini", "qwen", "acpx"] as const)
  : (["pi", "acpx"] as const);
const CHECKS = ["start.tools", "start.interrupted"];

describe("the suite of programs", { concurrency: 2 }, () => {
  for (const id of IDS) {
    const recipe = programRecipe(id);
    if (!recipe) throw new Error(`no recipe of ${id}`);
    const options = {
      command: pinnedProgram(id),
      recipe,
      pagurus: [process.execPath, LAUNCHER],
      open: createPagurus,
      env: { PATH: [dirname(process.execPath), process.env["PATH"]].join(delimiter) },
      ...(FULL ? {} : { only: CHECKS }),
    };
    testProgram(id, options, (name, run) => void it(name, run));
  }
});
