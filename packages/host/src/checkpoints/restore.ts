/**
 * Restores the files of a checkpoint. The folder is kept in a checkpoint of its own first, so that a restore can be undone; the paths
 * that will change are written to a journal before the first one does, so that a restore that was interrupted is finished later.
 */
import {
  chmodSync,
  closeSync,
  fchmodSync,
  fchownSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  unlinkSync,
} from "node:fs";
import { errorText } from "@pagurus/core/data/error-text";
import { writeAll, writeReason } from "@pagurus/core/platform/atomic-files";
import { processIsAlive } from "@pagurus/core/platform/process-group";
import { PagurusError } from "@pagurus/contract/errors";
import { forPerson, onDisk, toBytes } from "../tool/changes/manifest.ts";
import { systemCode } from "../tool/tool-error.ts";
import type { CheckpointStore, PathChange } from "./checkpoint-store.ts";
import { isSameEntry, type KnownEntry } from "./tree-entry.ts";
import { entryAt, statsAt } from "./walk-tree.ts";

/** A path that a restore leaves as it is, and why; `path` is readable for a person. */
interface KeptPath {
  path: string;
  why: string;
}

interface RestorePlan {
  /** The checkpoint of the folder as it is. */
  from: number;
  to: number;
  changes: PathChange[];
  kept: KeptPath[];
}

export interface RestoreReport {
  from: number;
  to: number;
  /** Paths that were restored, readable for a person. */
  restored: string[];
  kept: KeptPath[];
}

interface PlanOptions {
  /** Restore over what others changed since. */
  overwrite?: boolean;
  /** The conversation whose turns are taken back: what turns of others changed is kept, too. */
  session?: string;
}

interface RestoreOptions {
  /** Called before each step; tests end the process there. */
  onStep?: () => void;
}

interface JournalPaths {
  paths: string[];
  /** Folders that this user may not write to, with their modes: they are opened for the time of the restore. */
  folders: [path: string, mode: number][];
}

interface Journal {
  id: number;
  from_id: number;
  to_id: number;
  paths: string;
}

const OF_USER = "you changed it since";
const OF_OTHERS = "you or another conversation changed it since";
const CHANGED_MEANWHILE = "it was changed while it was restored";

/** Lists the changes of a restore. Keeps the folder as it is in a checkpoint first. Throws `entry_not_found`, `store_write_failed`. */
export function planRestore(
  store: CheckpointStore,
  to: number,
  { overwrite = false, session }: PlanOptions = {},
): RestorePlan {
  store.find(to);
  const { id: from } = store.take({ kind: "now" });
  const leftOut = store.leftOutAt(to).map(({ path }) => path);
  const kept: KeptPath[] = [];
  const ofOthers = session === undefined ? OF_USER : OF_OTHERS;
  const changes = store.changes(from, to, session).filter((change) => {
    const { path, isOfOthers } = change;
    const isLeftOut = !change.to && leftOut.some((out) => path === out || path.startsWith(`${out}/`));
    const why = isLeftOut ? "the checkpoint left it out" : isOfOthers && !overwrite ? ofOthers : undefined;
    if (why !== undefined) kept.push({ path: forPerson(path), why });
    return why === undefined;
  });
  return { from, to, changes, kept };
}

/** Restores what the plan says. Throws `store_write_failed` when the journal cannot be written; then nothing has changed. */
export function restore(
  store: CheckpointStore,
  plan: RestorePlan,
  { onStep }: RestoreOptions = {},
): RestoreReport {
  if (plan.changes.length === 0) return { from: plan.from, to: plan.to, restored: [], kept: plan.kept };
  const paths = JSON.stringify({
    paths: plan.changes.map(({ path }) => path),
    folders: lockedFolders(store.root, plan.changes),
  } satisfies JournalPaths);
  store.db.run(
    "INSERT INTO restores (from_id, to_id, paths, state, pid) VALUES (?, ?, ?, 'running', ?)",
    plan.from,
    plan.to,
    paths,
    process.pid,
  );
  const id = store.db.get<{ id: number }>("SELECT last_insert_rowid() AS id")?.id ?? 0;
  return run(store, { id, from_id: plan.from, to_id: plan.to, paths }, plan.kept, onStep);
}

