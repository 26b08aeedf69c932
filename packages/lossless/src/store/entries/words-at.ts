/** Reads an entry with its words. */
import type { Database } from "@pagurus/core/data/sqlite";
import { entryWords, type Words } from "../search/entry-words.ts";
import type { StoredEntry } from "../store-types.ts";
import { entryOf, type EntryRow } from "./entry-rows.ts";
import { entryAt } from "./entry-tree.ts";
import { sourceOf } from "./texts.ts";

const NOTHING = new Uint8Array(0);

interface EntryWithWords {
  row: EntryRow;
  entry: StoredEntry;
  words: Words;
}

/** The entry at a place. Images are named by their kind; their data is not read. */
export function wordsAt(db: Database, place: number): EntryWithWords | undefined {
  const row = entryAt(db, place);
  if (!row) return undefined;
  const entry = entryOf(row, 0, { text: sourceOf(db).text, payload: () => NOTHING });
  return { row, entry, words: entryWords(entry) };
}
