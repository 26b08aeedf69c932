/** The files of a workspace for completion, without those that `.gitignore` names. */
import { relative, sep } from "node:path";
import { setImmediate as endOfStep } from "node:timers/promises";
import { SYSTEM_CLOCK, type Clock } from "@pagurus/core/data/clock";
import { walkFiles } from "./folder-walk.ts";

/** Age of a list after which it is read again, ms. */
const LIST_FRESH_MS = 10_000;
/** Files after which the walk ends: completion offers the others by their folder. */
const MOST_FILES = 50_000;
/** Files that are read in one step of the event loop. */
const STEP = 500;

export class WorkspaceFiles {
  readonly #cwd: string;
  readonly #clock: Clock;
  #listed: Promise<readonly string[]> | undefined;
  #at = -Infinity;

  constructor(cwd: string, clock = SYSTEM_CLOCK) {
    this.#cwd = cwd;
    this.#clock = clock;
  }

  /** Relative paths with `/`, folders with one at their end; the shortest first. Never throws. */
  list(signal: AbortSignal): Promise<readonly string[]> {
    const isFresh = this.#clock.ticks() - this.#at < LIST_FRESH_MS;
    if (this.#listed && isFresh) return this.#listed;
    this.#at = this.#clock.ticks();
    this.#listed = this.#read(signal).catch(() => {
      // An aborted or impossible walk is made again at the next key.
      this.#listed = undefined;
      return [];
    });
    return this.#listed;
  }

  async #read(signal: AbortSignal): Promise<readonly string[]> {
    const paths = new Set<string>();
    for await (const file of walkFiles(this.#cwd, signal)) {
      const path = relative(this.#cwd, file).split(sep).join("/");
      for (let at = path.indexOf("/"); at !== -1; at = path.indexOf("/", at + 1))
        paths.add(path.slice(0, at + 1));
      paths.add(path);
      if (paths.size >= MOST_FILES) break;
      if (paths.size % STEP === 0) await endOfStep();
    }
    return [...paths].toSorted((left, right) => left.length - right.length || (left < right ? -1 : 1));
  }
}
