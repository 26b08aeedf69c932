/**
 * Words of texts and of queries as the index in the database has them: folded, without a parser or a dictionary of the server, so that each
 * server finds the same. Scripts without spaces are pairs of characters, as in the index of a host.
 */
import {
  fold,
  indexedText,
  isUnspacedCharacter,
  queryText,
} from "@pagurus/host/stores/files/index/indexed-words";

/** PostgreSQL allows 1 MB for all words of one text. */
const MOST_TEXT_BYTES = 900_000;
/** Longer ones are cut; PostgreSQL allows 2,046 bytes. */
const WORD_LENGTH = 200;
const MOST_QUERY_WORDS = 32;
const SEARCH_WORD = /[\p{L}\p{N}\p{Co}]+/gu;

function wordsIn(text: string): string[] {
  return (fold(text).match(SEARCH_WORD) ?? []).map((word) => word.slice(0, WORD_LENGTH));
}

/** Each word once, in no order that counts. */
export function textWords(text: string): string[] {
  const words = new Set<string>();
  let bytes = 0;
  for (const word of wordsIn(indexedText(text.normalize("NFC")))) {
    if (words.has(word)) continue;
    bytes += Buffer.byteLength(word);
    if (bytes > MOST_TEXT_BYTES) break;
    words.add(word);
  }
  return [...words];
}

/** What a text has to contain for each word of a query, as `tsquery`: nothing a user types is query syntax. */
export function queryParts(query: string): string[] {
  const parts = new Set<string>();
  for (const word of (query.normalize("NFC").match(/[^\s"]+/gu) ?? []).slice(0, MOST_QUERY_WORDS)) {
    const prefix = isUnspacedCharacter(word) ? ":*" : "";
    const words = wordsIn(queryText(word)).map((each) => `'${each}'${prefix}`);
    if (words.length > 0) parts.add(`(${words.join(" & ")})`);
  }
  return [...parts];
}
