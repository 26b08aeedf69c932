/** What `npm run build` makes of the sources, without writing it. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import type { OutputChunk } from "rolldown";
import { bundle, PUBLIC } from "../../scripts/build.ts";
import { ROOT } from "../../scripts/command.ts";

const COMMANDER = join(ROOT, "node_modules/commander/");

let files: OutputChunk[];
const fileNamed = (name: string): OutputChunk => {
  const found = files.find(({ fileName }) => fileName === name);
  assert.ok(found, `${name} was not built`);
  return found;
};
const fileWith = (module: string): OutputChunk => {
  const found = files.find(({ modules }) => join(ROOT, module) in modules);
  assert.ok(found, `${module} is in no file`);
  return found;
};

/** What a file loads at once. */
function loadedBy(name: string): Set<string> {
  const seen = new Set([name]);
  for (const each of seen) {
    const own = files.find(({ fileName }) => fileName === each);
    for (const imported of own?.imports ?? []) seen.add(imported);
  }
  return seen;
}

describe("the build", () => {
  before(async () => {
    files = await bundle(false);
  });

  it("puts each module into one file, and two packages alone", () => {
    // The client for browsers and the store's thread have builds of their own.
    const own = new Set(["client/index.js", "engines/lossless/store/worker.js"]);
    const shared = files.filter(({ fileName }) => !own.has(fileName));
    const modules = shared.flatMap((file) => Object.keys(file.modules)).filter((id) => !id.startsWith("\0"));
    const library = fileNamed("config/schema-library.js").modules;
    assert.deepEqual(
      modules.filter(
        (id) => !id.startsWith(join(ROOT, "src/")) && !(id in library) && !id.startsWith(COMMANDER),
      ),
      [],
    );
    const packages = Object.keys(library).flatMap((id) => /node_modules\/([^/]+)/.exec(id)?.[1] ?? []);
    assert.deepEqual([...new Set(packages)], ["zod"]);
    assert.deepEqual(
      modules.filter((id, index) => modules.indexOf(id) !== index),
      [],
    );
  });

  it("adds nothing to what an entry exports", async () => {
    for (const entry of PUBLIC) {
      const source = (await import(join(ROOT, `src/${entry}.ts`))) as object;
      assert.deepEqual(fileNamed(`${entry}.js`).exports.toSorted(), Object.keys(source).toSorted(), entry);
    }
  });

  it("loads the host only where it is used", () => {
    const host = fileWith("packages/app/src/app.ts").fileName;
    for (const entry of ["contract", "plugin-sdk/index", "cli/main", "engines/lossless/store/worker"])
      assert.ok(!loadedBy(`${entry}.js`).has(host), `${entry} loads the host`);
    assert.ok(loadedBy("index.js").has(host));
    // Few have a configuration that needs it.
    assert.ok(!loadedBy("index.js").has("config/schema-library.js"));
  });

  it("leaves a module the URL that it has alone", () => {
    const { code } = fileWith("src/platform/package-version.ts");
    assert.match(
      code,
      /new URL\("\.\.\/\.\.\/package\.json", new URL\("\.\.\/platform\/package-version\.js", import\.meta\.url\)/,
    );
  });
});
