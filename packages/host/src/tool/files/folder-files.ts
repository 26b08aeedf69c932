/** Files of the folders that are asked for again and again, each listed once for all who ask. */
import type { Clock } from "@pagurus/core/data/clock";
import { WorkspaceFiles } from "./workspace-files.ts";

/** Folders whose files are kept; the one that was asked for longest ago makes way. */
const MOST_FOLDERS = 8;

export class FolderFiles {
  /** The one that was asked for last is the last. */
  readonly #kept = new Map<string, WorkspaceFiles>();
  readonly #clock: Clock | undefined;

  constructor(clock?: Clock) {
    this.#clock = clock;
  }

  /** As `WorkspaceFiles.list`. A walk belongs to all who wait for it: it ends by itself, and not with one of them. */
  list(folder: string): Promise<readonly string[]> {
    const files = this.#kept.get(folder) ?? new WorkspaceFiles(folder, this.#clock);
    this.#kept.delete(folder);
    this.#kept.set(folder, files);
    const [first] = this.#kept.keys();
    if (this.#kept.size > MOST_FOLDERS && first !== undefined) this.#kept.delete(first);
    return files.list(new AbortController().signal);
  }
}
