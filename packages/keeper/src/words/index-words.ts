/** Reads what is new in the archive into the index of words. */
import { hash } from "node:crypto";
import { basename, join } from "node:path";
import { errorText } from "@pagurus/core/data/error-text";
import type { Database } from "@pagurus/core/data/sqlite";
import { nextSlice } from "@pagurus/core/platform/pace";
import { indexedText } from "@pagurus/host/stores/files/index/indexed-words";
import type { Archive, FileRow } from "../archive/archive.ts";
import { ROLES, wordsOf, type KeptRecord } from "../formats/kept-record.ts";
import {
  COMPRESSED,
  compressedLines,
  isByLine,
  recordOfLine,
  recordsOfFile,
} from "../formats/read-records.ts";
import { takenAt } from "../programs/taken-at.ts";
import type { Env, FormatId, Taken } from "../programs/program.ts";
import { LineCounts } from "./drift.ts";
import { ShardWriter } from "./word-shards.ts";
import { openWords, type ConversationRow } from "./words-database.ts";

/** Characters of one record that are searched. */
const MOST_CHARACTERS = 16 * 1024 * 1024;
/** Bytes that are read between two commits. */
const SLICE_BYTES = 16 * 1024 * 1024;
/** A line that is longer is kept and not read. */
const LONGEST_LINE = 256 * 1024 * 1024;

interface Mark {
  version: number;
  offset: number;
  size: number;
  at: number | null;
  /** The newest version of the program that a line names. */
  program: string | null;
}

/** What a line has from the ones before it, where it names no own. */
type Carried = Pick<Mark, "at" | "program">;

interface Source {
  file: FileRow;
  taken: Taken;
  format: FormatId;
}

interface Place {
  seq: number;
  offset: number;
  length: number;
  sum: number;
}

export class WordIndexer {
  readonly db: Database;
  readonly #archive: Archive;
  readonly #env: Env;
  readonly #copy: string;
  readonly #onProblem: (path: string, error: string) => void;
  /** Bytes that were read since the last commit: one transaction for many small files. */
  #uncommitted: number | undefined;
  /** Conversations of the records since the last commit. */
  readonly #conversations = new Map<string, ConversationRow>();
  readonly #shards: ShardWriter;
  readonly #counts = new LineCounts();
  /** Number of the newest record. */
  #last: number;

  constructor(options: {
    archive: Archive;
    folder: string;
    env: Env;
    onProblem: (path: string, error: string) => void;
  }) {
    this.db = openWords(options.folder, true);
    this.#shards = new ShardWriter(this.db);
    this.#last = this.db.get<{ num: number | null }>("SELECT max(num) AS num FROM records")?.num ?? 0;
    this.#archive = options.archive;
    this.#env = options.env;
    this.#copy = join(options.folder, "copies", "read");
    this.#onProblem = options.onProblem;
  }

  /** Reads what is new in all files, or in some; returns how many records were added. */
  async update(
    files: readonly FileRow[] = this.#archive.files(),
    progress: (done: number, of: number) => void = () => undefined,
  ): Promise<number> {
    try {
      return await this.#update(files, progress);
    } finally {
      this.#commit();
    }
  }

  async #update(files: readonly FileRow[], progress: (done: number, of: number) => void): Promise<number> {
    let added = 0;
    for (const [index, file] of files.entries()) {
      progress(index, files.length);
      const mark = this.#mark(file.id);
      if (mark?.version === file.version && mark.size === file.size) continue;
      const taken = takenAt(file.agent, file.path, this.#env);
      if (!taken.format || taken.take !== "words") continue;
      const source: Source = { file, taken, format: taken.format };
      added += isByLine(file.path, taken.format)
        ? await this.#readLines(source, mark)
        : this.#readWhole(source, mark);
      await this.#rest();
    }
    return added;
  }

  /** Begins a transaction, or continues the one that is open. */
  #read(bytes: number): void {
    if (this.#uncommitted === undefined) this.db.raw.exec("BEGIN IMMEDIATE");
    this.#uncommitted = (this.#uncommitted ?? 0) + bytes;
  }

  #commit(): void {
    if (this.#uncommitted === undefined) return;
    this.#saveConversations();
    this.#counts.save(this.db);
    const isLarge = this.#uncommitted >= SLICE_BYTES;
    this.#uncommitted = undefined;
    this.db.raw.exec("COMMIT");
    // Else the log stays as large as the largest change.
    if (isLarge) this.db.raw.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  }

