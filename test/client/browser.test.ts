import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { test } from "node:test";
import { bundle } from "../../scripts/build.ts";
import { ROOT } from "../../scripts/command.ts";
import { longTest } from "../runner/long-tests.ts";

/** Imports of a source that exist when it runs; type-only ones are erased. */
function imports(source: string): string[] {
  return [
    ...source.matchAll(/^(?:import|export)\s+(?!type\b)[^;]*?from "([^"]+)"|import\("([^"]+)"\)/gm),
  ].map(([, one, other]) => one ?? other ?? "");
}

test("the client imports neither Node.js nor a package, in the sources", () => {
  const seen = new Set([resolve(ROOT, "packages/client/src/index.ts")]);
  for (const file of seen)
    for (const name of imports(readFileSync(file, "utf8"))) {
      const [, data] = /^@pagurus\/core\/(data\/.*)$/.exec(name) ?? [];
      if (data !== undefined) seen.add(resolve(ROOT, `packages/core/src/${data}.ts`));
      else {
        assert.match(name, /^\.\.?\//, `${file} imports ${name}`);
        seen.add(resolve(dirname(file), name));
      }
    }
  assert.ok(seen.size > 4);
  for (const file of seen) assert.match(file, /\/packages\/(?:client|core\/src\/data)\//);
});

longTest("nor does it in the build, whatever modules it shares with other entries", async () => {
  const chunks = new Map((await bundle(false)).map((chunk) => [chunk.fileName, chunk]));
  const seen = new Set(["client/index.js"]);
  for (const name of seen) {
    const chunk = chunks.get(name);
    assert.ok(chunk, `${name} is not in the build`);
    for (const id of chunk.moduleIds)
      assert.ok(
        [join(ROOT, "packages/client/src/"), join(ROOT, "packages/core/src/data/"), "\0"].some((start) =>
          id.startsWith(start),
        ),
        id,
      );
    for (const imported of [...chunk.imports, ...chunk.dynamicImports]) seen.add(imported);
  }
});
