/**
 * The search for transcripts that are in the sessions' folder and not in the index. Pagurus writes each new session into the shared
 * index; another program, or a crash of Pagurus, leaves only the file.
 *
 * A request must not cost more the more sessions there are. So a large folder is read at once only for the first search after the index
 * was opened; later ones find what the index has, and begin a reading beside other work, in slices, at most one in a second.
 */
import { readdir } from "node:fs/promises";
import { Pace } from "@pagurus/core/platform/pace";
import { TRANSCRIPT_SUFFIX } from "../session-paths.ts";

/** Transcripts of a folder that is read at once each time: a few milliseconds. */
export const MOST_AT_ONCE = 128;
/** Between two readings of a larger folder, ms. */
const PAUSE_MS = 1_000;

interface Looked {
  folder: string;
  /** Indexes a transcript that was not known. */
  take(name: string): void;
  /** Indexes its first lines; returns whether more are left. */
  begin(name: string): boolean;
  /** The next ones. */
  continue(name: string): boolean;
  isClosed(): boolean;
  onError(error: unknown): void;
}

export class FolderLook {
  /** Names of transcripts that are in the index. */
  readonly seen = new Set<string>();
  readonly #looked: Looked;
  #isWhole = false;
  #isLooking = false;
  #next = 0;

  constructor(looked: Looked) {
    this.#looked = looked;
  }

  /** Whether the folder, and the table of its sessions, may be read in one turn of the event loop. */
  get isAtOnce(): boolean {
    return !this.#isWhole || this.seen.size <= MOST_AT_ONCE;
  }

  /** The index is another one: the next search reads all. */
  forget(): void {
    this.seen.clear();
    this.#isWhole = false;
  }

  atOnce(names: readonly string[]): void {
    for (const name of names) if (this.#isNew(name)) this.#looked.take(name);
    this.#isWhole = true;
  }

  /** Begins a reading beside other work. */
  soon(): void {
    const now = performance.now();
    if (this.#isLooking || now < this.#next) return;
    this.#isLooking = true;
    this.#next = now + PAUSE_MS;
    void this.#look()
      .catch((error: unknown) => this.#looked.onError(error))
      .finally(() => (this.#isLooking = false));
  }

  async #look(): Promise<void> {
    const looked = this.#looked;
    const pace = new Pace();
    for (const name of await readdir(looked.folder)) {
      if (pace.due) await pace.rest();
      if (looked.isClosed()) return;
      if (!this.#isNew(name) || !looked.begin(name)) continue;
      do await pace.rest();
      while (!looked.isClosed() && looked.continue(name));
    }
  }

  #isNew(name: string): boolean {
    return name.endsWith(TRANSCRIPT_SUFFIX) && !this.seen.has(name);
  }
}
