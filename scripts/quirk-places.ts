/** Compares the quirks of `packages/core/src/model/quirks/` with their uses, their table in docs/architecture/models.md and their tests. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { KNOWN_PROVIDERS } from "../packages/core/src/model/model-catalog.ts";
import { PLAIN, QUIRK_ROWS, quirksOf } from "../packages/core/src/model/quirks/quirk-table.ts";

const KINDS = "packages/core/src/model/quirks/quirk-kinds.ts";
const TABLE = "docs/architecture/models.md";

function filesOf(root: string, pattern: string): [path: string, text: string][] {
  return globSync(pattern, { cwd: root })
    .toSorted()
    .map((path) => [path, readFileSync(join(root, path), "utf8")]);
}

/** The kinds that `Quirks` declares. */
function kindsOf(root: string): string[] {
  const [, members = ""] =
    /export interface Quirks \{\n([^]*?)\n\}/.exec(readFileSync(join(root, KINDS), "utf8")) ?? [];
  return [...members.matchAll(/^ {2}(\w+)\??[(:]/gm)].map(([, name = ""]) => name);
}

/** Only the folder of quirks and the catalog compare ids of protocols and providers. */
function comparedIds(root: string): string[] {
  const ids = [...QUIRK_ROWS.flatMap(({ api }) => api ?? []), ...Object.keys(KNOWN_PROVIDERS)];
  const literal = new RegExp(`"(?:${ids.join("|")})"`);
  return filesOf(root, "packages/core/src/model/*.ts").flatMap(([path, text]) => {
    const line = text.split("\n").findIndex((each) => literal.test(each)) + 1;
    if (line === 0 || path.endsWith("/model-catalog.ts")) return [];
    return [`${path}:${line} compares an id: make it a quirk in packages/core/src/model/quirks/`];
  });
}

function unusedKinds(root: string): string[] {
  const source = filesOf(root, "packages/core/src/model/{*,protocols/*}.ts")
    .map(([, text]) => text)
    .join("\n");
  const kinds = kindsOf(root);
  if (kinds.length === 0) return [`${KINDS} declares no interface Quirks`];
  return kinds.flatMap((kind) => {
    const use = new RegExp(`\\.${kind}\\b|\\{[^{}]*\\b${kind}\\b[^{}]*\\}(?:: Quirks| = quirks)`);
    return [
      ...(use.test(source) ? [] : [`nothing in packages/core/src/model uses the quirk ${kind}`]),
      ...(QUIRK_ROWS.some(({ quirks }) => kind in quirks)
        ? []
        : [`no row of packages/core/src/model/quirks/ sets ${kind}`]),
    ];
  });
}

function rowProblems(): string[] {
  const problems = QUIRK_ROWS.flatMap(({ name, provider, quirks }, at) => {
    const known = provider === undefined || Object.hasOwn(KNOWN_PROVIDERS, provider);
    const idle = Object.entries(quirks).filter(([kind, value]) => {
      const earlier = QUIRK_ROWS.slice(0, at).some((row) => kind in row.quirks);
      return !earlier && value === PLAIN[kind as keyof typeof PLAIN];
    });
    return [
      ...(known ? [] : [`${name}: add "${provider}" to KNOWN_PROVIDERS`]),
      ...idle.map(([kind]) => `${name}: ${kind} has this value without the row`),
    ];
  });
  const speechless = Object.entries(KNOWN_PROVIDERS).filter(
    ([provider, { api }]) => quirksOf({ api, provider, id: "m" }).loadProtocol === PLAIN.loadProtocol,
  );
  return [...problems, ...speechless.map(([provider]) => `no row has the writer of ${provider}'s protocol`)];
}

function sorted(list: readonly string[]): string {
  return list.toSorted((one, other) => one.localeCompare(other)).join(", ");
}

/** The table of the page has the rows of the source, in their order. */
function tableProblems(root: string): string[] {
  const page = readFileSync(join(root, TABLE), "utf8");
  const [, section = ""] = /\n## Quirks\n([^]*?)(?=\n## |$)/.exec(page) ?? [];
  const documented = [...section.matchAll(/^\| ([^`|]+?) +\| (`.*?) +\|$/gm)].map(
    ([, name = "", list = ""]) =>
      `${name}: ${sorted([...list.matchAll(/`(\w+)`/g)].map(([, kind = ""]) => kind))}`,
  );
  const actual = QUIRK_ROWS.map(({ name, quirks }) => `${name}: ${sorted(Object.keys(quirks))}`);
  const missing = actual.filter((row) => !documented.includes(row)).map((row) => `lacks the row "${row}"`);
  const extra = documented
    .filter((row) => !actual.includes(row))
    .map((row) => `has a row of no quirk: "${row}"`);
  const order = missing.length + extra.length === 0 && documented.join("\n") !== actual.join("\n");
  return [...missing, ...extra, ...(order ? ["has the rows in another order"] : [])].map(
    (problem) => `${TABLE}, "Quirks": ${problem}`,
  );
}

/** A row for a provider or for some models is named by a test title. */
function untestedRows(root: string): string[] {
  const tests = filesOf(root, "test/model/*.test.ts")
    .map(([, text]) => text)
    .join("\n");
  return QUIRK_ROWS.filter(({ provider, model }) => provider !== undefined || model !== undefined)
    .filter(({ name }) => !new RegExp(`\\b(?:test|it)\\(\\s*["\`][^"\`]*${name}`).test(tests))
    .map(({ name }) => `no test title in test/model/ names the quirks of ${name}`);
}

/** One sentence for each forgotten place. */
export function checkQuirkPlaces(root: string): string[] {
  return [
    ...comparedIds(root),
    ...unusedKinds(root),
    ...rowProblems(),
    ...tableProblems(root),
    ...untestedRows(root),
  ];
}