  #mark(file: number): Mark | undefined {
    return this.db.get<Mark>("SELECT version, offset, size, at, program FROM marks WHERE file = ?", file);
  }

  #setMark({ id, version }: FileRow, offset: number, size: number, { at, program }: Carried): void {
    this.db.run(
      "INSERT OR REPLACE INTO marks VALUES (?, ?, ?, ?, ?, ?)",
      id,
      version,
      offset,
      size,
      at,
      program,
    );
  }

  async #readLines(source: Source, mark: Mark | undefined): Promise<number> {
    const { file } = source;
    let offset = this.#start(file, mark);
    const carried: Carried = { at: mark?.at ?? null, program: mark?.program ?? null };
    let added = 0;
    while (offset < file.size) {
      const step = this.#slice(source, offset);
      this.#read(step.end - offset);
      for (const { line, start } of step.lines) added += this.#addLine(source, line, start, carried);
      this.#setMark(file, step.end, step.isLast ? file.size : step.end, carried);
      await this.#rest();
      if (step.isLast) break;
      offset = step.end;
    }
    if (file.size === 0) {
      this.#read(0);
      this.#setMark(file, 0, 0, carried);
    }
    return added;
  }

  async #rest(): Promise<void> {
    if ((this.#uncommitted ?? 0) < SLICE_BYTES) return;
    this.#commit();
    await nextSlice();
  }

  /** Where the first line begins that may be new. A version begins as the one before. */
  #start(file: FileRow, mark: Mark | undefined): number {
    if (!mark) return 0;
    if (mark.version === file.version) return mark.offset;
    const shared = this.#archive
      .versions(file.id)
      .filter(({ version }) => version > mark.version)
      .reduce((least, version) => Math.min(least, version.shared), mark.offset);
    for (let end = shared; end > 0; end -= SLICE_BYTES) {
      const from = Math.max(0, end - SLICE_BYTES);
      const newline = this.#archive.bytes(file.id, file.version, from, end).lastIndexOf(10);
      if (newline >= 0) return from + newline + 1;
    }
    return 0;
  }

  /** The whole lines of a slice. A line without its end is read when it has one. */
  #slice(
    { file }: Source,
    offset: number,
  ): { lines: { line: Buffer; start: number }[]; end: number; isLast: boolean } {
    for (let size = SLICE_BYTES; ; size *= 2) {
      const bytes = this.#archive.bytes(file.id, file.version, offset, offset + size);
      const isLast = offset + bytes.length >= file.size;
      const end = bytes.lastIndexOf(10) + 1;
      if (end > 0 || isLast || size > LONGEST_LINE) {
        const lines = [];
        for (let start = 0; start < end;) {
          const newline = bytes.indexOf(10, start);
          lines.push({ line: bytes.subarray(start, newline), start: offset + start });
          start = newline + 1;
        }
        return { lines, end: offset + (end > 0 ? end : isLast ? 0 : bytes.length), isLast };
      }
    }
  }

  /** Returns how many records were added. */
  #addLine(source: Source, line: Buffer, start: number, carried: Carried): number {
    if (line.length === 0) return 0;
    const sum = sumOf(line);
    // A rewritten file repeats the lines that it had.
    if (source.file.version > 1 && this.#isKnown(source.file.id, sum)) return 0;
    const record = recordOfLine(line, source.format);
    carried.at = record.at ?? carried.at;
    carried.program = record.version ?? carried.program;
    this.#counts.add(source.file.agent, carried.program ?? "", record.isUnread === true);
    const place = { seq: 0, offset: start, length: line.length, sum };
    return this.#add(source, record, place, carried.at);
  }

  #isKnown(file: number, sum: number): boolean {
    return this.db.get("SELECT 1 FROM records WHERE file = ? AND sum = ?", file, sum) !== undefined;
  }

  /** Reads a file as a whole; what is known of it already is left out. */
  #readWhole(source: Source, mark: Mark | undefined): number {
    const { file } = source;
    const records = this.#wholeRecords(source);
    const former = COMPRESSED.test(file.path)
      ? this.#archive.fileAt(file.path.replace(COMPRESSED, ""))
      : undefined;
    let added = 0;
    let at = mark?.at ?? null;
    this.#read(file.size);
    for (const [seq, { record, sum }] of records.entries()) {
      at = record.at ?? at;
      if (this.#isKnown(file.id, sum) || (former && this.#isKnown(former.id, sum))) continue;
      if (record.key !== undefined)
        this.db.run("UPDATE records SET is_replaced = 1 WHERE file = ? AND key = ?", file.id, record.key);
      added += this.#add(source, record, { seq, offset: 0, length: 0, sum }, at);
    }
    this.#setMark(file, file.size, file.size, { at, program: null });
    return added;
  }

  #wholeRecords({ file, format }: Source): { record: KeptRecord; sum: number }[] {
    try {
      const bytes = this.#archive.bytes(file.id, file.version);
      const lines = compressedLines(file.path, bytes);
      if (lines) return lines.map((line) => ({ record: recordOfLine(line, format), sum: sumOf(line) }));
      return recordsOfFile(file.path, bytes, format, this.#copy).map((record) => ({
        record,
        sum: sumOf(Buffer.from(`${record.role}\n${wordsOf(record)}\n${record.key ?? ""}`)),
      }));
    } catch (error) {
      // Half a compressed file, or another database: it is read again when it changes.
      this.#onProblem(file.path, errorText(error));
      return [];
    }
  }

  #add(
    { file, taken }: Source,
    record: KeptRecord,
    { seq, offset, length, sum }: Place,
    at: number | null,
  ): number {
    this.#last += 1;
    const num = this.#last;
    const conversation = this.#conversation(file, taken, record, { at, num });
    this.db.run(
      `INSERT INTO records (num, conversation, file, version, seq, offset, length, role, at, sum, key)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      num,
      conversation,
      file.id,
      file.version,
      seq,
      offset,
      length,
      ROLES.indexOf(record.role),
      at,
      sum,
      record.key ?? null,
    );
    const words = indexedText(wordsOf(record).slice(0, MOST_CHARACTERS).normalize("NFC"));
    if (words !== "") this.#shards.add(num, words);
    return 1;
  }

  #conversation(
    { agent, path }: FileRow,
    { conversation }: Taken,
    record: KeptRecord,
    { at, num }: { at: number | null; num: number },
  ): number {
    const native = record.conversation ?? conversation?.id ?? basename(path);
    const parent = record.parent ?? conversation?.parent;
    const name = `${agent} ${native}`;
    const row = this.#conversations.get(name) ?? this.#openConversation(agent, native);
    this.#conversations.set(name, row);
    row.parent ??= parent ?? null;
    row.folder ??= record.folder ?? null;
    row.title = record.title ?? row.title;
    row.first_num ??= num;
    row.last_num = num;
    if (at !== null) {
      row.first_at = Math.min(row.first_at ?? at, at);
      row.last_at = Math.max(row.last_at ?? at, at);
    }
    return row.id;
  }

  #openConversation(agent: string, native: string): ConversationRow {
    const select = "SELECT * FROM conversations WHERE agent = ? AND native = ?";
    const known = this.db.get<ConversationRow>(select, agent, native);
    if (known) return { ...known };
    this.db.run("INSERT INTO conversations (agent, native) VALUES (?, ?)", agent, native);
    const id = this.db.get<{ id: number }>("SELECT last_insert_rowid() AS id")?.id ?? 0;
    const unknown = { parent: null, folder: null, title: null, first_at: null, last_at: null };
    return { id, agent, native, ...unknown, first_num: null, last_num: null };
  }

  /** Writes what records have about their conversations. */
  #saveConversations(): void {
    for (const row of this.#conversations.values())
      this.db.run(
        `UPDATE conversations SET parent = ?, folder = ?, title = ?, first_at = ?, last_at = ?, first_num = ?, last_num = ?
         WHERE id = ?`,
        row.parent,
        row.folder,
        row.title,
        row.first_at,
        row.last_at,
        row.first_num,
        row.last_num,
        row.id,
      );
    this.#conversations.clear();
  }

  close(): void {
    if (this.#uncommitted !== undefined) this.db.raw.exec("ROLLBACK");
    this.db.close();
  }
}

/** 52 bits of a hash: a number that SQLite and JavaScript write alike. */
function sumOf(bytes: Buffer): number {
  return Number.parseInt(hash("sha1", bytes, "hex").slice(0, 13), 16);
}
