/** What is kept, as conversations: for readers beside the process that keeps. */
import { join } from "node:path";
import type { Database } from "@pagurus/core/data/sqlite";
import { Archive } from "../archive/archive.ts";
import { ROLES, wordsOf, type KeptRecord, type Role } from "../formats/kept-record.ts";
import { isByLine, recordOfLine, recordsOfFile } from "../formats/read-records.ts";
import type { Env } from "../programs/program.ts";
import { takenAt } from "../programs/taken-at.ts";
import { searchWords, snippetOf, type SearchFilter } from "./search-words.ts";
import { IN_FOLDER, openWords, type ConversationRow, type RecordRow } from "./words-database.ts";

export interface KeptConversation extends ConversationRow {
  messages: number;
  /** Whether no file of it is at the program any more. */
  isGone: boolean;
}

export interface ShownRecord extends KeptRecord {
  num: number;
  /** The file that has it, and whether it is only in an earlier version of that. */
  path: string;
  isReplaced: boolean;
}

export interface KeptHit {
  num: number;
  conversation: ConversationRow;
  role: Role;
  at: number | null;
  snippet: string;
}

export class KeptWords implements Disposable {
  readonly archive: Archive;
  readonly #db: Database;
  readonly #env: Env;
  readonly #copy: string;
  /** Records of the file that was read last as a whole. */
  #whole: { name: string; records: KeptRecord[] } | undefined;

  /** Throws the errors of opening the archive. */
  constructor(folder: string, env: Env) {
    this.archive = Archive.look(folder);
    this.#db = openWords(folder, false);
    this.#env = env;
    this.#copy = join(folder, "copies", `shown-${process.pid}`);
  }

  /** The newest first. */
  conversations({ agent, folder }: SearchFilter = {}): KeptConversation[] {
    const rows = this.#db.all<ConversationRow & { messages: number; files: string }>(
      `SELECT c.*, sum(r.role < 5 AND r.is_replaced = 0) AS messages, json_group_array(DISTINCT r.file) AS files
       FROM conversations c JOIN records r ON r.conversation = c.id
       WHERE (?1 IS NULL OR c.agent = ?1)
         AND ${IN_FOLDER("?2")}
       GROUP BY c.id ORDER BY c.last_at DESC`,
      agent ?? null,
      folder ?? null,
    );
    return rows.map(({ files, ...row }) => ({
      ...row,
      isGone: (JSON.parse(files) as number[]).every((file) => this.archive.file(file).state === "gone"),
    }));
  }

  /** By its number, its id at the program, or the beginning of that. */
  find(name: string): ConversationRow[] {
    const exact = this.#db.all<ConversationRow>(
      "SELECT * FROM conversations WHERE native = ? OR CAST(id AS TEXT) = ?",
      name,
      name,
    );
    if (exact.length > 0) return exact;
    return this.#db.all<ConversationRow>(
      "SELECT * FROM conversations WHERE substr(native, 1, length(?1)) = ?1 ORDER BY id LIMIT 20",
      name,
    );
  }

  /** Files that have records of a conversation, those with most of them first. */
  filesOf(conversation: number): number[] {
    const rows = this.#db.all<{ file: number }>(
      "SELECT file FROM records WHERE conversation = ? GROUP BY file ORDER BY count(*) DESC",
      conversation,
    );
    return rows.map(({ file }) => file);
  }

  /** Numbers of the conversations that a file has records of. */
  conversationsOf(file: number): number[] {
    const rows = this.#db.all<{ conversation: number }>(
      "SELECT DISTINCT conversation FROM records WHERE file = ?",
      file,
    );
    return rows.map(({ conversation }) => conversation);
  }

  children(native: string): ConversationRow[] {
    return this.#db.all<ConversationRow>(
      "SELECT * FROM conversations WHERE parent = ? ORDER BY first_at",
      native,
    );
  }

  conversation(id: number): ConversationRow | undefined {
    return this.#db.get<ConversationRow>("SELECT * FROM conversations WHERE id = ?", id);
  }

  /** Folders of the conversations, and how many each has. */
  folders(): { folder: string; conversations: number }[] {
    return this.#db.all(
      "SELECT folder, count(*) AS conversations FROM conversations WHERE folder IS NOT NULL GROUP BY folder ORDER BY folder",
    );
  }

  /** The records of a conversation, in order of time. `isWhole`: also what a later record replaced. */
  *records(conversation: number, { isWhole = false } = {}): Generator<ShownRecord> {
    for (const row of this.rows(conversation, { isWhole })) yield this.record(row);
  }

  /** The same without their words. */
  rows(conversation: number, { isWhole = false } = {}): RecordRow[] {
    return this.#db.all<RecordRow>(
      "SELECT * FROM records WHERE conversation = ? AND (? OR is_replaced = 0) ORDER BY at, num",
      conversation,
      isWhole ? 1 : 0,
    );
  }

  record(row: RecordRow): ShownRecord {
    const file = this.archive.file(row.file);
    const record = this.#read(row, file.path, file.agent);
    return {
      ...record,
      role: ROLES[row.role] ?? record.role,
      num: row.num,
      path: file.path,
      isReplaced: row.is_replaced === 1,
      ...(row.at !== null && { at: row.at }),
    };
  }

  #read(row: RecordRow, path: string, agent: string): KeptRecord {
    const format = takenAt(agent, path, this.#env).format ?? "json";
    if (isByLine(path, format))
      return recordOfLine(
        this.archive.bytes(row.file, row.version, row.offset, row.offset + row.length),
        format,
      );
    const name = `${row.file} ${row.version}`;
    if (this.#whole?.name !== name) {
      const bytes = this.archive.bytes(row.file, row.version);
      this.#whole = { name, records: recordsOfFile(path, bytes, format, this.#copy) };
    }
    return this.#whole.records[row.seq] ?? { role: "data", parts: [], rest: "" };
  }

  search(query: string, filter: SearchFilter): KeptHit[] {
    return searchWords(this.#db, query, filter).map(({ record, conversation }) => {
      const read = this.record(record);
      return {
        num: record.num,
        conversation,
        role: read.role,
        at: record.at,
        snippet: snippetOf(wordsOf(read), query),
      };
    });
  }

  [Symbol.dispose](): void {
    this.close();
  }

  close(): void {
    this.archive.close();
    this.#db.close();
  }
}
