import { filledString, type Fields } from "@pagurus/core/data/record-fields";
import { partsOf, stringsOf } from "./content-parts.ts";
import type { KeptRecord } from "./kept-record.ts";
import { timeOf, type ReadLine } from "./line-formats.ts";

/** More than one word: a path, a name and a number have no message. */
const SENTENCE = /\S\s+\S/;

/** The record of a value: what its format reads of it, and its other words. */
export function finished(value: Fields, { role, contents, at, ...read }: ReadLine): KeptRecord {
  const parts = contents.flatMap(partsOf);
  const known = new Set([...stringsOf(contents), ...parts.map(({ text }) => text)]);
  const others = [...new Set(stringsOf(value))].filter((text) => !known.has(text));
  const record: KeptRecord = { role, parts, rest: others.join("\n") };
  const time = timeOf(at);
  if (time !== undefined) record.at = time;
  for (const name of ["key", "conversation", "parent", "folder", "title", "version"] as const) {
    const text = filledString(read[name]);
    if (text !== undefined) record[name] = text;
  }
  if (parts.length === 0 && others.some((text) => SENTENCE.test(text))) record.isUnread = true;
  return record;
}
