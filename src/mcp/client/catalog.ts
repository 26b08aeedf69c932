/** The list of tools of one server: brought into the host's form, bounded, and kept for the next start. */
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { isAbsolute, join, resolve } from "node:path";
import type { JsonSchema } from "../../contract/tool.ts";
import { isRecord, readSchema } from "./schema.ts";
import { placeOf, type Env } from "./settings.ts";
import { ensurePrivateDir, writeFileAtomic } from "../../platform/files.ts";
import type { McpServerConfig } from "../../config/types.ts";

/** A tool as its server calls it. */
export interface CatalogTool {
  name: string;
  description: string;
  parameters: JsonSchema;
}

export interface Catalog {
  /** Sorted by name. */
  tools: CatalogTool[];
  /** Sentences' ends: what was left out and why. */
  leftOut: string[];
  /** When the server said so, ms since the epoch. */
  at: number;
}

/** What a server lists, as far as it is looked at. */
export interface ListedTool {
  name: string;
  title?: string | undefined;
  description?: string | undefined;
  inputSchema?: unknown;
}

/** Of a list of tools. */
export const MOST_PAGES = 20;
const MOST_TOOLS = 200;
/** Sentences about what was left out. */
const MOST_TOLD = 5;
const DESCRIPTION_CHARACTERS = 4_000;
const SCHEMA_CHARACTERS = 20_000;
const NAME_CHARACTERS = 256;

function describe({ description, title, name }: ListedTool): string {
  const text = (description ?? title ?? name).trim();
  // Half a surrogate pair would cost the whole request.
  return text.length <= DESCRIPTION_CHARACTERS
    ? text.toWellFormed()
    : `${text.slice(0, DESCRIPTION_CHARACTERS).replace(/[\uD800-\uDBFF]$/, "")}…`.toWellFormed();
}

function shown(name: string): string {
  return `the tool ${JSON.stringify(name.slice(0, 60).toWellFormed())}`;
}

/** The tool as it is offered, and what of it is not; a text alone says why it is not offered. */
function read(tool: ListedTool): { tool: CatalogTool; leftOut: string[] } | string {
  const { name } = tool;
  if (name === "" || name.length > NAME_CHARACTERS)
    return `${shown(name)} has a name of ${name.length} characters`;
  const schema = readSchema(tool.inputSchema);
  if (typeof schema === "string") return `the schema of ${shown(name)} ${schema}`;
  const { parameters, dropped } = schema;
  if (JSON.stringify(parameters).length > SCHEMA_CHARACTERS)
    return `the schema of ${shown(name)} has more than ${SCHEMA_CHARACTERS} characters`;
  const names = dropped.slice(0, 3).map((argument) => JSON.stringify(argument.slice(0, 60).toWellFormed()));
  return {
    tool: { name, description: describe(tool), parameters },
    leftOut: names.map(
      (argument) => `not every provider takes the name of the argument ${argument} of ${shown(name)}`,
    ),
  };
}

function byContent(a: ListedTool, b: ListedTool): number {
  if (a.name !== b.name) return a.name < b.name ? -1 : 1;
  const [left, right] = [a, b].map((tool) =>
    JSON.stringify([tool.description, tool.title, tool.inputSchema]),
  );
  return (left ?? "") < (right ?? "") ? -1 : 1;
}

/**
 * The same list always makes the same catalog, whatever order the server names its tools in. `isWhole` is false where the
 * server would list more.
 */
export function catalogOf(listed: readonly ListedTool[], at: number, isWhole = true): Catalog {
  const tools = new Map<string, CatalogTool>();
  const leftOut: string[] = isWhole ? [] : [`it lists its tools on more than ${MOST_PAGES} pages`];
  const sorted = listed.toSorted(byContent);
  for (const each of sorted) {
    if (tools.size >= MOST_TOOLS) {
      leftOut.unshift(`it lists ${sorted.length} tools and ${MOST_TOOLS} is the most`);
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
  const told = [...new Set(leftOut)];
  const further = told.length - MOST_TOLD;
  if (further > 0) told.splice(MOST_TOLD, further, `${further} further things of it are left out`);
  return { tools: [...tools.values()], leftOut: told, at };
}

/**
 * The new list in the bytes of the one before, where a tool is the same but for the order of keys: some servers write them
 * in another order each time, and the catalog of a model is to stay byte for byte.
 */
export function keptBytes(before: Catalog | undefined, now: Catalog): Catalog {
  const known = new Map(before?.tools.map((tool) => [tool.name, tool]));
  const tools = now.tools.map((tool) => {
    const old = known.get(tool.name);
    return old && canonical(old) === canonical(tool) ? old : tool;
  });
  return { ...now, tools };
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) =>
    isRecord(item) ? Object.fromEntries(Object.entries(item).toSorted(([a], [b]) => (a < b ? -1 : 1))) : item,
  );
}

/** Whether a command line names a file or folder of the folder that the host runs in. */
function isLocal({ command = "", args = [], cwd, workingDirectory }: McpServerConfig): boolean {
  if ((cwd ?? workingDirectory) !== undefined) return false;
  return [command, ...args].some((word) => word !== "" && !isAbsolute(word) && existsSync(resolve(word)));
}

/**
 * Names a server's settings, so that another program or address has another list: as they are written, with the
 * environment put in where it says what is started or called, and the folder where that is part of it. Tokens are left as
 * written; a new one is no other server.
 */
export function catalogKey(name: string, config: McpServerConfig, env: Env): string {
  const { enabled: _enabled, tools: _tools, permission: _permission, ...rest } = config;
  const sorted = Object.entries(rest).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const place = isLocal(config) ? [process.cwd()] : [];
  return createHash("sha256")
    .update(JSON.stringify([name, sorted, placeOf(config, env), ...place]))
    .digest("hex")
    .slice(0, 24);
}

function catalogFile(home: string, key: string): string {
  return join(home, "cache", "mcp", `${key}.json`);
}

/** The list that was kept last; undefined where there is none that can be read. */
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
    const told: unknown[] = Array.isArray(kept["leftOut"]) ? kept["leftOut"] : [];
    // Bounded as if the server had said it just now: it may be another version's, or spoilt.
    const listed = tools.map(({ name, description, parameters }) => ({
      name,
      description,
      inputSchema: parameters,
    }));
    const again = catalogOf(listed, kept["at"]);
    const leftOut = told.filter((what) => typeof what === "string").slice(0, MOST_TOLD + 1);
    return { ...again, leftOut: [...new Set([...leftOut, ...again.leftOut])] };
  } catch {
    // None was kept yet, or somebody else wrote there; the server is asked.
    return undefined;
  }
}

/** Throws `store_write_failed` and what the system says. */
export function writeCatalog(home: string, key: string, { tools, leftOut, at }: Catalog): void {
  const file = catalogFile(home, key);
  ensurePrivateDir(join(home, "cache", "mcp"));
  // A list that is lost is asked for again.
  writeFileAtomic(file, JSON.stringify({ at, leftOut, tools }), { synced: false });
}
