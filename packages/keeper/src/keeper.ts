/** Keeps what other programs write: one look at all their files, or again and again as they change. */
import { join } from "node:path";
import type { Clock } from "@pagurus/core/data/clock";
import { attempt } from "@pagurus/core/data/attempt";
import { ensurePrivateDir } from "@pagurus/core/platform/atomic-files";
import { existsSync } from "node:fs";
import { Archive, type EventRow } from "./archive/archive.ts";
import type { KeeperPlace } from "./keeper-place.ts";
import { PROGRAMS } from "./programs/all-programs.ts";
import type { Env, Program } from "./programs/program.ts";
import { isByLine } from "./formats/read-records.ts";
import { copyDatabase, databaseStat, removeCopy } from "./watch/database-copy.ts";
import { FileKeeper, type FileChange, type KeepRequest } from "./watch/keep-file.ts";
import { LeftOut } from "./watch/left-out.ts";
import { foundFile, walkHome, type FoundFile } from "./watch/walk.ts";
import { WordIndexer } from "./words/index-words.ts";

/** Bytes and time after which what was kept is brought to the disk, ms. */
const COMMIT_BYTES = 16 * 1024 * 1024;
const COMMIT_MS = 2_000;
/** A database is copied again no sooner than this many times the duration of its last copy. */
const COPY_FACTOR = 20;

export interface KeeperOptions {
  place: KeeperPlace;
  env: Env;
  clock: Clock;
  programs?: readonly Program[];
  /** What could not be read: the path, and the system's code. */
  onProblem?: (path: string, error: unknown) => void;
}

export interface Home {
  program: Program;
  path: string;
}

export interface PassProgress {
  files: number;
  of: number;
  bytes: number;
}

export interface PassReport {
  files: number;
  added: number;
  events: EventRow[];
  /** Folders that were read, for the watch. */
  folders: { path: string; home: Home }[];
}

interface CopyState {
  stat: string;
  /** Ticks before which it is not copied again. */
  notBefore: number;
}

export class Keeper {
  readonly options: KeeperOptions;
  readonly archive: Archive;
  readonly words: WordIndexer;
  readonly #files: FileKeeper;
  readonly #leftOut = new LeftOut();
  readonly #copies = new Map<string, CopyState>();
  #uncommitted = 0;
  #committedAt: number;

  private constructor(options: KeeperOptions) {
    this.options = options;
    this.archive = Archive.open(options.place.folder);
    this.#files = new FileKeeper(this.archive, () => options.clock.now());
    this.words = new WordIndexer({
      archive: this.archive,
      folder: options.place.folder,
      env: options.env,
      onProblem: (path, error) => options.onProblem?.(path, error),
    });
    this.#committedAt = options.clock.ticks();
  }

  /** The caller holds the lock. Throws `store_write_failed`, `store_read_failed`. */
  static open(options: KeeperOptions): Keeper {
    ensurePrivateDir(options.place.copies);
    return new Keeper(options);
  }

  homes(): Home[] {
    return homesOf(this.options.programs ?? PROGRAMS, this.options.env);
  }

  /** Looks at all files of all programs. Throws `store_write_failed`; the keeper has to be opened again then. */
  async pass(progress: (at: PassProgress) => void = () => undefined): Promise<PassReport> {
    const report: PassReport = { files: 0, added: 0, events: [], folders: [] };
    const last = this.#lastEvent();
    const found: FoundFile[] = [];
    for (const home of this.homes()) {
      const walk = await walkHome(home.program, home.path);
      report.folders.push(...walk.folders.map((path) => ({ path, home })));
      for (const path of walk.closed) this.options.onProblem?.(path, { code: "EACCES" });
      found.push(...walk.files.filter(({ take }) => take !== "no"));
    }
    const seen = new Set(found.map(({ path }) => path));
    this.#leftOut.again();
    // Files that name their folder before the other files of their conversations.
    const ordered = found.toSorted((one, other) => Number(isBeside(one)) - Number(isBeside(other)));
    for (const [index, file] of ordered.entries()) {
      report.added += (await this.keep(file))?.added ?? 0;
      report.files += 1;
      progress({ files: index + 1, of: found.length, bytes: report.added });
    }
    for (const { path, agent, state } of this.archive.files())
      if (state === "there" && !seen.has(path)) await this.#keepPath({ agent, path });
    this.commit();
    report.events = this.archive.events(last);
    await this.words.update();
    return report;
  }

