/** Existing sessions of an agent's folder, read without writing there: a check must not create an index. */
import { closeSync, fstatSync, openSync, readdirSync } from "node:fs";
import { parseHeader } from "@pagurus/host/stores/files/transcript/transcript-entry";
import { systemCode } from "@pagurus/host/stores/files/failures";
import { readKey } from "@pagurus/host/stores/files/key-file";
import { linesForward } from "@pagurus/host/stores/files/transcript/transcript-lines";
import { sessionPaths, TRANSCRIPT_SUFFIX } from "@pagurus/host/stores/files/session-paths";

export class Shelf {
  readonly #keys = new Map<string, string>();
  readonly #used = new Set<string>();
  readonly #folder: string;

  /** `folder`: the agent's sessions. */
  constructor(folder: string) {
    this.#folder = folder;
    for (const name of namesIn(folder)) {
      if (!name.endsWith(TRANSCRIPT_SUFFIX) || name.startsWith(".")) continue;
      const id = name.slice(0, -TRANSCRIPT_SUFFIX.length);
      const { transcript, key: keyFile } = sessionPaths(folder, id);
      const { key, empty } = firstLine(transcript);
      const named = readKey(keyFile) ?? key;
      if (named === undefined) continue;
      this.#keys.set(id, named);
      // An empty conversation is replaced by an imported one.
      if (!empty) this.#used.add(named);
    }
  }

  /** The key of the session with the id. */
  keyOf(id: string): string | undefined {
    return this.#keys.get(id);
  }

  /** Whether a line of the session's transcript contains a text, JSON-encoded. */
  says(id: string, json: string): boolean {
    const fd = openSync(sessionPaths(this.#folder, id).transcript, "r");
    try {
      for (const { bytes } of linesForward(fd, 0, fstatSync(fd).size)) if (bytes.includes(json)) return true;
      return false;
    } finally {
      closeSync(fd);
    }
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

/** A dangling link, or a folder, is no conversation. */
const NO_FILE: ReadonlySet<string | undefined> = new Set(["ENOENT", "ELOOP", "EISDIR"]);

function firstLine(file: string): { key: string | undefined; empty: boolean } {
  try {
    return readFirstLine(file);
  } catch (error) {
    if (NO_FILE.has(systemCode(error))) return { key: undefined, empty: true };
    throw error;
  }
}

function readFirstLine(file: string): { key: string | undefined; empty: boolean } {
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
