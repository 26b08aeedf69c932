/**
 * Brings what is new in one file into the archive. Nothing that the archive has is ever taken out of it: a file that was shortened, rewritten
 * or removed is recorded as such, and what it had before stays.
 */
import { existsSync, lstatSync } from "node:fs";
import { attempt } from "@pagurus/core/data/attempt";
import { nextSlice } from "@pagurus/core/platform/pace";
import type { Archive, FileRow } from "../archive/archive.ts";
import { headMark, MARKED_BYTES, pathMark } from "../archive/forget.ts";
import { firstCut, MOST } from "../archive/chunks.ts";
import type { EventKind } from "../archive/notes.ts";
import { lostWords } from "./lost-words.ts";
import { looksGrown, sameBytes } from "./same-bytes.ts";
import { SourceFile } from "./source-file.ts";

const WINDOW = 4 * 1024 * 1024;
/** A file that was compared in samples is compared in full when it has not changed for this long, ms. */
const REST_MS = 60_000;
const SAMPLED = " sampled";
/** Files that have changed lately are kept open: what was written to one just before its removal can still be read. */
const OPEN_FILES = 64;

/** Ends of a name that a program gives to the compressed form of a file, which it then removes. */
const COMPRESSED = [".zst", ".gz"];

export interface FileChange {
  file: number;
  /** Bytes that were added. */
  added: number;
  event?: { kind: EventKind; bytes: number };
}

export interface KeepRequest {
  agent: string;
  path: string;
  /** The bytes are read from this file: a copy of a database that is in use. */
  copy?: string;
  /**
   * What counts as a loss when the file is rewritten: bytes (default), words of a document that is always written as a whole, or nothing
   * for a file that has a state and no history.
   */
  loses?: "bytes" | "words" | "none";
  /** Whether the user leaves the conversation out. */
  isLeftOut?: (source: SourceFile) => boolean;
}

interface LossQuestion {
  /** As it was kept before. */
  file: FileRow;
  source: SourceFile;
  same: number;
  loses: "bytes" | "words" | "none";
}

export class FileKeeper {
  readonly #archive: Archive;
  readonly #now: () => number;
  readonly #open = new Map<string, SourceFile>();

  constructor(archive: Archive, now: () => number) {
    this.#archive = archive;
    this.#now = now;
  }

  /** Returns undefined where nothing has changed. Throws the system's errors, for example of a file that may not be read. */
  async keep(request: KeepRequest): Promise<FileChange | undefined> {
    const { path, copy } = request;
    let source: SourceFile;
    try {
      source = SourceFile.open(copy ?? path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      return this.#removed(path);
    }
    let isHeld = false;
    try {
      if (!source.isFile) return undefined;
      await this.#drainReplaced(path, source);
      const change = await this.#look(request, source);
      if (change && copy === undefined) isHeld = this.#hold(path, source);
      return change;
    } finally {
      if (!isHeld) source.close();
    }
  }

  #hold(path: string, source: SourceFile): boolean {
    this.#open.get(path)?.close();
    this.#open.delete(path);
    if (this.#open.size >= OPEN_FILES) {
      const [oldest] = this.#open.keys();
      if (oldest !== undefined) this.release(oldest);
    }
    this.#open.set(path, source);
    return true;
  }

  release(path: string): void {
    this.#open.get(path)?.close();
    this.#open.delete(path);
  }

  close(): void {
    for (const path of this.#open.keys()) this.release(path);
  }

  /** Another file is at the path now: the end of the former one is read first. */
  async #drainReplaced(path: string, source: SourceFile): Promise<void> {
    const held = this.#open.get(path);
    if (!held || held.inode === source.inode) return;
    await this.#drain(path, held);
    this.release(path);
  }

  async #drain(path: string, held: SourceFile): Promise<number> {
    const file = this.#archive.fileAt(path);
    const now = held.again();
    if (!file || file.inode !== now.inode || now.size <= file.size) return 0;
    return (await this.#append(file, now, file.size)).added;
  }

