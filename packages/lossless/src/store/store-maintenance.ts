/** Copies and sizes of the database. */
import { chmodSync, rmSync, statSync } from "node:fs";
import { backup as copyDatabase } from "node:sqlite";
import { ensurePrivateDir } from "@pagurus/core/platform/atomic-files";
import { dirname } from "node:path";
import type { Database } from "@pagurus/core/data/sqlite";
import { asStoreFailure } from "./session-values.ts";
import type { SizeReport } from "./store-types.ts";

/** Copies the database page by page while others may write; yields to other work in between. */
export async function backup(db: Database, target: string): Promise<void> {
  ensurePrivateDir(dirname(target));
  try {
    await copyDatabase(db.raw, target, { rate: 256 });
    chmodSync(target, 0o600);
  } catch (error) {
    rmSync(target, { force: true });
    throw asStoreFailure(target, error);
  }
}

function fileBytes(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

export function walBytes(file: string): number {
  return fileBytes(`${file}-wal`);
}

function pragma(db: Database, name: string): number {
  const row = db.get<Record<string, number>>(`PRAGMA ${name}`);
  return row?.[name] ?? 0;
}

export function sizeReport(db: Database, file: string): SizeReport {
  const count = (sql: string): number => db.get<{ n: number }>(sql)?.n ?? 0;
  return {
    file: fileBytes(file),
    wal: walBytes(file),
    free: pragma(db, "freelist_count") * pragma(db, "page_size"),
    entries: count("SELECT count(*) AS n FROM entries"),
    texts: count("SELECT count(*) AS n FROM texts"),
    textBytes: count("SELECT coalesce(sum(octet_length(body)), 0) AS n FROM texts"),
    payloadBytes: count("SELECT coalesce(sum(size), 0) AS n FROM payloads"),
  };
}
