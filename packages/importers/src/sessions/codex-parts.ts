/**
 * The files of one Codex thread. The file of a fork, or of a thread whose last turns were taken back, has only what came after (0.169.0);
 * its first line names the other file and the byte where its history there ends (`history_base`).
 */
import { closeSync, fstatSync, openSync, readdirSync } from "node:fs";
import { basename, dirname, join, sep } from "node:path";
import { numberOf } from "./foreign-fields.ts";
import type { OpenFile } from "./jsonl-source.ts";
import { sourceLines } from "./source-lines.ts";
import { asRecord, type Fields, filledString } from "@pagurus/core/data/record-fields";

/** Folders of Codex that hold rollouts. */
const FOLDERS = ["sessions", "archived_sessions"];
/** Longest chain of forks that is followed. */
const MOST_CODEX_PARTS = 100;

export interface ThreadFiles {
  /** Metadata of the thread's own file; undefined when its lines have none. */
  meta: Fields | undefined;
  /** Oldest first; the last is the thread's own file. `size`: how much of it belongs to the thread. */
  parts: { path: string; size: number }[];
  /** The part whose file should have the beginning, and is missing. */
  missing: string | undefined;
}

export function threadFiles(file: OpenFile): ThreadFiles {
  const meta = metaOf(file);
  const parts = [{ path: file.path, size: file.size }];
  let base = asRecord(meta?.["history_base"]);
  let missing: string | undefined;
  while (base && parts.length < MOST_CODEX_PARTS) {
    const id = filledString(base["thread_id"]) ?? "";
    const size = numberOf(base["end_byte_offset"]) ?? 0;
    const path = rolloutOf(file.path, id);
    const next = path === undefined ? undefined : withOpen(path, Infinity, metaOf);
    if (path === undefined || next === undefined) {
      missing = id;
      break;
    }
    parts.unshift({ path, size });
    base = asRecord(next["history_base"]);
  }
  return { meta, parts, missing };
}

/** Opens each part in turn, and closes it after its reader. `file` is the thread's own, which stays open. */
export function* openParts(file: OpenFile, { parts }: ThreadFiles): Generator<OpenFile> {
  for (const { path, size } of parts.slice(0, -1)) {
    const fd = openSync(path, "r");
    try {
      yield { fd, path, size: Math.min(size, fstatSync(fd).size) };
    } finally {
      closeSync(fd);
    }
  }
  yield file;
}

/** The first header: a copied fork also has those of its source thread, after its own. */
function metaOf({ fd, size }: OpenFile): Fields | undefined {
  for (const { value } of sourceLines(fd, size)) {
    const payload = asRecord(value?.["payload"]);
    if (value?.["type"] === "session_meta" && payload) return payload;
    // The first versions had a bare one, in the first line.
    if (value && payload === undefined && value["type"] === undefined && "id" in value) return value;
  }
  return undefined;
}

function withOpen<T>(path: string, most: number, work: (file: OpenFile) => T): T {
  const fd = openSync(path, "r");
  try {
    return work({ fd, path, size: Math.min(most, fstatSync(fd).size) });
  } finally {
    closeSync(fd);
  }
}

/** Searches next to the file, then in the folders of its Codex home. */
function rolloutOf(file: string, id: string): string | undefined {
  if (!/^[\w-]{8,}$/.test(id)) return undefined;
  // A thread whose turns were taken back continues in a file of its own: `rollout-…-<thread>_<part>.jsonl`.
  const isIt = (name: string): boolean =>
    basename(name).startsWith("rollout-") &&
    [`-${id}.jsonl`, `_${id}.jsonl`].some((end) => name.endsWith(end));
  const folder = dirname(file);
  const names = folder.split(sep);
  const at = names.findLastIndex((name) => FOLDERS.includes(name));
  const home = at < 0 ? undefined : names.slice(0, at).join(sep);
  const places = [
    { place: folder, recursive: false },
    ...(home === undefined ? [] : FOLDERS.map((name) => ({ place: join(home, name), recursive: true }))),
  ];
  for (const { place, recursive } of places) {
    const found = namesIn(place, recursive).find(isIt);
    if (found !== undefined) return join(place, found);
  }
  return undefined;
}

function namesIn(folder: string, recursive: boolean): string[] {
  try {
    return readdirSync(folder, { recursive, encoding: "utf8" });
  } catch {
    // The folder does not exist, or the user may not read it.
    return [];
  }
}
