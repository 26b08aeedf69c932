/**
 * The tables of docs/configuration.md, made from the schema and its notes (src/config/key-notes.ts). A table is between
 * `<!-- keys: PATH -->` and `<!-- /keys -->`, and has the keys below PATH that no other table has.
 * `node scripts/configuration-page.ts --check | --write`.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { noteOf, schemaKeys, type SchemaNode } from "../packages/core/src/config/describe-keys.ts";
import { KEY_NOTES } from "../packages/core/src/config/key-notes.ts";
import { runtimeKeyPaths } from "../packages/core/src/config/known-keys.ts";
import { configJsonSchema } from "../packages/core/src/config/config-schema.ts";
import { ROOT, runCommand } from "./command.ts";

const FILE = "docs/configuration.md";
const BLOCK = /<!-- keys: (\S+) -->\n[^]*?<!-- \/keys -->/g;
const LIST = "agents.list[].";
const DEFAULTS = "agents.defaults.";

/** Paths of all keys that a configuration may have, in the order of the schema; runtimes read their own. */
function allPaths(schema: SchemaNode): string[] {
  return [...schemaKeys(schema).map(({ path }) => path), ...runtimeKeyPaths()];
}

function row(path: string, block: string, inList: ReadonlySet<string>): string {
  const [meaning = "", fallback = ""] = noteOf(path) ?? [];
  const name = path.slice(block.length + 1).replaceAll("<>", "<id>");
  const only =
    path.startsWith(DEFAULTS) && block === "agents.defaults" && !inList.has(path.slice(DEFAULTS.length))
      ? " (only in `defaults`)"
      : "";
  return `| \`${name}\`${only} | ${meaning} | ${fallback} |`;
}

/** The page with its tables as they should be. Throws for a key without a note, and for a note without a key. */
export function configurationPage(page: string, schema: SchemaNode): string {
  const paths = allPaths(schema);
  const problems = [
    ...Object.keys(KEY_NOTES)
      .filter((path) => !paths.includes(path))
      .map((path) => `${path} is no key`),
    ...paths.filter((path) => !isNoted(path, paths)).map((path) => `${path} has no note`),
  ];
  if (problems.length > 0) throw new Error(`src/config/key-notes.ts: ${problems.join("; ")}.`);
  const blocks = [...page.matchAll(BLOCK)].map(([, block = ""]) => block);
  const inList = new Set(
    paths.filter((path) => path.startsWith(LIST)).map((path) => path.slice(LIST.length)),
  );
  const ownerOf = (path: string): string | undefined =>
    blocks.filter((block) => path.startsWith(`${block}.`)).toSorted((a, b) => b.length - a.length)[0];
  const noted = paths.filter((path) => KEY_NOTES[path] !== undefined);
  const homeless = noted.filter((path) => ownerOf(path) === undefined);
  if (homeless.length > 0) throw new Error(`${FILE} has no table for ${homeless.join(", ")}.`);
  return page.replaceAll(BLOCK, (_, block: string) =>
    [
      `<!-- keys: ${block} -->`,
      "",
      "| key | value | default |",
      "| --- | --- | --- |",
      ...noted.filter((path) => ownerOf(path) === block).map((path) => row(path, block, inList)),
      "",
      "<!-- /keys -->",
    ].join("\n"),
  );
}

/** Whether a key or its parent has a note; a key whose children all have notes needs none. */
function isNoted(path: string, paths: readonly string[]): boolean {
  const parents = path.split(/\.|(?=\[\])/).map((_, index, parts) =>
    parts
      .slice(0, index + 1)
      .join(".")
      .replaceAll(".[]", "[]"),
  );
  if (parents.some((parent) => noteOf(parent) !== undefined)) return true;
  return paths.some((other) => other !== path && other.startsWith(path) && noteOf(other) !== undefined);
}

/** One sentence where the page is not as it should be. */
export async function checkConfigurationPage(root: string, write = false): Promise<string[]> {
  const file = join(root, FILE);
  const before = readFileSync(file, "utf8");
  let after: string;
  try {
    after = await formatted(configurationPage(before, configJsonSchema()));
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
  if (write) writeFileSync(file, after);
  if (write || before === after) return [];
  return [`${FILE} differs from the schema; run node scripts/configuration-page.ts --write`];
}

/** Formatted by oxfmt. */
async function formatted(page: string): Promise<string> {
  const { code, stdout, stderr } = await runCommand(
    "sh",
    ["-c", 'printf %s "$PAGE" | node_modules/.bin/oxfmt --stdin-filepath docs/configuration.md'],
    {
      cwd: ROOT,
      env: { ...process.env, PAGE: page },
    },
  );
  if (code !== 0) throw new Error(`oxfmt failed for ${FILE}: ${stderr}`);
  return stdout;
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { check: { type: "boolean" }, write: { type: "boolean" } } });
  const problems = await checkConfigurationPage(ROOT, values.write === true);
  for (const problem of problems) console.error(problem);
  process.exitCode = problems.length === 0 ? 0 : 1;
}
