/** Files that tool calls touched, with their current state; collected by code instead of a summarizer. */
import type { CallRecord } from "./calls.ts";
import type { Pace } from "../../platform/pace.ts";
import { readSections } from "./sections.ts";
import { defined } from "../../data/defined.ts";

type FileOperation = "read" | "written" | "edited" | "deleted";
type Change = "write" | "edit" | "delete";

export interface FileState {
  /** The last successful change, else `read`; absent when nothing succeeded. */
  operation?: FileOperation;
  /** Number of lines of a written file, until another change. */
  lines?: number;
  /** The last attempted change, when it failed. */
  failed?: Change;
}

const CHANGES: Record<Exclude<FileOperation, "read">, Change> = {
  written: "write",
  edited: "edit",
  deleted: "delete",
};

function operationOf(record: CallRecord): FileOperation | undefined {
  const name = record.name.toLowerCase();
  if (/edit|patch|replace/.test(name)) return "edited";
  if (/write|create/.test(name)) return "written";
  if (/^(?:delete|remove|unlink)/.test(name)) return "deleted";
  return name.startsWith("read") || name === "view" ? "read" : undefined;
}

/** Calls that touched a file, in order; failed and unanswered ones changed nothing and are skipped. */
function touches(records: readonly CallRecord[]): { path: string; operation: FileOperation }[] {
  return records.flatMap((record) => {
    const operation = operationOf(record);
    if (record.path === undefined || operation === undefined || record.state !== "ok") return [];
    return [{ path: record.path, operation }];
  });
}

/** Paths that plain `rm` and `git rm` remove in a command without `cd`, pipes or alternatives, so that every part succeeded. */
function removedBy(command: string): string[] {
  if (/[;|\n<]|\bcd\b/.test(command)) return [];
  return command.split("&&").flatMap((part) => {
    const words = part.trim().split(/\s+/);
    if (words[0] === "git") words.shift();
    if (words[0] !== "rm") return [];
    const paths = words.slice(1).filter((word) => !word.startsWith("-"));
    return paths.map((word) => word.replace(/^(["'])(.*)\1$/, "$2").replace(/\/+$/, ""));
  });
}

function barePath(path: string): string {
  return path.startsWith("./") ? path.replace(/^(?:\.\/)+/, "") : path;
}

/** The paths, as calls named them, that were removed or are inside a removed folder. */
function goneOf(paths: Iterable<string>, removed: readonly string[]): string[] {
  const names = removed.map(barePath).filter((name) => name !== "");
  return [...paths].filter((path) => {
    const at = barePath(path);
    return names.some((name) => at.startsWith(name) && (at === name || at.charAt(name.length) === "/"));
  });
}

function nextState(before: FileState | undefined, record: CallRecord): FileState | undefined {
  const operation = operationOf(record);
  if (operation === undefined || record.state === "open") return undefined;
  if (operation === "read") {
    if (record.state === "failed") return undefined;
    const known = before?.operation !== undefined && before.operation !== "deleted";
    return known ? before : { ...before, operation };
  }
  if (record.state === "failed") return { ...before, failed: CHANGES[operation] };
  return operation === "written" && record.lines !== undefined
    ? { operation, lines: record.lines }
    : { operation };
}

/**
 * State of each path after these calls, most recently used last, starting from the states of an earlier summary.
 * Commands count only when they remove a file that is known from other calls.
 */
export async function fileStates(
  records: readonly CallRecord[],
  before: ReadonlyMap<string, FileState>,
  pace: Pace,
): Promise<Map<string, FileState>> {
  const states = new Map(before);
  const set = (path: string, state: FileState): void => {
    states.delete(path);
    states.set(path, state);
  };
  await pace.each(records, (record) => {
    if (record.path !== undefined) {
      const state = nextState(states.get(record.path), record);
      if (state) set(record.path, state);
    } else if (record.command !== undefined && record.state === "ok") {
      const removed = removedBy(record.command);
      if (removed.length === 0) return;
      for (const path of goneOf(states.keys(), removed)) set(path, { operation: "deleted" });
    }
  });
  return states;
}

export function isChanged(state: FileState): boolean {
  return state.operation !== "read" || state.failed !== undefined;
}

/** `src/a.ts (written, 12 lines, last edit failed)`. */
export function fileLine(path: string, state: FileState): string {
  const { operation, lines, failed } = state;
  if (operation === undefined) return `${path} (${failed ?? "read"} failed)`;
  const parts: string[] = [operation];
  if (lines !== undefined) parts.push(`${lines} ${lines === 1 ? "line" : "lines"}`);
  if (failed !== undefined) parts.push(`last ${failed} failed`);
  return `${path} (${parts.join(", ")})`;
}

const FILE_LINE =
  /^(.+) \((?:(write|edit|delete) failed|(read|written|edited|deleted)(?:, (\d+) lines?)?(?:, last (write|edit|delete) failed)?)\)$/;

/** Parses a line of `fileLine`; undefined for any other text. */
export function readFileLine(text: string): { path: string; state: FileState } | undefined {
  const match = FILE_LINE.exec(text);
  const path = match?.[1];
  if (!match || path === undefined) return undefined;
  const failed = (match[2] ?? match[5]) as Change | undefined;
  const operation = match[3] as FileOperation | undefined;
  const state: FileState = {
    ...defined({ operation }),
    ...(match[4] === undefined ? {} : { lines: Number(match[4]) }),
    ...defined({ failed }),
  };
  return { path, state };
}

/** The files of a summary, in its order. */
export function carriedFiles(summary: string | undefined): Map<string, FileState> {
  const files = new Map<string, FileState>();
  for (const line of readSections(summary ?? "")) {
    const file = line.section === "Files touched" ? readFileLine(line.text) : undefined;
    if (file) files.set(file.path, file.state);
  }
  return files;
}

/**
 * Paths by operation, each list sorted by last use, newest first. From the arguments `path` or `file_path` of
 * successful calls of read, write and edit tools; a path may be in several lists.
 */
export function filesTouched(records: readonly CallRecord[]): {
  read: string[];
  written: string[];
  edited: string[];
} {
  const paths = { read: new Set<string>(), written: new Set<string>(), edited: new Set<string>() };
  for (const { path, operation } of touches(records).reverse()) {
    if (operation !== "deleted") paths[operation].add(path);
  }
  return { read: [...paths.read], written: [...paths.written], edited: [...paths.edited] };
}
