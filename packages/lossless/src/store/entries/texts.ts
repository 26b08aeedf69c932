/** Texts and payloads: stored once, found by hash, indexed (`backlog.ts`), and deleted with their last use. */
import { leaveFrom, unindexedFrom } from "../search/backlog.ts";
import { hash as digest } from "node:crypto";
import { hashOf, type Cutting, type PayloadPart, type TextPart } from "./cutting.ts";
import { StoreDamage } from "../damage.ts";
import type { Database } from "@pagurus/core/data/sqlite";
import { references, templateOf, type Source } from "./template.ts";

const UNINDEX =
  "INSERT INTO words (words, rowid, body) SELECT 'delete', num, body FROM indexed_texts WHERE num = ?";
const INDEX = "INSERT INTO words (rowid, body) SELECT num, body FROM indexed_texts WHERE num = ?";

/** Index word for all texts of a tree; its private-use character prevents collisions with words of texts. */
export function treeWord(tree: number): string {
  return `\ue000t${tree}`;
}

export interface Spot {
  /** Place of an entry, or the negative number of a node. */
  place: number;
  tree: number;
}

/**
 * Stores the parts of entries. Lives for one transaction, since it caches what the transaction has done. New texts are
 * indexed later (`backlog.ts`).
 */
export class Keeper {
  readonly #db: Database;
  #unindexed: number;

  constructor(db: Database) {
    this.#db = db;
    this.#unindexed = unindexedFrom(db);
  }

  /** Stores the parts of a cutting with their use at a spot, and returns the template. */
  keep(cutting: Cutting, spot: Spot): string {
    return templateOf(cutting, (part) =>
      "text" in part ? this.#text(part, spot) : this.#payload(part, spot),
    );
  }

  #text({ text, hash }: TextPart, { place, tree }: Spot): number {
    const known = this.#known(hash, text);
    if (known === undefined) {
      const added = this.#db.prepare("INSERT INTO texts (hash, body) VALUES (?, ?)").run(hash, text);
      const num = Number(added.lastInsertRowid);
      this.#use(num, tree, place);
      if (num < this.#unindexed) {
        leaveFrom(this.#db, num);
        this.#unindexed = num;
      }
      return num;
    }
    const isStale =
      known < this.#unindexed &&
      this.#db.get("SELECT 1 FROM uses WHERE text = ? AND tree = ? LIMIT 1", known, tree) === undefined;
    if (isStale) this.#db.run(UNINDEX, known);
    this.#use(known, tree, place);
    if (isStale) this.#db.run(INDEX, known);
    return known;
  }

  /** Number of a stored text; equal hashes are distinguished by comparing the texts. */
  #known(hash: number, text: string): number | undefined {
    const first = this.#db.get<{ num: number; body: string }>(
      "SELECT num, body FROM texts WHERE hash = ?",
      hash,
    );
    if (first === undefined || first.body === text) return first?.num;
    return this.#db.get<{ num: number }>("SELECT num FROM texts WHERE hash = ? AND body = ?", hash, text)
      ?.num;
  }

  #use(text: number, tree: number, place: number): void {
    this.#db.run("INSERT OR IGNORE INTO uses (text, tree, place) VALUES (?, ?, ?)", text, tree, place);
  }

  #payload({ hash, data, mime }: PayloadPart, { place }: Spot): number {
    let num = this.#db.get<{ num: number }>("SELECT num FROM payloads WHERE hash = ?", hash)?.num;
    num ??= Number(
      this.#db
        .prepare("INSERT INTO payloads (hash, size, mime, data) VALUES (?, ?, ?, ?)")
        .run(hash, data.byteLength, mime, data).lastInsertRowid,
    );
    this.#db.run("INSERT OR IGNORE INTO payload_uses (payload, place) VALUES (?, ?)", num, place);
    return num;
  }
}

/** Removes the uses at a spot, and deletes unused texts and their index words. Call in a transaction. */
export function release(db: Database, template: string, spot: Spot): void {
  for (const { form, num } of references(template)) {
    if (form === "t" || form === "j") releaseText(db, num, spot);
    else releasePayload(db, num, spot.place);
  }
}

