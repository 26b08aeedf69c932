/** Puts settings into a configuration file that is there: what it says already stays, unless it is to be overwritten. */
import { isDeepStrictEqual } from "node:util";
import { parseJson5 } from "../../config/json5.ts";
import { formatKeyPath, valueAt, type KeyPath } from "../../config/key-path.ts";
import { setInText } from "../../config/splice.ts";
import { isObject } from "./config-draft.ts";

export interface Conflict {
  path: string;
  /** True where OpenClaw's value took its place. */
  overwritten: boolean;
}

export interface Merged {
  text: string;
  /** Paths that were put in. */
  taken: string[];
  /** Paths that said the same already. */
  same: string[];
  conflicts: Conflict[];
}

export function mergeInto(text: string, file: string, value: unknown, overwrite: boolean): Merged {
  const merged: Merged = { text, taken: [], same: [], conflicts: [] };
  const put = (path: KeyPath, fresh: unknown): void => {
    merged.text = setInText(merged.text, file, path, fresh);
  };
  const walk = (path: KeyPath, fresh: unknown): void => {
    const old = valueAt(parseJson5(merged.text, file), path);
    if (old === undefined) {
      put(path, fresh);
      merged.taken.push(...leavesOf(fresh, path));
    } else if (isList(path) && Array.isArray(old) && Array.isArray(fresh)) {
      // Each may make the list longer.
      for (const entry of fresh) walk([...path, placeOf(entry, listAt(merged.text, file, path))], entry);
    } else if (!isWhole(path) && isObject(old) && isObject(fresh)) {
      for (const [key, each] of Object.entries(fresh)) walk([...path, key], each);
    } else if (isDeepStrictEqual(plain(path, old), plain(path, fresh))) {
      merged.same.push(formatKeyPath(path));
    } else {
      if (overwrite) put(path, fresh);
      merged.conflicts.push({ path: formatKeyPath(path), overwritten: overwrite });
    }
  };
  if (isObject(value)) for (const [key, each] of Object.entries(value)) walk([key], each);
  return merged;
}

/** Paths of what a value holds, lists and the models of a provider as one. */
export function leavesOf(value: unknown, path: KeyPath = []): string[] {
  if (!isObject(value) || isWhole(path)) {
    if (!isList(path) || !Array.isArray(value)) return [formatKeyPath(path)];
    return value.flatMap((each, index) => leavesOf(each, [...path, index]));
  }
  return Object.entries(value).flatMap(([key, each]) => leavesOf(each, [...path, key]));
}

/** Entries of this list have names. */
function isList(path: KeyPath): boolean {
  return formatKeyPath(path) === "agents.list";
}

function listAt(text: string, file: string, path: KeyPath): unknown[] {
  const list = valueAt(parseJson5(text, file), path);
  return Array.isArray(list) ? (list as unknown[]) : [];
}

function placeOf(entry: unknown, list: readonly unknown[]): number {
  const id = (each: unknown): string | undefined => {
    const own = isObject(each) ? each["id"] : undefined;
    return typeof own === "string" ? own.toLowerCase() : undefined;
  };
  const at = list.findIndex((each) => id(each) !== undefined && id(each) === id(entry));
  return at < 0 ? list.length : at;
}

/** A model may be written in two ways. */
function isWhole(path: KeyPath): boolean {
  return path.at(-1) === "model" || path.at(-1) === "apiKey";
}

/** What two spellings of a value have in common. */
function plain(path: KeyPath, value: unknown): unknown {
  if (path.at(-1) === "model" && isObject(value)) return value["primary"];
  // Agents that differ in case only are one.
  const isId = path.length === 4 && path[1] === "list" && path[3] === "id" && typeof value === "string";
  return isId ? value.toLowerCase() : value;
}
