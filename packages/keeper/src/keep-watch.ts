/** Keeps until it is stopped: what the system notifies at once, and everything in regular looks. */
import { statSync } from "node:fs";
import { attempt } from "@pagurus/core/data/attempt";
import type { EventRow } from "./archive/archive.ts";
import type { Home, Keeper, PassProgress } from "./keeper.ts";
import { FolderWatch } from "./watch/folder-watch.ts";

/** Changes of this span are looked at together, ms. */
const GATHER_MS = 50;
/** Pause between two looks at all files, ms: with notifications for all folders, and without. */
const LOOK_MS = 60_000;
const LOOK_ALONE_MS = 5_000;
/** Homes that may have come into being are looked for more often than files, ms. */
const HOMES_MS = 5_000;

export interface WatchEvents {
  progress?: (at: PassProgress) => void;
  /** After each look that found something. */
  kept?: (found: { added: number; events: readonly EventRow[]; files: readonly number[] }) => void;
  /** The first look at all files is done. */
  ready?: () => void;
}

export class KeepWatch {
  readonly #keeper: Keeper;
  readonly #events: WatchEvents;
  readonly #watch = new FolderWatch((folder, path) => this.#changed(folder, path));
  readonly #homes = new Map<string, Home>();
  readonly #changes = new Map<string, Home>();
  readonly #done = Promise.withResolvers<void>();
  #known = "";
  #isLooking = false;
  #isStopped = false;
  #cancels = new Set<() => void>();
  #gathering = false;

  constructor(keeper: Keeper, events: WatchEvents) {
    this.#keeper = keeper;
    this.#events = events;
  }

  /** Resolves after `stop`. Rejects with `store_write_failed`: the keeper has to be opened again. */
  async run(): Promise<void> {
    void this.#lookAgain(true);
    this.#lookForHomes();
    try {
      await this.#done.promise;
    } finally {
      this.#isStopped = true;
      for (const cancel of this.#cancels) cancel();
      this.#watch.close();
    }
  }

  stop(): void {
    this.#isStopped = true;
    if (!this.#isLooking) this.#done.resolve();
  }

  #after(ms: number, work: () => void): void {
    const cancel = this.#keeper.options.clock.after(ms, () => {
      this.#cancels.delete(cancel);
      work();
    });
    this.#cancels.add(cancel);
  }

  /** One look at a time; changes wait for its end. */
  async #work(look: () => Promise<void>): Promise<void> {
    if (this.#isLooking || this.#isStopped) return;
    this.#isLooking = true;
    try {
      await look();
    } catch (error) {
      this.#done.reject(error);
      this.#isStopped = true;
    }
    this.#isLooking = false;
    if (this.#isStopped) this.#done.resolve();
    else if (this.#changes.size > 0) this.#gather();
  }

  async #lookAgain(isFirst = false): Promise<void> {
    await this.#work(() => this.#lookAtAll(isFirst));
    if (this.#isStopped) return;
    this.#after(this.#watch.isFull ? LOOK_ALONE_MS : LOOK_MS, () => void this.#lookAgain());
  }

  async #lookAtAll(isFirst: boolean): Promise<void> {
    this.#known = this.#homePaths();
    const report = await this.#keeper.pass(isFirst ? this.#events.progress : undefined);
    this.#homes.clear();
    for (const { path, home } of report.folders) this.#homes.set(path, home);
    const hasNew = this.#watch.watch(report.folders.map(({ path }) => path));
    this.#report(report.added, report.events, []);
    // What changed before the folders were watched.
    if (hasNew) this.#lookSoon();
    if (isFirst) this.#events.ready?.();
  }

  #lookSoon(): void {
    this.#after(GATHER_MS, () => {
      if (this.#isLooking) this.#lookSoon();
      else void this.#work(() => this.#lookAtAll(false));
    });
  }

  #homePaths(): string {
    return this.#keeper
      .homes()
      .map(({ path }) => path)
      .join("\n");
  }

  #lookForHomes(): void {
    this.#after(HOMES_MS, () => {
      if (this.#homePaths() !== this.#known) void this.#work(() => this.#lookAtAll(false));
      this.#lookForHomes();
    });
  }

  #changed(folder: string, path: string | undefined): void {
    const home = this.#homes.get(folder);
    if (!home || this.#isStopped) return;
    this.#changes.set(path ?? folder, home);
    this.#gather();
  }

  #gather(): void {
    if (this.#gathering || this.#isLooking) return;
    this.#gathering = true;
    this.#after(GATHER_MS, () => {
      this.#gathering = false;
      void this.#work(() => this.#lookAtChanges());
    });
  }

  /** What is there first: a file that was renamed is then found before its former path is found to be empty. */
  async #lookAtChanges(): Promise<void> {
    const changes = [...this.#changes].map(([path, home]) => ({
      path: withoutLogOf(path),
      home,
      stat: attempt(() => statSync(path)),
    }));
    this.#changes.clear();
    const newFolders = changes.filter(
      ({ path, stat, home }) =>
        stat?.isDirectory() && !this.#homes.has(path) && home.program.depth === undefined,
    );
    const isFolderGone = changes.some(({ path, stat }) => !stat && this.#homes.has(path));
    if (newFolders.length > 0 || isFolderGone) return this.#lookAtAll(false);
    const last = this.#lastEvent();
    const files: number[] = [];
    let added = 0;
    for (const { path, home } of changes.toSorted((one, other) => Number(!one.stat) - Number(!other.stat))) {
      const change = await this.#keeper.keepAt(home, path);
      if (!change) continue;
      files.push(change.file);
      added += change.added;
    }
    this.#keeper.commit();
    await this.#keeper.words.update([...new Set(files)].map((file) => this.#keeper.archive.file(file)));
    this.#report(added, this.#keeper.archive.events(last), files);
  }

  #lastEvent(): number {
    return this.#keeper.archive.index.get<{ id: number | null }>("SELECT max(id) AS id FROM events")?.id ?? 0;
  }

  #report(added: number, events: readonly EventRow[], files: readonly number[]): void {
    if (added > 0 || events.length > 0) this.#events.kept?.({ added, events, files });
  }
}

/** The log of a database changes: the database is what is kept. */
function withoutLogOf(path: string): string {
  return path.replace(/-(?:wal|shm|journal)$/, "");
}
