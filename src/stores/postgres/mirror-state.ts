/** What a host knows of its mirrors: up to where the bytes of a file are those of the database. Kept in a file beside each. */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readHeader } from "../../session/index/indexer.ts";
import { readKeyFile, writeKeyFile, type KeyFile } from "../../session/key-file.ts";
import { sessionPaths } from "../../session/session-paths.ts";
import type { SharedSession } from "./shared-rows.ts";

interface MirrorMark {
  bytes: number;
  revision: number;
}

const NONE: MirrorMark = { bytes: 0, revision: -1 };

export class MirrorState {
  readonly folder: string;
  readonly #marks = new Map<string, MirrorMark>();

  constructor(folder: string) {
    this.folder = folder;
  }

  /** The file beside the transcript; it may be older than the transcript, never newer. */
  mark(sessionId: string): MirrorMark {
    const known = this.#marks.get(sessionId) ?? this.#read(sessionId);
    this.#marks.set(sessionId, known);
    return known;
  }

  isMirrored(sessionId: string): boolean {
    return this.mark(sessionId) !== NONE;
  }

  /** Notes that all bytes of the file up to `bytes` are in the database. */
  note(sessionId: string, mark: MirrorMark): void {
    const known = this.mark(sessionId);
    if (known.bytes === mark.bytes && known.revision === mark.revision) return;
    this.#marks.set(sessionId, mark);
    writeFileSync(this.#file(sessionId), JSON.stringify(mark), { mode: 0o600 });
  }

  /** Writes the key of a session whose header has another one, as an import under a chosen key makes it, or none. */
  noteKey({ sessionId, key, generation, precedence }: SharedSession): void {
    const paths = sessionPaths(this.folder, sessionId);
    const header = readHeader(paths.transcript);
    if (header?.key === key) return;
    const wanted: KeyFile = header ? { key } : { key, order: { generation, precedence } };
    if (JSON.stringify(readKeyFile(paths.key)) !== JSON.stringify(wanted)) writeKeyFile(paths.key, wanted);
  }

  unsent(sessionId: string): string {
    return join(this.folder, `${sessionId}.unsent`);
  }

  /** Removes the mirror of a session that was deleted. */
  remove(sessionId: string): void {
    this.#marks.delete(sessionId);
    const { transcript, key } = sessionPaths(this.folder, sessionId);
    for (const file of [transcript, key, this.#file(sessionId)]) rmSync(file, { force: true });
  }

  #file(sessionId: string): string {
    return join(this.folder, `${sessionId}.mirror`);
  }

  #read(sessionId: string): MirrorMark {
    try {
      const { bytes, revision } = JSON.parse(readFileSync(this.#file(sessionId), "utf8")) as MirrorMark;
      return typeof bytes === "number" && typeof revision === "number" ? { bytes, revision } : NONE;
    } catch {
      // Without it the whole file is compared.
      return NONE;
    }
  }
}