function lockedFolders(root: string, changes: readonly PathChange[]): JournalPaths["folders"] {
  const folders = new Set(changes.map(({ path }) => path.slice(0, Math.max(0, path.lastIndexOf("/")))));
  return [...folders].toSorted().flatMap((path): JournalPaths["folders"] => {
    const stats = statsAt(path === "" ? toBytes(root) : `${toBytes(root)}/${path}`);
    if (!stats?.isDirectory() || (stats.mode & 0o300) === 0o300) return [];
    return [[path, stats.mode & 0o7777]];
  });
}

/** Finishes restores whose process has ended before. Returns a report for each. */
export function finishInterrupted(store: CheckpointStore, onStep?: () => void): RestoreReport[] {
  const open = store.db
    .all<Journal & { pid: number }>(
      "SELECT id, from_id, to_id, paths, pid FROM restores WHERE state = 'running' ORDER BY id",
    )
    .filter(({ pid }) => pid === process.pid || !processIsAlive(pid));
  return open.map((journal) => run(store, journal, [], onStep));
}

function run(
  store: CheckpointStore,
  { id, from_id: from, to_id: to, paths }: Journal,
  kept: readonly KeptPath[],
  onStep: () => void = () => undefined,
): RestoreReport {
  const planned = JSON.parse(paths) as JournalPaths;
  const wanted = new Set(planned.paths);
  const changes = store.changes(from, to).filter(({ path }) => wanted.has(path));
  const work = new Restoring(store, changes, { folders: planned.folders, id, onStep });
  work.run();
  onStep();
  const done = new Set(changes.map(({ path }) => path).filter((path) => !work.kept.has(path)));
  store.take({ kind: "restored", only: done });
  onStep();
  store.db.run("UPDATE restores SET state = 'done' WHERE id = ?", id);
  const more = [...work.kept].map(([path, why]) => ({ path: forPerson(path), why }));
  return { from, to, restored: [...done].map(forPerson), kept: [...kept, ...more] };
}

/** One pass over the changed paths. Each step checks what is there, so that a second pass continues where the first one ended. */
class Restoring {
  readonly kept = new Map<string, string>();
  readonly #store: CheckpointStore;
  readonly #root: string;
  readonly #changes: readonly PathChange[];
  readonly #temporary: string;
  readonly #onStep: () => void;
  readonly #folders: JournalPaths["folders"];

  constructor(
    store: CheckpointStore,
    changes: readonly PathChange[],
    { folders, id, onStep }: { folders: JournalPaths["folders"]; id: number; onStep: () => void },
  ) {
    this.#store = store;
    this.#root = toBytes(store.root === "/" ? "" : store.root);
    this.#changes = changes;
    this.#temporary = `.pagurus-restore-${id}.tmp`;
    this.#folders = folders;
    this.#onStep = onStep;
  }