  /** Looks at one file. What cannot be read is reported, and read when it can be. */
  async keep(found: FoundFile): Promise<FileChange | undefined> {
    const { program, path, format, take, isState } = found;
    const isDocument = path.endsWith(".json");
    const loses = take !== "words" || isState === true ? "none" : isDocument ? "words" : "bytes";
    const isLeftOut: KeepRequest["isLeftOut"] = (source) =>
      this.#leftOut.has(program.id, path, found, source);
    const request: KeepRequest = { agent: program.id, path, loses, isLeftOut };
    return format === "database" ? this.#keepDatabase(request) : this.#keepPath(request);
  }

  /** Looks at a path of a home, for example one that has changed. */
  async keepAt(home: Home, path: string): Promise<FileChange | undefined> {
    const name = path.slice(home.path.length + 1);
    const file = foundFile(home.program, name, path);
    if (file.take === "no") return undefined;
    this.#leftOut.again();
    return this.keep(file);
  }

  async #keepPath(request: KeepRequest): Promise<FileChange | undefined> {
    try {
      const change = await this.#files.keep(request);
      this.#count(change?.added ?? 0);
      return change;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
      this.options.onProblem?.(request.path, error);
      return undefined;
    }
  }

  async #keepDatabase(request: KeepRequest): Promise<FileChange | undefined> {
    const { clock, place } = this.options;
    const stat = databaseStat(request.path);
    const known = this.#copies.get(request.path);
    if (known?.stat === stat || clock.ticks() < (known?.notBefore ?? 0)) return undefined;
    if (!existsSync(request.path)) return this.#keepPath(request);
    const copy = join(place.copies, "database");
    const start = clock.ticks();
    try {
      await copyDatabase(request.path, copy);
      const change = await this.#keepPath({ ...request, copy, loses: "none" });
      const end = clock.ticks();
      this.#copies.set(request.path, { stat, notBefore: end + COPY_FACTOR * (end - start) });
      return change;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "store_write_failed") throw error;
      // No database, or one that no program can read: its bytes are kept.
      this.options.onProblem?.(request.path, error);
      return this.#keepPath(request);
    } finally {
      attempt(() => removeCopy(copy));
    }
  }

  #count(added: number): void {
    this.#uncommitted += added;
    const isDue = this.options.clock.ticks() - this.#committedAt > COMMIT_MS;
    if (this.#uncommitted >= COMMIT_BYTES || isDue) this.commit();
  }

  commit(): void {
    this.archive.commit();
    this.#uncommitted = 0;
    this.#committedAt = this.options.clock.ticks();
  }

  #lastEvent(): number {
    return this.archive.index.get<{ id: number | null }>("SELECT max(id) AS id FROM events")?.id ?? 0;
  }

  close(): void {
    this.#files.close();
    attempt(() => this.commit());
    this.words.close();
    this.archive.close();
  }
}

/** Whether a file belongs to a conversation that another file has. */
function isBeside({ path, take, format }: FoundFile): boolean {
  return take !== "words" || format === undefined || !isByLine(path, format);
}

/** Homes that exist. */
export function homesOf(programs: readonly Program[], env: Env): Home[] {
  return programs.flatMap((program) =>
    [...new Set(program.homes(env))].filter((path) => existsSync(path)).map((path) => ({ program, path })),
  );
}
