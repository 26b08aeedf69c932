/**
 * Records of deletions. One is written, durably, before the first byte of a session is removed, and is removed when no store has anything
 * of it: a crash in between is finished by whoever opens one of the stores next. A record has ids and keys, never words of a session.
 *
 * A record is a file in the folder `deletions` beside the sessions, named by the first session and by what is left to do:
 * `<id>.begun.json` while transcripts and index have the sessions, then `<id>.left.json` until the other stores have forgotten them.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
} from "node:fs";
import { basename, join } from "node:path";
import { ensurePrivateDir, fsyncDir, writeFileAtomic } from "./atomic-files.ts";

const FOLDER = "deletions";
/** Folder of the stores that mirror a database, one folder in it for each. */
const MIRRORS = "mirrors";
const BEGUN = ".begun.json";
const LEFT = ".left.json";
const VERSION = 1;

export interface DeletedSession {
  key: string;
  id: string;
}

/** A native thread that a deleted session was bound to. */
export interface DeletedThread {
  runtime: string;
  nativeId: string;
  /** The yes-or-no values of the binding's state, which have no words. */
  state: Readonly<Record<string, boolean>>;
}

export interface Deletion {
  /** When it began, ms since the epoch. What is stored later under one of its keys is of another session. */
  at: number;
  /** The current generation of the key that was to be deleted comes first. */
  sessions: readonly DeletedSession[];
  threads: readonly DeletedThread[];
}

/** A record on the disk. */
export interface PendingDeletion extends Deletion {
  file: string;
  /** Transcripts and index may still have the sessions. */
  isBegun: boolean;
}

/** The record of a deletion that is under way. */
export interface DeletionRecord {
  /** Something was removed: writes a record for which the disk had no space before. */
  complete(): void;
  /** Transcripts and index have the sessions no longer. Throws the system's errors. */
  removed(): void;
  /** Nothing was removed, and nothing shall be. */
  withdraw(): void;
}

/** The records of one session store. */
export class DeletionLog {
  readonly #folder: string;
  /** A deletion of this process is under way: its own record is not to be finished. */
  #isBusy = false;

  /** `storeDir`: folder with the store's `sessions`. */
  constructor(storeDir: string) {
    this.#folder = join(storeDir, FOLDER);
  }

  /** Runs a removal while `begun` reports nothing. */
  during<T>(work: () => T): T {
    const before = this.#isBusy;
    this.#isBusy = true;
    try {
      return work();
    } finally {
      this.#isBusy = before;
    }
  }

  /** Deletions whose sessions may still be in transcripts or index. One look at the disk where there is none. */
  begun(): PendingDeletion[] {
    return this.#isBusy ? [] : readFolder(this.#folder, BEGUN);
  }

  /**
   * Records a deletion. On a full disk, which is why people delete, an empty record is written if it can be, and `complete` fills it as
   * soon as something was removed. Throws the system's errors other than that of a full disk.
   */
  begin(deletion: Deletion): DeletionRecord {
    const name = deletion.sessions[0]?.id ?? "";
    const begun = join(this.#folder, name + BEGUN);
    const left = join(this.#folder, name + LEFT);
    const write = (): void => {
      ensurePrivateDir(this.#folder);
      writeFileAtomic(begun, JSON.stringify({ version: VERSION, ...deletion }));
    };
    let isWritten = this.#tried(write);
    if (!isWritten) this.#tried(() => touch(begun));
    return {
      complete: () => {
        if (!isWritten) isWritten = this.#tried(write);
      },
      removed: () => {
        if (!isWritten) write();
        renameSync(begun, left);
        fsyncDir(this.#folder);
      },
      withdraw: () => rmSync(begun, { force: true }),
    };
  }

  /** False where the disk is full. */
  #tried(write: () => void): boolean {
    try {
      write();
      return true;
    } catch (error) {
      if (!isFull(error)) throw error;
      return false;
    }
  }
}

/** All records of an agent, those of its mirrors included. */
export function pendingDeletions(agentDir: string): PendingDeletion[] {
  return storeFolders(agentDir).flatMap((folder) => [
    ...readFolder(folder, BEGUN),
    ...readFolder(folder, LEFT),
  ]);
}

/** Ids of the agents of a home with records. */
export function agentsWithDeletions(home: string): string[] {
  const agents = join(home, "agents");
  return namesIn(agents).filter((name) => pendingDeletions(join(agents, name)).length > 0);
}

/** Ids of an agent's sessions whose deletion is not finished in every store. */
export function deletedIds(agentDir: string): string[] {
  return pendingDeletions(agentDir).flatMap(({ sessions }) => sessions.map(({ id }) => id));
}

/** Removes a record after every store has forgotten its sessions. */
export function finishDeletion({ file }: PendingDeletion): void {
  rmSync(file, { force: true });
  try {
    rmdirSync(join(file, ".."));
  } catch {
    // There are more.
    return;
  }
}

function storeFolders(agentDir: string): string[] {
  const own = join(agentDir, FOLDER);
  const mirrors = join(agentDir, MIRRORS);
  if (!existsSync(mirrors)) return [own];
  return [own, ...readdirSync(mirrors).map((name) => join(mirrors, name, FOLDER))];
}

function readFolder(folder: string, suffix: string): PendingDeletion[] {
  if (!existsSync(folder)) return [];
  return namesIn(folder)
    .filter((name) => name.endsWith(suffix) && !name.startsWith("."))
    .flatMap((name) => readDeletion(join(folder, name), suffix) ?? []);
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).toSorted();
  } catch (error) {
    // Another process removed the last record.
    if (["ENOENT", "ENOTDIR"].includes(String((error as NodeJS.ErrnoException).code))) return [];
    throw error;
  }
}

function readDeletion(file: string, suffix: string): PendingDeletion | undefined {
  const isBegun = suffix === BEGUN;
  const text = textOf(file);
  if (text === undefined) return undefined;
  const { at, sessions, threads } = parsed(text);
  if (sessions.length > 0) return { at, sessions, threads, file, isBegun };
  // An empty record of a full disk has only its name.
  const id = basename(file).slice(0, -suffix.length);
  const since = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return { at: since, sessions: [{ key: "", id }], threads: [], file, isBegun };
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

function parsed(text: string): Deletion {
  const value = asObject(text);
  const sessions = recordList(value["sessions"]).flatMap(({ key, id }) =>
    typeof key === "string" && typeof id === "string" ? [{ key, id }] : [],
  );
  const threads = recordList(value["threads"]).flatMap(({ runtime, nativeId, state }) =>
    typeof runtime === "string" && typeof nativeId === "string"
      ? [{ runtime, nativeId, state: flagsOf(state) }]
      : [],
  );
  return { at: typeof value["at"] === "number" ? value["at"] : 0, sessions, threads };
}

function asObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    // A power cut left it empty; its name has the id.
    return {};
  }
}

function recordList(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value)
    ? value.filter((each): each is Record<string, unknown> => typeof each === "object" && each !== null)
    : [];
}

/** The yes-or-no values of an object. */
export function flagsOf(state: unknown): Record<string, boolean> {
  const entries = Object.entries(typeof state === "object" && state !== null ? state : {});
  return Object.fromEntries(
    entries.filter((entry): entry is [string, boolean] => typeof entry[1] === "boolean"),
  );
}

function touch(file: string): void {
  const fd = openSync(file, "a", 0o600);
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

function isFull(error: unknown): boolean {
  const { code, details } = error as { code?: unknown; details?: { code?: unknown } };
  return [code, details?.code].some((each) => each === "ENOSPC" || each === "EDQUOT");
}
