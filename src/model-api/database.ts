/** The model API's own database in the home: prefixes of conversations, stored responses, conversations of the Responses API. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { openSqlite, type Database } from "../data/sqlite.ts";

/** Throws SQLite's errors. */
export function openModelApiDatabase(home: string): Database {
  mkdirSync(home, { recursive: true, mode: 0o700 });
  return openSqlite(join(home, "model-api.sqlite"));
}
