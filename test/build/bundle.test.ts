/** What `npm run build` makes of the sources, without writing it. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { runInThisContext } from "node:vm";
import { before, describe, it } from "node:test";
import type { OutputChunk } from "rolldown";
import { sourceFolders } from "../../scripts/source-files.ts";
import { asciiSource, bundle, moduleFile, PUBLIC } from "../../scripts/build.ts";
import { ROOT } from "../../scripts/command.ts";

/** Packages that are bundled. */
const BUNDLED = ["commander", "highlight.js"].map((name) => join(ROOT, "node_modules", name, "/"));

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

  it("writes ASCII alone, with the same texts and patterns", () => {
    // oxlint-disable-next-line no-control-regex
    for (const { code, fileName } of files) assert.doesNotMatch(code, /[^\0-\x7f]/, fileName);
    const source = '["é…", `${1}𝒳`, /[à-ü]+/u.exec("xéy")?.[0], \'\\\\é\'.length, /^[😀-😎]$/v.test("😅")]';
    const escaped = asciiSource(source);
    assert.match(escaped, /^[\0-\x7f]*$/);
    assert.deepEqual(runInThisContext(escaped), runInThisContext(source));
    assert.throws(() => asciiSource('"\\é"'), /backslash/);
  });

  it("puts each module into one file, and three packages alone", () => {
    // The client for browsers and the store's thread have builds of their own.
    const own = new Set(["client/index.js", "lossless/store/worker.js"]);
    const shared = files.filter(({ fileName }) => !own.has(fileName));
    const modules = shared.flatMap((file) => Object.keys(file.modules)).filter((id) => !id.startsWith("\0"));
    const library = fileNamed("core/config/schema-library.js").modules;
    assert.deepEqual(
      modules.filter(
        (id) =>
          !sourceFolders(ROOT).some((folder) => id.startsWith(join(ROOT, folder))) &&
          !(id in library) &&
          !BUNDLED.some((folder) => id.startsWith(folder)),
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
    for (const [entry, module] of Object.entries(PUBLIC)) {
      const source = (await import(join(ROOT, moduleFile(module)))) as object;
      assert.deepEqual(fileNamed(`${entry}.js`).exports.toSorted(), Object.keys(source).toSorted(), entry);
    }
  });

  it("loads the host only where it is used", () => {
    const host = fileWith("packages/app/src/app.ts").fileName;
    for (const entry of ["contract", "plugin-sdk/index", "cli/main", "lossless/store/worker"])
      assert.ok(!loadedBy(`${entry}.js`).has(host), `${entry} loads the host`);
    assert.ok(loadedBy("index.js").has(host));
    // Few have a configuration that needs it.
    assert.ok(!loadedBy("index.js").has("core/config/schema-library.js"));
  });

  it("leaves a module the URL that it has alone", () => {
    const { code } = fileWith("packages/core/src/platform/package-root.ts");
    assert.match(
      code,
      /fileURLToPath\(new URL\("\.\.\/(?:core\/)?platform\/package-root\.js", import\.meta\.url\)/,
    );
  });
});
