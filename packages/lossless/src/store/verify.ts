/** Verifies the database: the file itself, the reference counts, the index against the texts. */
import { hash } from "node:crypto";
import { indexSome } from "./search/backlog.ts";
import { hashOf, type Form } from "./entries/cutting.ts";
import type { Database } from "@pagurus/core/data/sqlite";
import { references } from "./entries/template.ts";
import { nodePlace } from "./node-rows.ts";
import type { VerifyReport } from "./store-types.ts";

function count(db: Database, sql: string): number {
  return db.get<{ n: number }>(sql)?.n ?? 0;
}

/** Queries that count unexpected or missing rows. */
const CHECKS: readonly { sql: string; problem: string }[] = [
  {
    sql: "SELECT count(*) AS n FROM texts WHERE NOT EXISTS (SELECT 1 FROM uses WHERE text = texts.num)",
    problem: "texts that nothing uses",
  },
  {
    sql: "SELECT count(*) AS n FROM uses WHERE NOT EXISTS (SELECT 1 FROM texts WHERE num = uses.text)",
    problem: "uses of texts that are missing",
  },
  {
    sql: "SELECT count(*) AS n FROM vectors WHERE NOT EXISTS (SELECT 1 FROM texts WHERE num = vectors.text)",
    problem: "vectors of texts that are missing",
  },
  {
    sql: "SELECT count(*) AS n FROM payloads WHERE NOT EXISTS (SELECT 1 FROM payload_uses WHERE payload = payloads.num)",
    problem: "payloads that nothing uses",
  },
  {
    sql: "SELECT count(*) AS n FROM payload_uses WHERE NOT EXISTS (SELECT 1 FROM payloads WHERE num = payload_uses.payload)",
    problem: "uses of payloads that are missing",
  },
  {
    sql: "SELECT count(*) AS n FROM entries WHERE NOT EXISTS (SELECT 1 FROM segments WHERE num = entries.num / 4194304 AND length > entries.num % 4194304)",
    problem: "entries outside of every chain",
  },
  {
    sql: "SELECT count(*) AS n FROM segments WHERE length <> (SELECT count(*) FROM entries WHERE num BETWEEN segments.num * 4194304 AND segments.num * 4194304 + 4194303)",
    problem: "chains with a wrong number of entries",
  },
  {
    sql: "SELECT count(*) AS n FROM sessions WHERE leaf IS NOT NULL AND NOT EXISTS (SELECT 1 FROM entries WHERE num = sessions.leaf)",
    problem: "sessions whose last entry is missing",
  },
];

function checkWordIndex(db: Database): string[] {
  try {
    db.raw.exec("INSERT INTO words (words, rank) VALUES ('integrity-check', 1)");
    return [];
  } catch {
    return ["The index of words does not agree with the texts."];
  }
}

/** Finds texts and payloads that differ from what was stored: SQLite does not notice a wrong byte inside them. */
function checkContents(db: Database): string[] {
  let changed = 0;
  for (const row of db.prepare("SELECT hash, body FROM texts").iterate())
    if (hashOf(row["body"] as string) !== row["hash"]) changed += 1;
  for (const row of db.prepare("SELECT hash, data FROM payloads").iterate())
    if (hash("sha256", row["data"] as Uint8Array) !== row["hash"]) changed += 1;
  return changed === 0 ? [] : [`${changed} texts or payloads are not what was stored.`];
}

function isTextForm(form: Form): boolean {
  return form === "t" || form === "j";
}

/** Checks the references of every template against the rows of `uses`. */
function checkTemplates(db: Database): string[] {
  let missing = 0;
  let counted = 0;
  const has = (form: Form, num: number, place: number): boolean =>
    isTextForm(form)
      ? db.get("SELECT 1 FROM uses WHERE text = ? AND place = ?", num, place) !== undefined
      : db.get("SELECT 1 FROM payload_uses WHERE payload = ? AND place = ?", num, place) !== undefined;
  const rows = [
    db.prepare("SELECT num, body FROM entries").iterate(),
    db.prepare("SELECT num, body, 1 AS node FROM nodes").iterate(),
  ];
  for (const set of rows) {
    for (const row of set as Iterable<{ num: number; body: string; node?: number }>) {
      const place = row.node === undefined ? row.num : nodePlace(row.num);
      // A text that occurs twice in an entry is one use, also as the text of a part and as arguments.
      const different = new Map(
        references(row.body).map((found) => [`${isTextForm(found.form)} ${found.num}`, found]),
      );
      for (const { form, num } of different.values()) {
        if (has(form, num, place)) counted += 1;
        else missing += 1;
      }
    }
  }
  const uses = count(db, "SELECT (SELECT count(*) FROM uses) + (SELECT count(*) FROM payload_uses) AS n");
  return [
    ...(missing === 0 ? [] : [`${missing} references of entries are not counted.`]),
    ...(counted === uses ? [] : [`${uses - counted} counted references are of no entry.`]),
  ];
}

function checkFile(db: Database): string[] {
  return db
    .all<{ integrity_check: string }>("PRAGMA integrity_check(20)")
    .map((row) => row.integrity_check)
    .filter((line) => line !== "ok")
    .map((line) => `SQLite: ${line}.`);
}

/** Runs all checks on one connection. Throws SQLite's error when the file cannot be read at all. */
export function verifyDatabase(db: Database): VerifyReport {
  while (indexSome(db, 200));
  const problems = [...checkFile(db)];
  for (const { sql, problem } of CHECKS) {
    const found = count(db, sql);
    if (found > 0) problems.push(`There are ${found} ${problem}.`);
  }
  problems.push(...checkContents(db), ...checkTemplates(db), ...checkWordIndex(db));
  return {
    ok: problems.length === 0,
    problems,
    counts: {
      sessions: count(db, "SELECT count(*) AS n FROM sessions"),
      entries: count(db, "SELECT count(*) AS n FROM entries"),
      texts: count(db, "SELECT count(*) AS n FROM texts"),
      payloads: count(db, "SELECT count(*) AS n FROM payloads"),
      nodes: count(db, "SELECT count(*) AS n FROM nodes"),
    },
  };
}