function releaseText(db: Database, num: number, { place, tree }: Spot): void {
  const use = db.get("SELECT 1 FROM uses WHERE text = ? AND tree = ? AND place = ?", num, tree, place);
  // A second reference to it in the same template.
  if (use === undefined) return;
  const others = db.all<{ place: number }>(
    "SELECT place FROM uses WHERE text = ? AND tree = ? LIMIT 2",
    num,
    tree,
  );
  const isLast = others.length === 1;
  const isIndexed = num < unindexedFrom(db);
  if (isLast && isIndexed) db.run(UNINDEX, num);
  db.run("DELETE FROM uses WHERE text = ? AND tree = ? AND place = ?", num, tree, place);
  if (!isLast) return;
  if (db.get("SELECT 1 FROM uses WHERE text = ? LIMIT 1", num)) {
    if (isIndexed) db.run(INDEX, num);
    return;
  }
  db.run("DELETE FROM texts WHERE num = ?", num);
  // The number may be used again for another text.
  db.run("DELETE FROM vectors WHERE text = ?", num);
}

function releasePayload(db: Database, num: number, place: number): void {
  db.run("DELETE FROM payload_uses WHERE payload = ? AND place = ?", num, place);
  if (db.get("SELECT 1 FROM payload_uses WHERE payload = ? LIMIT 1", num)) return;
  db.run("DELETE FROM payloads WHERE num = ?", num);
}

/** Source that reads parts one by one and checks their hashes. Throws `StoreDamage`. */
export function sourceOf(db: Database): Source {
  return {
    text: (num) => textAt(db, num) ?? missingText("texts", num),
    payload: (num) => payloadAt(db, num),
  };
}

interface TextRow {
  num: number;
  hash: number;
  body: string;
}

/** Reads a text and checks its hash; undefined when there is no such row. Throws `StoreDamage`. */
export function textAt(db: Database, num: number): string | undefined {
  const row = db.get<TextRow>("SELECT num, hash, body FROM texts WHERE num = ?", num);
  return row && checkedText(row);
}

function checkedText({ num, hash, body }: TextRow): string {
  if (hashOf(body) === hash) return body;
  throw new StoreDamage(`The text ${num} is not what was stored.`, { table: "texts", num });
}

function payloadAt(db: Database, num: number): Uint8Array {
  const row = db.get<{ hash: string; data: Uint8Array }>(
    "SELECT hash, data FROM payloads WHERE num = ?",
    num,
  );
  if (!row) return missingText("payloads", num);
  if (digest("sha256", row.data) === row.hash) return row.data;
  throw new StoreDamage(`The payload ${num} is not what was stored.`, { table: "payloads", num });
}

/** Throws `StoreDamage` for a reference to a missing row. */
function missingText(table: "texts" | "payloads", num: number): never {
  throw new StoreDamage(`The row ${num} of ${table} is missing.`, { table, num });
}

/** Numbers this close are read as one range: an extra row costs less than a separate read. */
const NEAR_PLACES = 4;

/** As `sourceOf`, but reads neighbouring texts of these templates together. */
export function sourceFor(db: Database, templates: readonly string[]): Source {
  const wanted = new Set<number>();
  for (const template of templates)
    for (const { form, num } of references(template)) if (form === "t" || form === "j") wanted.add(num);
  const single = sourceOf(db);
  const texts = new Map<number, string>();
  const sorted = Float64Array.from(wanted).sort();
  for (let start = 0, end = 0; start < sorted.length; start = end) {
    end = start + 1;
    while (end < sorted.length && (sorted[end] ?? 0) - (sorted[end - 1] ?? 0) <= NEAR_PLACES) end += 1;
    if (end - start === 1) continue;
    const rows = db.arrays<[num: number, hash: number, body: string]>(
      "SELECT num, hash, body FROM texts WHERE num BETWEEN ? AND ?",
      sorted[start] ?? 0,
      sorted[end - 1] ?? 0,
    );
    for (const [num, hash, body] of rows)
      if (wanted.has(num)) texts.set(num, checkedText({ num, hash, body }));
  }
  return { text: (num) => texts.get(num) ?? single.text(num), payload: (num) => single.payload(num) };
}
