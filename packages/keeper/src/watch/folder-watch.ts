/** Notices changes in folders by the system's notifications. A folder that cannot be watched is left to the regular looks. */
import { watch, type FSWatcher } from "node:fs";
import { join } from "node:path";

/** Most folders that are watched: the system has a limit for a user, which other programs need too. */
const MOST_FOLDERS = 4_096;

export class FolderWatch {
  readonly #watchers = new Map<string, FSWatcher>();
  readonly #changed: (folder: string, path: string | undefined) => void;
  #isFull = false;

  /** `changed`: a path in a folder, or undefined where the system does not name it. */
  constructor(changed: (folder: string, path: string | undefined) => void) {
    this.#changed = changed;
  }

  /** Whether changes in some folder are not noticed. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** Watches these folders and no others. Returns whether some were not watched before: what changed in them meanwhile is not noticed. */
  watch(folders: readonly string[]): boolean {
    this.#isFull = folders.length > MOST_FOLDERS;
    const wanted = new Set(folders.slice(0, MOST_FOLDERS));
    for (const [folder, watcher] of this.#watchers) if (!wanted.has(folder)) this.#end(folder, watcher);
    const added = [...wanted].filter((folder) => !this.#watchers.has(folder));
    for (const folder of added) this.#add(folder);
    return added.some((folder) => this.#watchers.has(folder));
  }

  #add(folder: string): void {
    try {
      const watcher = watch(folder, { persistent: false }, (_kind, name) =>
        this.#changed(folder, name === null ? undefined : join(folder, name)),
      );
      // The folder was removed, or the limit of the system is reached.
      watcher.on("error", () => this.#end(folder, watcher));
      this.#watchers.set(folder, watcher);
    } catch {
      // The same, at once: the regular looks see what happens in it.
      this.#isFull = true;
    }
  }

  #end(folder: string, watcher: FSWatcher): void {
    watcher.close();
    this.#watchers.delete(folder);
  }

  close(): void {
    for (const [folder, watcher] of this.#watchers) this.#end(folder, watcher);
  }
}