  async #removed(path: string): Promise<FileChange | undefined> {
    const known = this.#archive.fileAt(path);
    if (!known || known.state === "gone") return undefined;
    const held = this.#open.get(path);
    const added = held ? await this.#drain(path, held) : 0;
    this.release(path);
    const file = this.#archive.file(known.id);
    const isCompressed = COMPRESSED.some((end) => existsSync(path + end));
    const event = {
      kind: isCompressed ? "compressed" : "removed",
      bytes: isCompressed ? 0 : file.size,
    } as const;
    this.#archive.addEvent(event.kind, file, event, this.#now());
    return { file: file.id, added, event };
  }

  async #look(
    { agent, path, copy, loses = "bytes", isLeftOut }: KeepRequest,
    source: SourceFile,
  ): Promise<FileChange | undefined> {
    const known = this.#archive.fileAt(path) ?? (await this.#moved(path, source));
    if (!known && this.#isForgotten(path, source)) return undefined;
    const isReturned = known?.state === "gone";
    if (known && !isReturned && this.#isUnchanged(known, source)) return undefined;
    if (isLeftOut?.(source) === true) return undefined;
    const file = known ?? this.#archive.addFile(agent, path, this.#now());
    const isSampled = copy === undefined && this.#isGrown(file, source);
    const same = isSampled ? file.size : await sameBytes(this.#archive, file, source);
    if (isReturned) this.#archive.addEvent("returned", file, {}, this.#now());
    if (same < file.size) this.#archive.startVersion(file, same, this.#now());
    const { added, isWhole } = await this.#append(this.#archive.file(file.id), source, same);
    const event = this.#eventOf({ file, source, same, loses });
    if (event) this.#archive.addEvent(event.kind, file, event, this.#now());
    if (isWhole) this.#archive.setStat(file.id, source.stat + (isSampled ? SAMPLED : ""), source.inode);
    if (known && added === 0 && !event && !isReturned) return undefined;
    return { file: file.id, added, ...(event && { event }) };
  }

  /** The user deleted it here; it may have been moved since. */
  #isForgotten(path: string, source: SourceFile): boolean {
    if (this.#archive.isForgotten(pathMark(path))) return true;
    const head = headMark(path, source.read(0, MARKED_BYTES));
    return head !== undefined && this.#archive.isForgotten(head);
  }

  #isUnchanged(file: FileRow, source: SourceFile): boolean {
    if (file.inode !== source.inode) return false;
    if (file.stat === source.stat) return true;
    // Compared in samples when it grew: again, in full, when it rests.
    return file.stat === source.stat + SAMPLED && this.#now() - file.last_at < REST_MS;
  }

  #isGrown(file: FileRow, source: SourceFile): boolean {
    return file.stat !== "" && file.inode === source.inode && looksGrown(this.#archive, file, source);
  }

  #eventOf({ file, source, same, loses }: LossQuestion): FileChange["event"] {
    if (same >= file.size || loses === "none") return undefined;
    const kind = same === source.size ? "truncated" : "rewritten";
    const bytes = loses === "bytes" ? file.size - same : lostWords(this.#archive, file.id);
    return bytes > 0 ? { kind, bytes } : undefined;
  }

  /** A file that was at another path, which nothing is at any more. */
  async #moved(path: string, source: SourceFile): Promise<FileRow | undefined> {
    const rows = this.#archive.index.all<FileRow>(
      "SELECT * FROM files WHERE inode = ? ORDER BY id DESC",
      source.inode,
    );
    for (const row of rows) {
      if (attempt(() => lstatSync(row.path)) !== undefined) continue;
      // A system uses the number of a removed file again.
      if (row.size > source.size || (await sameBytes(this.#archive, row, source)) < row.size) continue;
      this.#archive.addEvent("renamed", row, { path }, this.#now());
      const held = this.#open.get(row.path);
      if (held) this.release(row.path);
      return this.#archive.file(row.id);
    }
    return undefined;
  }

  /** Adds the source's bytes from an offset on. */
  async #append(
    file: FileRow,
    source: SourceFile,
    from: number,
  ): Promise<{ added: number; isWhole: boolean }> {
    let [at, waiting] = [from, Buffer.alloc(0)];
    const isEmpty = from >= source.size;
    while (at + waiting.length < source.size || waiting.length > 0) {
      const wanted = Math.min(WINDOW, source.size - at - waiting.length);
      const read = source.read(at + waiting.length, wanted);
      // It was shortened while it was read: the next look finds out.
      const isEnd = read.length < wanted || at + waiting.length + read.length >= source.size;
      const { blocks, rest } = blocksOf(Buffer.concat([waiting, read]), isEnd);
      if (blocks.length > 0) this.#archive.grow(this.#archive.file(file.id), blocks, this.#now());
      at += blocks.reduce((sum, { length }) => sum + length, 0);
      waiting = rest;
      if (isEnd) break;
      await nextSlice();
    }
    const now = source.again();
    return { added: at - from, isWhole: (isEmpty || at >= source.size) && now.stat === source.stat };
  }
}

function blocksOf(
  bytes: Buffer<ArrayBuffer>,
  isEnd: boolean,
): { blocks: Buffer[]; rest: Buffer<ArrayBuffer> } {
  const blocks: Buffer[] = [];
  let at = 0;
  while (at < bytes.length) {
    const part = bytes.subarray(at, at + MOST);
    const length = firstCut(part, isEnd);
    if (length === undefined) break;
    blocks.push(part.subarray(0, length));
    at += length;
  }
  return { blocks, rest: bytes.subarray(at) };
}
