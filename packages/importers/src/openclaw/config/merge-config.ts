/** Merges settings into an existing configuration file: its own values are kept unless they are to be overwritten. */
import { isDeepStrictEqual } from "node:util";
import { parseJson5 } from "@pagurus/core/config/json5";
import { formatKeyPath, valueAt, type KeyPath } from "@pagurus/core/config/key-path";
import { setInText } from "@pagurus/core/config/text-splice";
import { isRecord } from "@pagurus/core/data/record-fields";

export interface Conflict {
  path: string;
  /** True where OpenClaw's value replaced it. */
  overwritten: boolean;
}

export interface Merged {
  text: string;
  /** Paths that were added. */
  taken: string[];
  /** Paths with the same value already. */
  same: string[];
  conflicts: Conflict[];
}

export function mergeInto(text: string, file: string, value: unknown, overwrite: boolean): Merged {
  const merged: Merged = { text, taken: [], same: [], conflicts: [] };
  let present = parseJson5(text, file);
  const put = (path: KeyPath, fresh: unknown): void => {
    merged.text = setInText(merged.text, file, path, fresh);
    present = parseJson5(merged.text, file);
  };
  const walk = (path: KeyPath, fresh: unknown): void => {
    const old = valueAt(present, path);
    if (old === undefined) {
      put(path, fresh);
      merged.taken.push(...leavesOf(fresh, path));
    } else if (isList(path) && Array.isArray(old) && Array.isArray(fresh)) {
      // Each may lengthen the list.
      for (const entry of fresh) walk([...path, placeOf(entry, listAt(present, path))], entry);
    } else if (!isMergedWhole(path) && isRecord(old) && isRecord(fresh)) {
      for (const [key, each] of Object.entries(fresh)) walk([...path, key], each);
    } else if (isDeepStrictEqual(plain(path, old), plain(path, fresh))) {
      merged.same.push(formatKeyPath(path));
    } else {
      if (overwrite) put(path, fresh);
      merged.conflicts.push({ path: formatKeyPath(path), overwritten: overwrite });
    }
  };
  if (isRecord(value)) for (const [key, each] of Object.entries(value)) walk([key], each);
  return merged;
}

/** Leaf paths of a value; a list, or the models of a provider, counts as one. */
export function leavesOf(value: unknown, path: KeyPath = []): string[] {
  if (!isRecord(value) || isMergedWhole(path)) {
    if (!isList(path) || !Array.isArray(value)) return [formatKeyPath(path)];
    return value.flatMap((each, index) => leavesOf(each, [...path, index]));
  }
  return Object.entries(value).flatMap(([key, each]) => leavesOf(each, [...path, key]));
}

/** Whether the entries of this list have names. */
function isList(path: KeyPath): boolean {
  return formatKeyPath(path) === "agents.list";
}

function listAt(root: unknown, path: KeyPath): unknown[] {
  const list = valueAt(root, path);
  return Array.isArray(list) ? (list as unknown[]) : [];
}

function placeOf(entry: unknown, list: readonly unknown[]): number {
  const id = (each: unknown): string | undefined => {
    const own = isRecord(each) ? each["id"] : undefined;
    return typeof own === "string" ? own.toLowerCase() : undefined;
  };
  const at = list.findIndex((each) => id(each) !== undefined && id(each) === id(entry));
  return at < 0 ? list.length : at;
}

/**
 * Whether a value is merged as a whole: a model may be written in two ways, and an MCP server's arguments belong to its
 * program.
 */
function isMergedWhole(path: KeyPath): boolean {
  if (path.length === 3 && path[0] === "mcp" && path[1] === "servers") return true;
  return path.at(-1) === "model" || path.at(-1) === "apiKey";
}

/** Normal form of a value, for comparing spellings. */
function plain(path: KeyPath, value: unknown): unknown {
  if (path.at(-1) === "model" && isRecord(value)) {
    const { primary, fallbacks } = value;
    return Array.isArray(fallbacks) && fallbacks.length > 0 ? { primary, fallbacks } : primary;
  }
  // Agent ids are compared case-insensitively.
  const isId = path.length === 4 && path[1] === "list" && path[3] === "id" && typeof value === "string";
  return isId ? value.toLowerCase() : value;
}
