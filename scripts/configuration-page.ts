/**
 * The tables of docs/configuration.md, made from the schema (packages/core/src/config/config-schema.ts). A table is between
 * `<!-- keys: PATH -->` and `<!-- /keys -->`, and has the keys below PATH that no other table has.
 * `node scripts/configuration-page.ts --check | --write`.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { describedSchema } from "../packages/core/src/config/config-schema.ts";
import { schemaKeys, type SchemaKey, type SchemaNode } from "../packages/core/src/config/schema-keys.ts";
import { ROOT, runCommand } from "./command.ts";

const FILE = "docs/configuration.md";
const BLOCK = /<!-- keys: (\S+) -->\n[^]*?<!-- \/keys -->/g;
const LIST = "agents.list[].";
const DEFAULTS = "agents.defaults.";

/** Whether the key is one of all agents or all plugins, whose row has it already. */
function isRepeated(path: string): boolean {
  return (
    (path.startsWith(LIST) && path !== `${LIST}id`) ||
    /^plugins\.entries\.[a-z-]+\.(?:enabled|required)$|\.agentRuntime\.|\.(?:allow|deny)\[\]\./.test(path)
  );
}

function row({ path, node }: SchemaKey, block: string, inList: ReadonlySet<string>): string {
  const { description = "", fallback = "" } = node as { description?: string; fallback?: string };
  const name = path.slice(block.length + 1).replaceAll("<>", "<id>");
  const only =
    path.startsWith(DEFAULTS) && block === "agents.defaults" && !inList.has(path.slice(DEFAULTS.length))
      ? " (only in `defaults`)"
      : "";
  return `| \`${name}\`${only} | ${description} | ${fallback} |`;
}

/** The page with its tables as they should be. Throws for a key without a meaning. */
export function configurationPage(page: string, schema: SchemaNode): string {
  const keys = schemaKeys(schema);
  const described = keys.filter(({ node }) => node["description"] !== undefined).map(({ path }) => path);
  const missing = keys.filter(({ path }) => !isDescribed(path, described)).map(({ path }) => path);
  if (missing.length > 0) throw new Error(`The schema has no meaning of ${missing.join(", ")}.`);
  const blocks = [...page.matchAll(BLOCK)].map(([, block = ""]) => block);
  const inList = new Set(
    keys.filter(({ path }) => path.startsWith(LIST)).map(({ path }) => path.slice(LIST.length)),
  );
  const ownerOf = (path: string): string | undefined =>
    blocks.filter((block) => path.startsWith(`${block}.`)).toSorted((a, b) => b.length - a.length)[0];
  const shown = keys.filter(({ path, node }) => node["description"] !== undefined && !isRepeated(path));
  const homeless = shown.filter(({ path }) => ownerOf(path) === undefined).map(({ path }) => path);
  if (homeless.length > 0) throw new Error(`${FILE} has no table for ${homeless.join(", ")}.`);
  return page.replaceAll(BLOCK, (_, block: string) =>
    [
      `<!-- keys: ${block} -->`,
      "",
      "| key | value | default |",
      "| --- | --- | --- |",
      ...shown.filter(({ path }) => ownerOf(path) === block).map((key) => row(key, block, inList)),
      "",
      "<!-- /keys -->",
    ].join("\n"),
  );
}

/** Whether a key, its parent or a child has a meaning. */
function isDescribed(path: string, described: readonly string[]): boolean {
  return described.some((other) => path.startsWith(other) || other.startsWith(path));
}

/** One sentence where the page is not as it should be. */
export async function checkConfigurationPage(root: string, write = false): Promise<string[]> {
  const file = join(root, FILE);
  const before = readFileSync(file, "utf8");
  let after: string;
  try {
    after = await formatted(configurationPage(before, describedSchema()));
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
