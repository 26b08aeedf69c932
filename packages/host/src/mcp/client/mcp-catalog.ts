/** The list of tools of one server: brought into the host's form, bounded, and kept for the next start. */
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { isAbsolute, join, resolve } from "node:path";
import type { JsonSchema } from "@pagurus/contract/harness/tool";
import { readSchema } from "./mcp-schema.ts";
import { placeOf, type Env } from "./mcp-settings.ts";
import { attempt } from "@pagurus/core/data/attempt";
import { plainLine, plainText } from "@pagurus/core/data/plain-text";
import { asString, fieldOf, isRecord, type Fields } from "@pagurus/core/data/record-fields";
import { ensurePrivateDir, writeFileAtomic } from "@pagurus/core/platform/atomic-files";
import type { McpServerConfig } from "@pagurus/core/config/config-types";
import { currentFolder } from "@pagurus/core/platform/surroundings";

/** A tool as its server calls it. */
export interface CatalogTool {
  name: string;
  description: string;
  parameters: JsonSchema;
  /** The server declares that the tool changes nothing. */
  onlyReads?: true;
}

export interface Catalog {
  /** Sorted by name. */
  tools: CatalogTool[];
  /** Ends of sentences: what was left out and why. */
  leftOut: string[];
  /** When the server listed them, ms since the epoch. */
  at: number;
}

/** A tool as a server lists it, as far as we read it. Only the name was checked. */
interface ListedTool extends Fields {
  name: string;
}

/** Limit on the pages of a tool list. */
export const MOST_PAGES = 20;
const MOST_TOOLS = 200;
/** Limit on the reported reasons why something was left out. */
const MOST_REASONS = 5;
const DESCRIPTION_CHARACTERS = 4_000;
const SCHEMA_CHARACTERS = 20_000;
const NAME_CHARACTERS = 256;

function toolDescription({ description, title, name }: ListedTool): string {
  const text = plainText(asString(description) ?? asString(title) ?? name).trim();
  return text.length <= DESCRIPTION_CHARACTERS
    ? text
    : `${text.slice(0, DESCRIPTION_CHARACTERS).replace(/[\uD800-\uDBFF]$/, "")}…`;
}

function shown(name: string): string {
  return `the tool ${JSON.stringify(plainLine(name, 60))}`;
}

/** Why an element of the list is no tool; undefined for a tool. Does not depend on its place in the list. */
function flawOf(element: unknown): string | undefined {
  if (!isRecord(element)) return "an element of its list of tools is no object";
  const { name, description, title } = element;
  if (typeof name === "string") return undefined;
  const about = asString(title) ?? asString(description);
  const described =
    about === undefined ? "" : ` with the description ${JSON.stringify(plainLine(about, 60))}`;
  if (typeof name === "number") return `a tool${described} has the number ${name} as its name`;
  return `a tool${described} has no name`;
}

/** Converts a listed tool; `leftOut` has the parts that are not offered. A string says why the tool is not offered. */
function read(tool: ListedTool): { tool: CatalogTool; leftOut: string[] } | string {
  const { name } = tool;
  if (name === "" || name.length > NAME_CHARACTERS)
    return `${shown(name)} has a name of ${name.length} characters`;
  const schema = readSchema(tool["inputSchema"]);
  if (typeof schema === "string") return `the schema of ${shown(name)} ${schema}`;
  const { parameters, dropped } = schema;
  if (JSON.stringify(parameters).length > SCHEMA_CHARACTERS)
    return `the schema of ${shown(name)} has more than ${SCHEMA_CHARACTERS} characters`;
  const names = dropped.slice(0, 3).map((argument) => JSON.stringify(argument.slice(0, 60).toWellFormed()));
  return {
    tool: {
      name,
      description: toolDescription(tool),
      parameters,
      ...(fieldOf(tool["annotations"], "readOnlyHint") === true ? { onlyReads: true } : {}),
    },
    leftOut: names.map(
      (argument) => `not every provider takes the name of the argument ${argument} of ${shown(name)}`,
    ),
  };
}

function byContent(a: ListedTool, b: ListedTool): number {
  if (a.name !== b.name) return a.name < b.name ? -1 : 1;
  const [left, right] = [a, b].map((tool) =>
    serialized([tool["description"], tool["title"], tool["inputSchema"]]),
  );
  return (left ?? "") < (right ?? "") ? -1 : 1;
}

/** Empty for a value that is nested too deeply. */
function serialized(value: unknown): string {
  return attempt(() => JSON.stringify(value)) ?? "";
}

/**
 * Builds the catalog, element by element: a bad one is left out and named. The same list always makes the same catalog, whatever
 * its order. `isWhole` is false when the server has more pages than we read.
 */
