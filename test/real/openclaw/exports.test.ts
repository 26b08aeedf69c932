/** The plugin kit's exports, name for name: those of OpenClaw's package are here, or listed as absent (`sdk-absent.ts`). */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { OPENCLAW_SPECIFIERS } from "../../../packages/host/src/plugin/compat/imports.ts";
import * as sdk from "../../../packages/host/src/plugin/compat/sdk.ts";
import { absentFrom, absentNames } from "../../../packages/host/src/plugin/compat/sdk-absent.ts";

const KIT = join(import.meta.dirname, "node_modules/openclaw/dist/plugin-sdk");
const ROOT = "openclaw/plugin-sdk/";
const OWN = new Set(Object.keys(sdk));
/** Subpaths that resolve here and are in the package; the others were in earlier versions of it. */
const SUBPATHS = OPENCLAW_SPECIFIERS.flatMap((specifier) => {
  const subpath = specifier.slice(ROOT.length);
  return !subpath.endsWith(".js") && existsSync(join(KIT, `${subpath}.js`)) ? [subpath] : [];
});

/** Names that are here for any specifier, and are of other subpaths there. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  createPluginRuntimeStore: "runtime-store",
  defineBundledChannelEntry: "channel-entry-contract",
  resolveGlobalSingleton: "global-singleton",
};

/** Names that a module of the package exports. */
function exportsOf(subpath: string): string[] {
  const source = readFileSync(join(KIT, `${subpath}.js`), "utf8");
  assert.doesNotMatch(source, /^export (?!\{)/m, "only lists of names are read here");
  return [...source.matchAll(/^export \{([^}]*)\}/gm)]
    .flatMap(([, names = ""]) => names.split(","))
    .map(
      (name) =>
        name
          .trim()
          .split(/\s+as\s+/)
          .at(-1) ?? "",
    )
    .filter((name) => name !== "");
}

describe("the names of openclaw/plugin-sdk", () => {
  for (const subpath of SUBPATHS)
    it(`of ${subpath} are here, or listed as absent`, () => {
      const missing = exportsOf(subpath).filter((name) => !OWN.has(name));
      assert.deepEqual(absentNames(subpath), missing.toSorted());
      for (const name of missing) assert.ok(absentFrom(name)?.startsWith(ROOT), name);
    });

  it("that are here are OpenClaw's", () => {
    const theirs = new Set(SUBPATHS.flatMap(exportsOf));
    for (const [name, subpath] of Object.entries(ELSEWHERE))
      if (exportsOf(subpath).includes(name)) theirs.add(name);
    const invented = [...OWN].filter((name) => !theirs.has(name));
    assert.deepEqual(invented, []);
    const all = SUBPATHS.map((subpath) => absentNames(subpath)?.length ?? 0);
    console.log(
      `${theirs.size} names of ${SUBPATHS.length} subpaths, ${OWN.size} here, ${all.reduce((sum, count) => sum + count, 0)} listed as absent`,
    );
  });
});
