/**
 * OpenClaw's database of an agent (`agent/openclaw-agent.sqlite`), by its column names: `session_windows` and `session_nodes` (until 2026.8
 * `sessions` and `session_entries`) list the conversations, each row of `transcript_events` has a line of the former JSON lines file, since
 * 2026.9.6 possibly compressed.
 */
import type { DatabaseSync } from "node:sqlite";
import { zstdDecompressSync } from "node:zlib";
import { isPagurusError, PagurusError } from "@pagurus/contract/errors";
import { asRecord, type Fields, filledString } from "@pagurus/core/data/record-fields";
import { numberOf, parseFields } from "../../sessions/foreign-fields.ts";
import type { SourceLine } from "../../sessions/source-lines.ts";
import { openForReading } from "../../sessions/sqlite-source.ts";
import { defined } from "@pagurus/core/data/defined";

export interface StoredConversation {
  sessionId: string;
  sessionKey: string | undefined;
  /** The key's current conversation, not an earlier generation. */
  current: boolean;
  name: string | undefined;
}

/** Tables of archived conversations: unused for long, and by a reset or deletion. */
const ARCHIVES = ["session_transcript_cold_archives", "session_transcript_archives"] as const;

/** Most bytes of one event, or one archive, uncompressed. */
const LARGEST = 1024 * 1024 * 1024;

export class AgentDatabase {
  readonly path: string;
  /** Notice on a database that can be read in part; known with its conversations. */
  damage: string | undefined;
  readonly #db: DatabaseSync;
  readonly #columns = new Map<string, ReadonlySet<string>>();

  /** Throws `import_invalid` for a file that is no such database. */
  constructor(path: string) {
    this.path = path;
    try {
      this.#db = openForReading(path);
    } catch (error) {
      throw invalid(path, "it cannot be opened as a database", error);
    }
    try {
      const tables = this.#db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
      for (const { name } of tables) {
        const rows = this.#db.prepare("SELECT name FROM pragma_table_info(?)").all(String(name));
        this.#columns.set(String(name), new Set(rows.map((row) => String(row["name"]))));
      }
      // One transaction: all reads see the same state.
      this.#db.exec("BEGIN");
    } catch (error) {
      this.#db.close();
      throw invalid(path, "it cannot be read as a database", error);
    }
    if (this.#has("transcript_events", "event_json")) return;
    this.#db.close();
    throw invalid(path, "it is a database without the table transcript_events, of a version not known here");
  }

  /** Those with lines, oldest first. */
  conversations(): StoredConversation[] {
    const windows = this.#first(["session_windows", "sessions"], "session_id");
    const nodes = this.#nodes();
    const keys = new Map<string, Fields>();
    if (windows !== undefined)
      for (const row of this.#rows(`SELECT * FROM ${windows}`)) keys.set(String(row["session_id"]), row);
    const ids = this.#ids();
    for (const row of this.#archives()) {
      const id = String(row["session_id"]);
      ids.push(id);
      // Its window is missing when a reset archived it.
      if (!keys.has(id)) keys.set(id, row);
    }
    return [...new Set(ids)].map((sessionId) => {
      const window = keys.get(sessionId);
      const node = nodes.get(sessionId);
      return {
        sessionId,
        sessionKey: node?.key ?? filledString(window?.["session_key"]),
        current: node !== undefined,
        name: node?.name ?? filledString(window?.["display_name"]),
      };
    });
  }

  /** A damaged page affects only the conversations on it: the index alone has the ids, too. */
  #ids(): string[] {
    const ids = (sql: string): string[] => this.#rows(sql).map(({ id }) => String(id));
    try {
      return ids(
        "SELECT session_id AS id FROM transcript_events GROUP BY session_id ORDER BY min(created_at), session_id",
      );
    } catch {
      const found = ids("SELECT DISTINCT session_id AS id FROM transcript_events ORDER BY session_id");
      this.damage = `${this.path} is damaged; its conversations are read one by one.`;
      return found;
    }
  }

  /** Lines of a conversation. `readFile` reads an archive next to the database. */
  *lines(sessionId: string, readFile: (name: string) => Buffer): Generator<SourceLine> {
    const archived = this.#archived(sessionId, readFile);
    let number = 0;
    for (const text of archived?.split("\n") ?? []) {
      number += 1;
      if (text.trim() !== "") yield lineOf(number, Buffer.from(text));
    }
    const packed = this.#has("transcript_events", "event_zstd") ? ", event_zstd" : "";
    const rows = this.#each(
      `SELECT event_json${packed} FROM transcript_events WHERE session_id = ? ORDER BY seq`,
      sessionId,
    );
    for (const row of rows) {
      number += 1;
      const { event_json: json, event_zstd: zstd } = row;
      if (typeof json === "string") yield lineOf(number, Buffer.from(json));
      else yield unpacked(number, zstd);
    }
  }

  close(): void {
    this.#db.close();
  }

