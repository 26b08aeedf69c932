import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { KNOWN_PROVIDERS } from "../../src/model/model-catalog.ts";
import { PLAIN, QUIRK_ROWS, quirksOf } from "../../src/model/quirks/quirk-table.ts";

const ROOT = new URL("../../", import.meta.url);
const TABLE = "docs/architecture/models.md";

function read(path: string): string {
  return readFileSync(new URL(path, ROOT), "utf8");
}

/** The kinds that `Quirks` declares. */
function kinds(): string[] {
  const [, members = ""] =
    /export interface Quirks \{\n([^]*?)\n\}/.exec(read("src/model/quirks/quirk-kinds.ts")) ?? [];
  return [...members.matchAll(/^ {2}(\w+)\??[(:]/gm)].map(([, name = ""]) => name);
}

/** The files of `src/model` that use quirks. */
function users(): string[] {
  return globSync("src/model/*.ts", { cwd: ROOT });
}

test("only the folder of quirks and the catalog compare ids of protocols and providers", () => {
  const ids = [...QUIRK_ROWS.flatMap(({ api }) => api ?? []), ...Object.keys(KNOWN_PROVIDERS)];
  const literal = new RegExp(`"(?:${ids.join("|")})"`);
  for (const path of users()) {
    if (path.endsWith("/model-catalog.ts")) continue;
    const line = read(path)
      .split("\n")
      .find((each) => literal.test(each));
    assert.equal(line, undefined, `${path}: make it a quirk in src/model/quirks/`);
  }
});

test("each kind of quirk is used in src/model and set by a row", () => {
  const source = users().map(read).join("\n");
  assert.ok(kinds().length > 10);
  for (const kind of kinds()) {
    const used = new RegExp(`\\.${kind}\\b|\\{[^{}]*\\b${kind}\\b[^{}]*\\}(?:: Quirks| = quirks)`).test(
      source,
    );
    assert.ok(used, `nothing in src/model uses the quirk ${kind}`);
    assert.ok(
      QUIRK_ROWS.some(({ quirks }) => kind in quirks),
      `no row of src/model/quirks/ sets ${kind}`,
    );
  }
});

test("a row names a known provider, and each protocol of a known provider has a package", () => {
  for (const { name, provider } of QUIRK_ROWS) {
    assert.ok(
      provider === undefined || Object.hasOwn(KNOWN_PROVIDERS, provider),
      `${name}: add "${provider}" to KNOWN_PROVIDERS`,
    );
  }
  for (const [provider, { api }] of Object.entries(KNOWN_PROVIDERS)) {
    assert.notEqual(quirksOf({ api, provider, id: "m" }).loadPackage, PLAIN.loadPackage, provider);
  }
});

test("a row overrides the rows before it, and each row has an effect", () => {
  for (const [at, { name, quirks }] of QUIRK_ROWS.entries()) {
    for (const [kind, value] of Object.entries(quirks)) {
      const earlier = QUIRK_ROWS.slice(0, at).some((row) => kind in row.quirks);
      assert.ok(
        earlier || value !== PLAIN[kind as keyof typeof PLAIN],
        `${name}: ${kind} is so without the row`,
      );
    }
  }
});

test("the table of quirks in the documentation has the rows of the source, in both directions", () => {
  const [, section = ""] = /\n## Quirks\n([^]*?)(?=\n## |$)/.exec(read(TABLE)) ?? [];
  const documented = [...section.matchAll(/^\| ([^`|]+?) +\| (`.*?) +\|$/gm)].map(([, name, list = ""]) => ({
    name,
    kinds: [...list.matchAll(/`(\w+)`/g)]
      .map(([, kind]) => kind)
      .toSorted((one = "", other = "") => one.localeCompare(other)),
  }));
  const actual = QUIRK_ROWS.map(({ name, quirks }) => ({
    name,
    kinds: Object.keys(quirks).toSorted((one, other) => one.localeCompare(other)),
  }));
  assert.deepEqual(documented, actual);
});
