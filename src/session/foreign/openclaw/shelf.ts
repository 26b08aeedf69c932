/** What an agent's folder holds already, read without writing there: a look must not make an index. */
import { closeSync, fstatSync, openSync, readdirSync } from "node:fs";
import { parseHeader } from "../../entry.ts";
import { systemCode } from "../../failures.ts";
import { readKey } from "../../key-file.ts";
import { linesForward } from "../../lines.ts";
import { sessionPaths, TRANSCRIPT_SUFFIX } from "../../paths.ts";

export class Shelf {
  readonly #keys = new Map<string, string>();
  readonly #used = new Set<string>();

  /** `folder`: the agent's sessions. */
  constructor(folder: string) {
    for (const name of namesIn(folder)) {
      if (!name.endsWith(TRANSCRIPT_SUFFIX) || name.startsWith(".")) continue;
      const id = name.slice(0, -TRANSCRIPT_SUFFIX.length);
      const { transcript, key: keyFile } = sessionPaths(folder, id);
      const { key, empty } = firstLine(transcript);
      const named = readKey(keyFile) ?? key;
      if (named === undefined) continue;
      this.#keys.set(id, named);
      // An empty conversation gives way to one that is taken.
      if (!empty) this.#used.add(named);
    }
  }

  /** The key of the session with the id. */
  keyOf(id: string): string | undefined {
    return this.#keys.get(id);
  }

  /** The first key that no conversation has. */
  free(keys: readonly string[]): string | undefined {
    return keys.find((key) => !this.#used.has(key));
  }

  add(id: string, key: string): void {
    this.#keys.set(id, key);
    this.#used.add(key);
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (systemCode(error) === "ENOENT") return [];
    throw error;
  }
}

function firstLine(file: string): { key: string | undefined; empty: boolean } {
  const fd = openSync(file, "r");
  try {
    const { size } = fstatSync(fd);
    const [line] = linesForward(fd, 0, size);
    const header = line && parseHeader(line.bytes);
    return { key: header?.key, empty: line !== undefined && line.length >= size };
  } finally {
    closeSync(fd);
  }
}