  /** Keys and names by the id of the current generation. */
  #nodes(): Map<string, { key: string; name: string | undefined }> {
    const table = this.#first(["session_nodes", "session_entries"], "session_key");
    const nodes = new Map<string, { key: string; name: string | undefined }>();
    if (table === undefined) return nodes;
    for (const row of this.#rows(`SELECT * FROM ${table}`)) {
      const id = filledString(row["current_session_id"]) ?? filledString(row["session_id"]);
      const key = filledString(row["session_key"]);
      if (id === undefined || key === undefined) continue;
      const entry = parseFields(row["entry_json"]) ?? {};
      const name = filledString(row["label"]) ?? filledString(row["display_name"]) ?? nameOf(entry);
      nodes.set(id, { key, name });
    }
    return nodes;
  }

  /** Number of conversations archived by deletion. */
  get deleted(): number {
    const [count] = this.#has(ARCHIVES[1], "reason")
      ? this.#rows(`SELECT count(*) AS n FROM ${ARCHIVES[1]} WHERE reason = 'deleted'`)
      : [];
    return numberOf(count?.["n"]) ?? 0;
  }

  /** Files next to the database with the content of its archives, or in their place. */
  get archiveNames(): string[] {
    return ARCHIVES.filter((table) => this.#has(table, "archive_name")).flatMap((table) =>
      this.#rows(`SELECT archive_name AS name FROM ${table}`).map(({ name }) => String(name)),
    );
  }

  /** Rows of conversations that were moved out of the events, without their content. */
  #archives(): Fields[] {
    return ARCHIVES.flatMap((table) => {
      if (!this.#has(table, "archive_blob")) return [];
      const key = this.#has(table, "session_key") ? ", session_key" : "";
      return this.#rows(`SELECT session_id${key} FROM ${table} ${this.#notDeleted(table, "WHERE")}`);
    });
  }

  #notDeleted(table: string, word: "WHERE" | "AND"): string {
    return this.#has(table, "reason") ? `${word} reason <> 'deleted'` : "";
  }

  #archived(sessionId: string, readFile: (name: string) => Buffer): string | undefined {
    for (const table of ARCHIVES) {
      if (!this.#has(table, "archive_blob")) continue;
      // Of several the newest is complete.
      const row = this.#rows(
        `SELECT * FROM ${table} WHERE session_id = ? ${this.#notDeleted(table, "AND")} ORDER BY rowid`,
        sessionId,
      ).at(-1);
      if (!row) continue;
      const blob = row["archive_blob"];
      const name = filledString(row["archive_name"]) ?? "";
      try {
        return inflated(blob instanceof Uint8Array ? Buffer.from(blob) : readFile(name)).toString("utf8");
      } catch (error) {
        throw invalid(this.path, `its archive ${JSON.stringify(name)} cannot be read`, error);
      }
    }
    return undefined;
  }

  #has(table: string, column: string): boolean {
    return this.#columns.get(table)?.has(column) === true;
  }

  #first(tables: string[], column: string): string | undefined {
    return tables.find((table) => this.#has(table, column));
  }

  #rows(sql: string, ...values: string[]): Fields[] {
    return [...this.#each(sql, ...values)];
  }

  *#each(sql: string, ...values: string[]): Generator<Fields> {
    try {
      yield* this.#db.prepare(sql).iterate(...values) as Iterable<Fields>;
    } catch (error) {
      if (isPagurusError(error)) throw error;
      throw invalid(this.path, "a part of it cannot be read", error);
    }
  }
}

/** The display name of a conversation. */
export function nameOf(entry: Fields): string | undefined {
  return (
    filledString(entry["label"]) ??
    filledString(entry["displayName"]) ??
    filledString(asRecord(entry["origin"])?.["label"])
  );
}

/** Time of its last use, ms. */
export function usedAt(entry: Fields): number {
  return numberOf(entry["updatedAt"]) ?? 0;
}

export function inflated(bytes: Buffer): Buffer {
  return bytes.length >= 4 && bytes.readUInt32LE(0) === 0xfd2fb528
    ? zstdDecompressSync(bytes, { maxOutputLength: LARGEST })
    : bytes;
}

function unpacked(number: number, packed: unknown): SourceLine {
  if (!(packed instanceof Uint8Array))
    return { number, bytes: Buffer.alloc(0), problem: "it has no content that is known here" };
  try {
    return lineOf(number, zstdDecompressSync(packed, { maxOutputLength: LARGEST }));
  } catch {
    // Reported with the line's number.
    return { number, bytes: Buffer.from(packed), problem: "it cannot be decompressed" };
  }
}

function lineOf(number: number, bytes: Buffer): SourceLine {
  const value = parseFields(bytes.toString("utf8"));
  return value ? { number, bytes, value } : { number, bytes, problem: "it is no JSON object" };
}

function invalid(path: string, why: string, cause?: unknown): PagurusError {
  return new PagurusError("import_invalid", `${path} cannot be read as a database of OpenClaw: ${why}.`, {
    ...defined({ cause }),
    details: { file: path },
  });
}
