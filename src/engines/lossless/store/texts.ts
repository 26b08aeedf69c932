/** Texts and payloads: kept once, found by hash, indexed (`backlog.ts`), and gone with their last use. */
import { leaveFrom, unindexedFrom } from "./backlog.ts";
import type { Cutting, PayloadPart, TextPart } from "./cutting.ts";
import type { Db } from "./db.ts";
import { references, templateOf, type Source } from "./template.ts";

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

/**
 * Keeps the parts of entries. Of one transaction: it knows what the transaction has done. New words are indexed later
 * (`backlog.ts`).
 */
export class Keeper {
  readonly #db: Db;
  #unindexed: number;

  constructor(db: Db) {
    this.#db = db;
    this.#unindexed = unindexedFrom(db);
  }

  /** The template of what stands at a spot, its parts kept as used there. */
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

  /** Equal hashes are told apart by comparing the texts. */
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