export function catalogOf(listed: readonly unknown[], at: number, isWhole = true): Catalog {
  const tools = new Map<string, CatalogTool>();
  const leftOut: string[] = isWhole ? [] : [`it lists its tools on more than ${MOST_PAGES} pages`];
  const flaws = listed.map((element) => flawOf(element));
  leftOut.push(...flaws.filter((flaw) => flaw !== undefined).toSorted());
  const named = listed.filter((_element, index) => flaws[index] === undefined) as ListedTool[];
  const sorted = named.toSorted(byContent);
  for (const each of sorted) {
    if (tools.size >= MOST_TOOLS) {
      leftOut.unshift(`it lists ${sorted.length} tools; the limit is ${MOST_TOOLS}`);
      break;
    }
    const entry = tools.has(each.name) ? `${shown(each.name)} is listed twice` : read(each);
    if (typeof entry === "string") {
      leftOut.push(entry);
      continue;
    }
    tools.set(each.name, entry.tool);
    leftOut.push(...entry.leftOut);
  }
  const reasons = [...new Set(leftOut)];
  const further = reasons.length - MOST_REASONS;
  if (further > 0) reasons.splice(MOST_REASONS, further, `${further} more problems are not shown`);
  return { tools: [...tools.values()], leftOut: reasons, at };
}

/**
 * Keeps the bytes of the earlier list for each tool that differs in key order alone: some servers reorder keys each time, and
 * the catalog that a model sees must stay byte for byte.
 */
export function keptBytes(before: Catalog | undefined, now: Catalog): Catalog {
  const known = new Map(before?.tools.map((tool) => [tool.name, tool]));
  const tools = now.tools.map((tool) => {
    const old = known.get(tool.name);
    return old && canonicalJson(old) === canonicalJson(tool) ? old : tool;
  });
  return { ...now, tools };
}

function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) =>
    isRecord(item) ? Object.fromEntries(Object.entries(item).toSorted(([a], [b]) => (a < b ? -1 : 1))) : item,
  );
}

/** Whether a command line names a file or folder inside the folder that it starts in. */
function isLocal(
  { command = "", args = [], cwd, workingDirectory }: McpServerConfig,
  startIn: string,
): boolean {
  if ((cwd ?? workingDirectory) !== undefined) return false;
  return [command, ...args].some(
    (word) => word !== "" && !isAbsolute(word) && existsSync(resolve(startIn, word)),
  );
}

/**
 * Cache key of a server's settings: a different program or address has a different list. The environment is expanded where it
 * names what is started or called; the folder counts where the command depends on it. Tokens stay unexpanded, so a new token
 * does not make a new key.
 */
export function catalogKey(
  name: string,
  config: McpServerConfig,
  env: Env,
  startIn = currentFolder(),
): string {
  const { enabled: _enabled, disabled: _disabled, tools: _tools, permission: _permission, ...rest } = config;
  const sorted = Object.entries(rest).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const place = isLocal(config, startIn) ? [startIn] : [];
  return createHash("sha256")
    .update(JSON.stringify([name, sorted, placeOf(config, env), ...place]))
    .digest("hex")
    .slice(0, 24);
}

function catalogFile(home: string, key: string): string {
  return join(home, "cache", "mcp", `${key}.json`);
}

/** The cached list; undefined when there is none that can be read. */
export function readCatalog(home: string, key: string): Catalog | undefined {
  try {
    const kept: unknown = JSON.parse(readFileSync(catalogFile(home, key), "utf8"));
    if (!isRecord(kept) || typeof kept["at"] !== "number" || !Array.isArray(kept["tools"])) return undefined;
    const tools = kept["tools"].filter(
      (tool: unknown): tool is CatalogTool =>
        isRecord(tool) &&
        typeof tool["name"] === "string" &&
        typeof tool["description"] === "string" &&
        isRecord(tool["parameters"]),
    );
    const reasons: unknown[] = Array.isArray(kept["leftOut"]) ? kept["leftOut"] : [];
    // Limits apply as if the server had just sent it: the file may come from another version, or be damaged.
    const listed = tools.map(({ name, description, parameters, onlyReads }) => ({
      name,
      description,
      inputSchema: parameters,
      annotations: { readOnlyHint: onlyReads === true },
    }));
    const again = catalogOf(listed, kept["at"]);
    const leftOut = reasons.filter((what) => typeof what === "string").slice(0, MOST_REASONS + 1);
    return { ...again, leftOut: [...new Set([...leftOut, ...again.leftOut])] };
  } catch {
    // No list was cached yet, or another process wrote the file; the server is asked.
    return undefined;
  }
}

/** Throws `store_write_failed` with the system's message. */
export function writeCatalog(home: string, key: string, { tools, leftOut, at }: Catalog): void {
  const file = catalogFile(home, key);
  ensurePrivateDir(join(home, "cache", "mcp"));
  // Not synced: a lost list is requested again.
  writeFileAtomic(file, JSON.stringify({ at, leftOut, tools }), { synced: false });
}
