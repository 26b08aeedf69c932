/** Texts and payloads: kept once, found by hash, indexed, and gone with their last use. */
import { hash } from "node:crypto";
import { leaveFrom, unindexedFrom } from "./backlog.ts";
import type { Db } from "./db.ts";
import { indexedText } from "./scripts.ts";
import { references, type Keeper, type Source } from "./template.ts";

/** 48 bits: a number in JavaScript. Equal hashes are told apart by comparing the texts. */
function hashOf(text: string): number {
  return hash("sha256", text, "buffer").readUIntBE(0, 6);
}

const UNINDEX =
  "INSERT INTO words (words, rowid, body) SELECT 'delete', num, body FROM indexed_texts WHERE num = ?";
const INDEX = "INSERT INTO words (rowid, body) SELECT num, body FROM indexed_texts WHERE num = ?";

/** The word that the texts of a tree are indexed with; a character for private use keeps it from being one of theirs. */
export function treeWord(tree: number): string {
  return `\ue000t${tree}`;
}

export interface Spot {
  /** Of an entry, or the negative number of a node. */
  place: number;
  tree: number;
}

export type Indexing = "now" | "later";

/**
 * Keeps what a template refers to, as used at a spot. Texts behind one that waits to be indexed wait too. Call in a
 * transaction.
 */
export function keeperAt(db: Db, { place, tree }: Spot, indexing: Indexing = "now"): Keeper {
  const use = (text: number): void => {
    db.run("INSERT OR IGNORE INTO uses (text, tree, place) VALUES (?, ?, ?)", text, tree, place);
  };
  return {
    text(text) {
      const digest = hashOf(text);
      const known = db.get<{ num: number }>(
        "SELECT num FROM texts WHERE hash = ? AND body = ?",
        digest,
        text,
      )?.num;
      if (known === undefined) {
        const { lastInsertRowid } = db
          .prepare("INSERT INTO texts (hash, body) VALUES (?, ?)")
          .run(digest, text);
        const num = Number(lastInsertRowid);
        use(num);
        if (indexing === "later") leaveFrom(db, num);
        else if (num < unindexedFrom(db))
          db.run(
            "INSERT INTO words (rowid, body) VALUES (?, ?)",
            num,
            `${indexedText(text)} ${treeWord(tree)}`,
          );
        return num;
      }
      const isHere =
        db.get("SELECT 1 FROM uses WHERE text = ? AND tree = ? LIMIT 1", known, tree) !== undefined;
      const isStale = !isHere && known < unindexedFrom(db);
      if (isStale) db.run(UNINDEX, known);
      use(known);
      if (isStale) db.run(INDEX, known);
      return known;
    },
    payload(data, mime) {
      const digest = hash("sha256", data, "hex");
      let num = db.get<{ num: number }>("SELECT num FROM payloads WHERE hash = ?", digest)?.num;
      num ??= Number(
        db
          .prepare("INSERT INTO payloads (hash, size, mime, data) VALUES (?, ?, ?, ?)")
          .run(digest, data.byteLength, mime, data).lastInsertRowid,
      );
      db.run("INSERT OR IGNORE INTO payload_uses (payload, place) VALUES (?, ?)", num, place);
      return num;
    },
  };
}

/** Takes the uses at a spot away, and what nobody uses any more with its words. Call in a transaction. */
export function release(db: Db, template: string, spot: Spot): void {
  for (const { form, num } of references(template)) {
    if (form === "t" || form === "j") releaseText(db, num, spot);
    else releasePayload(db, num, spot.place);
  }
}

function releaseText(db: Db, num: number, { place, tree }: Spot): void {
  const use = db.get("SELECT 1 FROM uses WHERE text = ? AND tree = ? AND place = ?", num, tree, place);
  // The second reference to it in one template.
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
  } else db.run("DELETE FROM texts WHERE num = ?", num);
}

function releasePayload(db: Db, num: number, place: number): void {
  db.run("DELETE FROM payload_uses WHERE payload = ? AND place = ?", num, place);
  if (db.get("SELECT 1 FROM payload_uses WHERE payload = ? LIMIT 1", num)) return;
  db.run("DELETE FROM payloads WHERE num = ?", num);
}

/** What templates refer to, read one by one. Throws `internal` for a row that is not there. */
export function sourceOf(db: Db): Source {
  return {
    text: (num) =>
      db.get<{ body: string }>("SELECT body FROM texts WHERE num = ?", num)?.body ?? missing(num),
    payload: (num) =>
      db.get<{ data: Uint8Array }>("SELECT data FROM payloads WHERE num = ?", num)?.data ?? missing(num),
  };
}

function missing(num: number): never {
  throw new MissingText(num);
}

/** A template names a text that is not there: the database is damaged. */
export class MissingText extends Error {
  override readonly name = "MissingText";

  constructor(num: number) {
    super(`The text ${num} is missing.`);
  }
}

/** Numbers this near each other are read as one range: a row too many costs less than a read of its own. */
const NEAR = 4;

/** As `sourceOf`, with the texts of these templates read together where they lie together. */
export function sourceFor(db: Db, templates: readonly string[]): Source {
  const wanted = new Set<number>();
  for (const template of templates)
    for (const { form, num } of references(template)) if (form === "t" || form === "j") wanted.add(num);
  const single = sourceOf(db);
  const texts = new Map<number, string>();
  const sorted = Float64Array.from(wanted).sort();
  for (let start = 0, end = 0; start < sorted.length; start = end) {
    end = start + 1;
    while (end < sorted.length && (sorted[end] ?? 0) - (sorted[end - 1] ?? 0) <= NEAR) end += 1;
    if (end - start === 1) continue;
    const rows = db.all<{ num: number; body: string }>(
      "SELECT num, body FROM texts WHERE num BETWEEN ? AND ?",
      sorted[start] ?? 0,
      sorted[end - 1] ?? 0,
    );
    for (const { num, body } of rows) texts.set(num, body);
  }
  return { text: (num) => texts.get(num) ?? single.text(num), payload: (num) => single.payload(num) };
}
