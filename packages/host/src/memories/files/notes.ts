/**
 * The notes of a workspace: `MEMORY.md` and the `.md` files under `memory/`. Unreadable files are skipped, and links
 * are followed only inside the workspace.
 */
import { isInside } from "@pagurus/core/platform/inside";
import { existsSync, type Dirent } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { openInPlace } from "@pagurus/core/platform/open-in-place";
import type { IndexedNote } from "./indexed-note.ts";
import type { Pace } from "@pagurus/core/platform/pace";

export const CORE_FILE = "MEMORY.md";
const NOTES_FOLDER = "memory";

/** Limit for one file; a longer one is read up to the last whole line. */
const MOST_FILE_BYTES = 256 * 1024;
/** Limits for all files; beyond them, the last by name are kept (the newest, where names are dates). */
const MOST_BYTES = 8 * 1024 * 1024;
const MOST_FILES = 2_000;
/** Limits on directory entries and on nested folders. */
const MOST_NAMES = 20_000;
const MOST_NOTES_DEPTH = 8;

interface Note {
  /** Relative to the workspace, with `/`. */
  path: string;
  /** Absolute, without links. */
  real: string;
  size: number;
  /** Changes when the file is changed or replaced. */
  stamp: string;
}

interface KnownNote {
  stamp: string;
  indexed: IndexedNote;
}

export interface NotesOverview {
  /** Text of `MEMORY.md`; absent when the file is missing or empty. */
  core?: { text: string; bytes: number };
  /** Other notes exist. */
  others: boolean;
}

export class NoteFiles {
  readonly #workspaceDir: string;
  readonly #known = new Map<string, KnownNote>();

  constructor(workspaceDir: string) {
    this.#workspaceDir = workspaceDir;
  }

  async overview(): Promise<NotesOverview> {
    // Most folders have no notes, and resolving their path takes longer than two looks.
    const hasCore = existsSync(join(this.#workspaceDir, CORE_FILE));
    const hasFolder = existsSync(join(this.#workspaceDir, NOTES_FOLDER));
    const root = hasCore || hasFolder ? await realNotePath(this.#workspaceDir) : undefined;
    if (root === undefined) return { others: false };
    const core = hasCore ? await noteAt(root, join(root, CORE_FILE), CORE_FILE) : undefined;
    const text = core && (await readNote(core));
    let others = false;
    if (hasFolder) {
      for await (const { size } of walkNotes(root)) {
        others = size > 0;
        if (others) break;
      }
    }
    return { others, ...(text?.trim() && { core: { text, bytes: core?.size ?? 0 } }) };
  }

  /**
   * All notes by path; only new or changed ones are read. Files that were read before an abort stay cached, so that
   * the next search has less to do. Throws `turn_aborted`.
   */
  async indexed(pace: Pace): Promise<IndexedNote[]> {
    const notes = await this.#notes(pace);
    const { indexNote } = await import("./indexed-note.ts");
    const indexed: IndexedNote[] = [];
    for (const note of notes) {
      pace.check();
      const { path, stamp } = note;
      let known = this.#known.get(path);
      if (known?.stamp !== stamp) {
        known = { stamp, indexed: await indexNote(path, (await readNote(note)) ?? "", pace) };
        this.#known.set(path, known);
      }
      indexed.push(known.indexed);
    }
    const paths = new Set(notes.map(({ path }) => path));
    for (const path of this.#known.keys()) if (!paths.has(path)) this.#known.delete(path);
    return indexed;
  }

  async #notes(pace: Pace): Promise<Note[]> {
    const root = await realNotePath(this.#workspaceDir);
    if (root === undefined) return [];
    const core = await noteAt(root, join(root, CORE_FILE), CORE_FILE);
    const others: Note[] = [];
    for await (const note of walkNotes(root, pace)) others.push(note);
    const taken: Note[] = core ? [core] : [];
    let bytes = 0;
    for (const note of others.toSorted((a, b) => (a.path < b.path ? 1 : -1))) {
      bytes += Math.min(note.size, MOST_FILE_BYTES);
      if (bytes > MOST_BYTES || taken.length >= MOST_FILES) break;
      taken.push(note);
    }
    return taken.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  }
}

async function realNotePath(path: string): Promise<string | undefined> {
  try {
    return await realpath(path);
  } catch {
    // Missing or not accessible: no note.
    return undefined;
  }
}

/** The regular file that a path resolves to; undefined when there is none or it is outside the workspace. */
async function noteAt(root: string, path: string, shown: string): Promise<Note | undefined> {
  try {
    const real = await realpath(path);
    if (!isInside(root, real)) return undefined;
    const stats = await stat(real);
    if (!stats.isFile()) return undefined;
    const { ino, size, mtimeMs, ctimeMs } = stats;
    return { path: shown, real, size, stamp: [ino, size, mtimeMs, ctimeMs].join(":") };
  } catch {
    // Missing, a dangling link, or not accessible.
    return undefined;
  }
}

/** Notes under `memory/`, each folder's names in code unit order. */
async function* walkNotes(root: string, pace?: Pace): AsyncGenerator<Note, void, void> {
  const entered = new Set<string>();
  let names = 0;
  async function* walk(folder: string, shown: string, depth: number): AsyncGenerator<Note, void, void> {
    const real = await realNotePath(folder);
    // A link may point to a parent folder.
    if (real === undefined || !isInside(root, real) || entered.has(real) || depth > MOST_NOTES_DEPTH) return;
    entered.add(real);
    for (const entry of await folderEntries(real)) {
      pace?.check();
      if (++names > MOST_NAMES) return;
      const path = join(real, entry.name);
      const below = `${shown}/${entry.name}`;
      if (entry.name.startsWith(".")) continue;
      if (/\.md$/i.test(entry.name) && !entry.isDirectory()) {
        const note = await noteAt(root, path, below);
        if (note) yield note;
      } else if (entry.isDirectory() || entry.isSymbolicLink()) {
        yield* walk(path, below, depth + 1);
      }
    }
  }
  yield* walk(join(root, NOTES_FOLDER), NOTES_FOLDER, 1);
}

async function folderEntries(folder: string): Promise<Dirent[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  } catch {
    // Missing or not readable: no entries.
    return [];
  }
}

/** Text of a note; undefined when it cannot be read or is binary. */
async function readNote({ real }: Note): Promise<string | undefined> {
  try {
    // Neither follows a link nor blocks on a pipe that has replaced the file meanwhile.
    const file = await openInPlace(real);
    try {
      const { buffer, bytesRead } = await file.read(
        Buffer.alloc(MOST_FILE_BYTES + 1),
        0,
        MOST_FILE_BYTES + 1,
        0,
      );
      let bytes = buffer.subarray(0, bytesRead);
      if (bytes.includes(0)) return undefined;
      if (bytesRead > MOST_FILE_BYTES) {
        const end = bytes.lastIndexOf("\n") + 1;
        bytes = bytes.subarray(0, end > 0 ? end : MOST_FILE_BYTES);
      }
      return new TextDecoder("utf-8").decode(bytes);
    } finally {
      await file.close();
    }
  } catch {
    // Deleted meanwhile, or not readable.
    return undefined;
  }
}
