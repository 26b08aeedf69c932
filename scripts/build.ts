/** `npm run build`: JavaScript and declarations of `src/` in `dist/`, by plain tsc. */
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ROOT, runCommand } from "./command.ts";
import { filesUnder } from "./source-files.ts";

const ENTRIES = ["index", "contract", "plugin-sdk/index", "testkit/index"];

/** Throws when the compiler fails or an entry that package.json names was not made. */
export async function build(): Promise<number> {
  rmSync(join(ROOT, "dist"), { recursive: true, force: true });
  const result = await runCommand(join(ROOT, "node_modules/.bin/tsc"), ["-p", "tsconfig.build.json"]);
  if (result.code !== 0) throw new Error(`tsc failed:\n${result.stdout}${result.stderr}`);
  for (const entry of ENTRIES) {
    for (const suffix of [".js", ".d.ts"]) {
      const file = `dist/${entry}${suffix}`;
      if (!existsSync(join(ROOT, file))) throw new Error(`${file} was not built; package.json exports it.`);
    }
  }
  // Types alone: their modules are empty.
  for (const file of filesUnder(ROOT, "dist/runtimes/codex/protocol", ".js")) rmSync(join(ROOT, file));
  return filesUnder(ROOT, "dist", ".js").length;
}

if (import.meta.main) {
  try {
    console.log(`dist: ${await build()} modules`);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
