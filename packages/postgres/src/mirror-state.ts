/** What a host knows of its mirrors: up to where the bytes of a file are those of the database. Kept in a file beside each. */
import { randomUUID } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { ensurePrivateDir } from "@pagurus/core/platform/atomic-files";
import { writeFailure } from "@pagurus/host/stores/files/failures";
import { readHeader } from "@pagurus/host/stores/files/index/indexer";
import { readKeyFile, writeKeyFile, type KeyFile } from "@pagurus/host/stores/files/key-file";
import { sessionPaths } from "@pagurus/host/stores/files/session-paths";
import type { SharedSession } from "./shared-rows.ts";

interface MirrorMark {
  bytes: number;
  revision: number;
}

const NO_MIRROR: MirrorMark = { bytes: 0, revision: -1 };

/** The name under which the state of a session's receipts is kept. */
export function receiptsName(sessionId: string): string {
  return `${sessionId}.receipts`;
}

export class MirrorState {
  readonly folder: string;
  readonly #marks = new Map<string, MirrorMark>();
  #id: string | undefined;

  constructor(folder: string) {
    this.folder = folder;
  }

  /** Identifies the folder in the database; a copy of it on another host is another one. Throws `store_write_failed`. */
  get id(): string {
    return (this.#id ??= this.#readId());
  }

  /** The file beside the transcript; it may be older than the transcript, never newer. */
  mark(sessionId: string): MirrorMark {
    const known = this.#marks.get(sessionId) ?? this.#read(sessionId);
    this.#marks.set(sessionId, known);
    return known;
  }

  isMirrored(sessionId: string): boolean {
    return this.mark(sessionId) !== NO_MIRROR;
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
    this.#marks.delete(receiptsName(sessionId));
    const { transcript, key, bindings } = sessionPaths(this.folder, sessionId);
    const receipts = readdirSync(this.folder).filter((name) =>
      name.startsWith(`${receiptsName(sessionId)}.`),
    );
    const files = [transcript, key, bindings, this.#file(sessionId)];
    for (const file of [...files, ...receipts.map((name) => join(this.folder, name))])
      rmSync(file, { force: true });
  }

  #readId(): string {
    const file = join(this.folder, ".mirror-id");
    try {
      ensurePrivateDir(this.folder);
      if (!existsSync(file)) writeFileSync(file, randomUUID(), { flag: "wx", mode: 0o600 });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw writeFailure(error, file);
    }
    return `${hostname()} ${readFileSync(file, "utf8")}`;
  }

  #file(sessionId: string): string {
    return join(this.folder, `${sessionId}.synced`);
  }

  #read(sessionId: string): MirrorMark {
    try {
      const { bytes, revision } = JSON.parse(readFileSync(this.#file(sessionId), "utf8")) as MirrorMark;
      return typeof bytes === "number" && typeof revision === "number" ? { bytes, revision } : NO_MIRROR;
    } catch {
      // Without it the whole file is compared.
      return NO_MIRROR;
    }
  }
}
