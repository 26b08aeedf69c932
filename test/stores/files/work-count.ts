/** Counts of what a piece of work of a session store does, which are the same on any machine: statements, rows, names, files. */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { StatementSync } from "node:sqlite";
import { mock } from "node:test";
import type { Database } from "../../../packages/core/src/data/sqlite.ts";

export interface WorkCount {
  /** Statements that were run. */
  statements: number;
  /** Rows that they returned. */
  rows: number;
  /** Names of the folders that were read. */
  names: number;
  /** Files that were looked at or opened. */
  files: number;
  /** Steps of plans that read a whole table, or a whole index of one. */
  scans: string[];
}

type Methods = Record<string, (this: unknown, ...args: unknown[]) => unknown>;

/** `open`: a connection of its own with the database whose statements are run. */
export function countWork(open: () => Database, work: () => void): WorkCount {
  const count: WorkCount = { statements: 0, rows: 0, names: 0, files: 0, scans: [] };
  const texts = new Set<string>();
  const restores: (() => void)[] = [];
  const follow = (owner: object, name: string, seen: (self: unknown, result: unknown) => void): void => {
    const methods = owner as Methods;
    const call = methods[name];
    const { mock: followed } = mock.method(methods, name, function (this: unknown, ...args: unknown[]) {
      const result = call?.apply(this, args);
      seen(this, result);
      return result;
    });
    restores.push(() => followed.restore());
  };
  const ran = (self: unknown, rows: number): void => {
    count.statements += 1;
    count.rows += rows;
    texts.add((self as StatementSync).sourceSQL);
  };
  follow(StatementSync.prototype, "run", (self) => ran(self, 0));
  follow(StatementSync.prototype, "get", (self, row) => ran(self, row === undefined ? 0 : 1));
  follow(StatementSync.prototype, "all", (self, rows) => ran(self, (rows as unknown[]).length));
  follow(fs, "readdirSync", (_, names) => void (count.names += (names as unknown[]).length));
  for (const name of ["statSync", "openSync", "existsSync", "readFileSync"])
    follow(fs, name, () => void (count.files += 1));
  syncBuiltinESMExports();
  try {
    work();
  } finally {
    for (const restore of restores) restore();
    syncBuiltinESMExports();
  }
  return { ...count, scans: scansOf(open(), [...texts]) };
}

function scansOf(db: Database, texts: readonly string[]): string[] {
  try {
    const steps = texts
      .filter((text) => /^\s*(?:select|insert|update|delete)\b/i.test(text))
      .flatMap((text) =>
        db.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${text}`).map(({ detail }) => `${detail}: ${text}`),
      );
    // The full text index searches by itself what its plan calls a scan; a database has few tables.
    return steps.filter(
      (step) => step.startsWith("SCAN") && !/VIRTUAL TABLE|CONSTANT ROW|sqlite_master/.test(step),
    );
  } finally {
    db.close();
  }
}