  run(): void {
    for (const [path, mode] of this.#folders)
      this.#attempt(path, () => {
        if (this.#hasRealParents(path) && entryAt(this.#store.root, path)?.type === "folder")
          chmodSync(this.#at(path), mode | 0o300);
      });
    const isGone = ({ from, to }: PathChange): boolean => from !== undefined && from.type !== to?.type;
    // Deepest first: a folder is empty by then.
    for (const change of this.#changes.toReversed())
      if (isGone(change)) this.#step(change, false, () => this.#remove(change));
    for (const change of this.#changes) if (change.to) this.#step(change, true, () => this.#put(change));
    // Modes of folders last: files are written into them before.
    for (const [path, mode] of this.#folders.toReversed())
      if (entryAt(this.#store.root, path)?.type === "folder")
        this.#attempt(path, () => chmodSync(this.#at(path), mode));
    for (const change of this.#changes.toReversed()) {
      const { path, to } = change;
      if (to?.type === "folder" && !this.kept.has(path))
        this.#attempt(path, () => chmodSync(this.#at(path), to.mode));
    }
  }

  #at(path: string): Buffer {
    return onDisk(path === "" ? this.#root || "/" : `${this.#root}/${path}`);
  }

  /** `isWanted`: something must be at the path afterwards. */
  #step(change: PathChange, isWanted: boolean, work: () => void): void {
    if (this.kept.has(change.path)) return;
    this.#onStep();
    this.#attempt(change.path, () => {
      if (this.#hasRealParents(change.path)) work();
      else if (isWanted || entryAt(this.#store.root, change.path))
        this.kept.set(change.path, "its folder is another one now");
    });
  }

  #attempt(path: string, work: () => void): void {
    try {
      work();
    } catch (error) {
      if (systemCode(error) === undefined && !(error instanceof PagurusError)) throw error;
      this.kept.set(path, error instanceof PagurusError ? errorText(error) : writeReason(error));
    }
  }

  /** Whether every folder above is a folder, and no link that leads elsewhere. */
  #hasRealParents(path: string): boolean {
    for (let cut = path.indexOf("/"); cut !== -1; cut = path.indexOf("/", cut + 1)) {
      const stats = lstatSync(this.#at(path.slice(0, cut)), { throwIfNoEntry: false });
      if (stats?.isDirectory() !== true) return false;
    }
    return true;
  }

  /** Whether the path is as the restore expects it; what else is there was changed meanwhile, and stays. */
  #isAs(expected: KnownEntry | undefined, path: string): boolean {
    const now = entryAt(this.#store.root, path, expected);
    if (isSameEntry(now, expected)) return true;
    // A folder is compared by its being one: its mode changes while files are written into it.
    return now?.type === "folder" && expected?.type === "folder";
  }

  #remove({ path, from, to }: PathChange): void {
    const now = lstatSync(this.#at(path), { throwIfNoEntry: false });
    // An earlier pass removed it, or has put the new one there.
    if (!now) return;
    if (!this.#isAs(from, path)) {
      if (!to) this.kept.set(path, CHANGED_MEANWHILE);
      return;
    }
    if (from?.type !== "folder") return unlinkSync(this.#at(path));
    try {
      rmdirSync(this.#at(path));
    } catch (error) {
      if (systemCode(error) !== "ENOTEMPTY" && systemCode(error) !== "EEXIST") throw error;
      this.kept.set(path, "it contains what is left out or kept");
    }
  }

  #put({ path, from, to }: PathChange): void {
    if (!to || this.#isAs(to, path)) return;
    const isReplaced = from !== undefined && from.type === to.type;
    if (!this.#isAs(isReplaced ? from : undefined, path)) {
      this.kept.set(path, CHANGED_MEANWHILE);
      return;
    }
    if (to.type === "folder") mkdirSync(this.#at(path), { mode: 0o700 });
    else if (to.type === "file" && from?.type === "file" && from.hash === to.hash)
      chmodSync(this.#at(path), to.mode);
    else this.#replace(path, to);
  }

  /** Writes the file or link under another name and renames it, so that a reader sees the old one or the new one. */
  #replace(path: string, to: KnownEntry): void {
    const folder = path.slice(0, path.lastIndexOf("/") + 1);
    const temporary = this.#at(`${folder}${this.#temporary}`);
    rmSync(temporary, { force: true });
    const bytes = to.type === "file" ? this.#store.bytes(to.hash) : undefined;
    this.#onStep();
    try {
      if (bytes) this.#write(temporary, bytes, to.mode, path);
      else symlinkSync(onDisk(to.target), temporary);
      this.#onStep();
      renameSync(temporary, this.#at(path));
    } catch (error) {
      rmSync(temporary, { force: true });
      throw error;
    }
  }

  #write(temporary: Buffer, bytes: Buffer, mode: number, path: string): void {
    const fd = openSync(temporary, "wx", 0o600);
    try {
      writeAll(fd, bytes);
      // The superuser must not take a file away from its owner.
      const old = process.getuid?.() === 0 ? lstatSync(this.#at(path), { throwIfNoEntry: false }) : undefined;
      if (old) fchownSync(fd, old.uid, old.gid);
      fchmodSync(fd, mode);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
  }
}
