/** The model API's own database in the home: prefixes of conversations, stored responses, conversations of the Responses API. */
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { openSqlite, type Database } from "@pagurus/core/data/sqlite";

const DATABASE_FILE = "model-api.sqlite";

/** Throws SQLite's errors. */
export function openModelApiDatabase(home: string): Database {
  mkdirSync(home, { recursive: true, mode: 0o700 });
  return openSqlite(join(home, DATABASE_FILE));
}

/** Whether anything of a client is stored. Creates no database. Throws SQLite's errors. */
export function hasStoredConversations(home: string): boolean {
  if (!existsSync(join(home, DATABASE_FILE))) return false;
  const db = openModelApiDatabase(home);
  try {
    const tables = db.all<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'");
    return tables.some(({ name }) => db.get(`SELECT 1 FROM "${name}" LIMIT 1`) !== undefined);
  } finally {
    db.close();
  }
}
