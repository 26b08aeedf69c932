import assert from "node:assert/strict";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { ROOT, runCommand } from "../../scripts/command.ts";
import { engineChecks, type SuiteReport } from "../../packages/testkit/src/index.ts";
import { everyNth } from "../runner/short-form.ts";
import { AS_PROGRAM, runInside } from "../turn/inside.ts";
import { codeBlocks, PAGES } from "./pages.ts";
import { longTest } from "../runner/long-tests.ts";

const GUIDE = "docs/guides/write-an-engine.md";
/** Least share of the checks that the engine offers something for. */
const OFFERED = 0.57;

async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "pagurus-docs-"));
  try {
    await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Creates a project whose `pagurus` is this checkout's sources. */
function writeProject(folder: string): void {
  const options = {
    rootDir: "/",
    outDir: join(folder, "out"),
    noUnusedLocals: false,
    typeRoots: [join(ROOT, "node_modules/@types")],
    paths: {
      pagurus: [join(ROOT, "packages/app/src/index.ts")],
      "pagurus/plugin-sdk": [join(ROOT, "packages/host/src/plugin-sdk/index.ts")],
      "pagurus/contract": [join(ROOT, "packages/contract/src/index.ts")],
      "pagurus/client": [join(ROOT, "packages/client/src/index.ts")],
      "pagurus/testkit": [join(ROOT, "packages/testkit/src/index.ts")],
    },
  };
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  writeFileSync(
    join(folder, "tsconfig.json"),
    JSON.stringify({ extends: join(ROOT, "tsconfig.json"), compilerOptions: options, include: ["*.ts"] }),
  );
}

/** Compiler errors of the examples; those of the sources are for `npm run types`. */
async function compilerSays(examples: ReadonlyMap<string, string>): Promise<string> {
  let ours = "";
  await inFolder(async (folder) => {
    writeProject(folder);
    for (const [name, code] of examples) writeFileSync(join(folder, name), code);
    const tsc = join(ROOT, "node_modules/.bin/tsc");
    const { stdout } = await runCommand(tsc, ["--noEmit", "-p", "tsconfig.json"], { cwd: folder });
    const complaints = stdout.split("\n").filter((line) => line.includes("error TS"));
    ours = complaints.filter((line) => !line.startsWith("../")).join("\n");
  });
  return ours;
}

describe("TypeScript in the documentation", () => {
  const examples = new Map(
    PAGES.flatMap((page) =>
      codeBlocks(page, "ts").map((code, index): [string, string] => [
        `${page.replaceAll(/\W+/g, "-")}-${index + 1}.ts`,
        code,
      ]),
    ),
  );

  longTest("compiles against the public entries, where a name that does not exist would not", async () => {
    assert.ok(examples.size > 0);
    const wrong = new Map([["wrong.ts", 'import { missing } from "pagurus";\nmissing();\n']]);
    const lines = (await compilerSays(new Map([...examples, ...wrong]))).split("\n");
    assert.deepEqual(
      lines.filter((line) => !line.startsWith("wrong.ts")),
      [],
    );
    assert.match(lines.join("\n"), /missing/);
  });
});

describe("the engine of the guide", () => {
  const env = (home: string): NodeJS.ProcessEnv => ({
    PATH: process.env["PATH"],
    HOME: home,
    PAGURUS_HOME: home,
    PAGURUS_NO_PROBE: "1",
  });
  const pagurus = async (home: string, ...args: string[]): Promise<string> => {
    const place = { cwd: home, env: env(home) };
    const main = join(ROOT, "bin/pagurus.js");
    const { code, stdout, stderr } = AS_PROGRAM
      ? await runCommand(process.execPath, [main, ...args], place)
      : await runInside(args, place);
    assert.equal(code, 0, stdout + stderr);
    return stdout;
  };

  longTest("passes the suite, copied as it is, in all that it offers (finding B11)", async () => {
    await inFolder(async (home) => {
      writeFileSync(join(home, "last-turns.js"), codeBlocks(GUIDE, "js")[0] ?? "");
      const checks = everyNth(engineChecks(), 4);
      const only = checks.map(({ id }) => id).join(",");
      const report = JSON.parse(
        await pagurus(home, "engines", "test", "last-turns.js", "--json", "--only", only),
      ) as SuiteReport;
      assert.equal(report.failed, 0);
      assert.equal(report.results.length, checks.length);
      // Checks of a store, maintenance, interception and successors are not offered.
      assert.ok(report.passed >= checks.length * OFFERED, `${report.passed} of ${checks.length} passed`);
    });
  });

  it("runs, shows the newest turns and compacts, as the guide says", async () => {
    await inFolder(async (home) => {
      writeFileSync(join(home, "last-turns.js"), codeBlocks(GUIDE, "js")[0] ?? "");
      writeFileSync(join(home, "pagurus.json"), codeBlocks(GUIDE, "json5")[0] ?? "");
      for (const word of ["cinnabar", "basalt", "ochre"])
        await pagurus(home, "run", `Remember the word ${word}.`);
      const last = (await pagurus(home, "run", "--json", "What next?")).trim().split("\n").at(-1) ?? "";
      const end = JSON.parse(last) as { type: string; engine: string; degraded: unknown[] };
      assert.deepEqual([end.type, end.engine, end.degraded], ["turn.completed", "last-turns", []]);
      assert.match(await pagurus(home, "context", "show"), /engine last-turns/);
      assert.match(await pagurus(home, "status"), /Engine: +last-turns \(plugins\.slots\.contextEngine;/);
      assert.match(await pagurus(home, "compact"), /^Compacted:/);
      assert.match(await pagurus(home, "context", "preview", "--prompt", "And now?"), /\n {2}head +1 /);
    });
  });
});
