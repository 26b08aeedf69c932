/** Records of another program's database: every row of every table; columns that are JSON are read as such. */
import { rmSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { zstdDecompressSync } from "node:zlib";
import { asString, filledString, parseJson, recordOf, type Fields } from "@pagurus/core/data/record-fields";
import { finished } from "./finished-record.ts";
import type { KeptRecord } from "./kept-record.ts";
import { LINE_FORMATS, type ReadLine } from "./line-formats.ts";

const ZSTD_MAGIC = 0xfd2fb528;
/** Tables whose rows others refer to. */
const FIRST = ["session", "sessions", "threads", "message", "messages"];

/** The message that a row belongs to. */
interface Owner {
  conversation: string | undefined;
  role: ReadLine["role"];
}

/** `copy`: a path where the database may be written. Throws the errors of the system and of SQLite. */
export function databaseRecords(bytes: Buffer, copy: string): KeptRecord[] {
  writeFileSync(copy, bytes, { mode: 0o600 });
  const db = new DatabaseSync(copy, { readOnly: true });
  try {
    const tables = db
      .prepare(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND sql NOT LIKE '%VIRTUAL%'",
      )
      .all()
      .map((row) => String(row["name"]));
    const owners = new Map<string, Owner>();
    const order = [
      ...FIRST.filter((name) => tables.includes(name)),
      ...tables.filter((name) => !FIRST.includes(name)),
    ];
    return order.flatMap((table) => tableRecords(db, table, owners));
  } finally {
    db.close();
    rmSync(copy, { force: true });
  }
}

function tableRecords(db: DatabaseSync, table: string, owners: Map<string, Owner>): KeptRecord[] {
  const records: KeptRecord[] = [];
  for (const row of db.prepare(`SELECT * FROM "${table.replaceAll('"', '""')}"`).iterate()) {
    const record = rowRecord(table, row as Fields, owners);
    if (record.parts.length > 0 || record.rest !== "" || record.folder !== undefined) records.push(record);
  }
  return records;
}

function rowRecord(table: string, row: Fields, owners: Map<string, Owner>): KeptRecord {
  const columns = Object.fromEntries(Object.entries(row).map(([key, value]) => [key, columnValue(value)]));
  const data = { ...columns, ...recordOf(columns["data"]), ...recordOf(columns["value"]) } as Fields;
  const id = asString(row["id"]) ?? asString(row["key"]) ?? JSON.stringify(Object.values(row).slice(0, 2));
  const owner = owners.get(asString(row["message_id"]) ?? "");
  const isHead = /^(?:sessions?|threads?|conversations?)$/.test(table);
  const conversation =
    filledString(row["session_id"] ?? row["sessionID"] ?? row["conversation_id"]) ??
    owner?.conversation ??
    (isHead ? id : undefined);
  const read = rowMeaning(data, owner);
  if (conversation !== undefined) owners.set(id, { conversation, role: read.role });
  const time = recordOf(data["time"]);
  const record = finished(columns, {
    ...read,
    at:
      time["created"] ??
      time["start"] ??
      row["time_created"] ??
      row["created_at"] ??
      row["created_timestamp"] ??
      row["timestamp"] ??
      row["updated_at"],
    conversation,
    parent: row["parent_id"],
    folder: row["directory"] ?? row["working_dir"] ?? row["cwd"],
    title: row["title"] ?? row["summary"],
  });
  return { ...record, key: `${table} ${id}` };
}

function rowMeaning(data: Fields, owner: Owner | undefined): ReadLine {
  const content =
    data["content"] ?? data["content_json"] ?? data["parts"] ?? data["messages"] ?? data["text"];
  const role = LINE_FORMATS["json"]?.({ role: data["role"], content: content ?? null }).role ?? "data";
  // A part of a message.
  if (owner && typeof data["type"] === "string")
    return { role: owner.role, contents: [data["data"] ?? data] };
  return { role, contents: content === undefined ? [] : [content] };
}

function columnValue(value: unknown): unknown {
  if (value instanceof Uint8Array) return columnValue(textOf(Buffer.from(value)));
  if (typeof value !== "string" || !/^\s*[[{]/.test(value)) return value;
  return parseJson(value) ?? value;
}

function textOf(bytes: Buffer): string {
  const isPacked = bytes.length > 4 && bytes.readUInt32LE(0) === ZSTD_MAGIC;
  return (isPacked ? zstdDecompressSync(bytes) : bytes).toString("utf8");
}
