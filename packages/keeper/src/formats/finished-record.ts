import { filledString, type Fields } from "@pagurus/core/data/record-fields";
import { partsOf, stringsOf } from "./content-parts.ts";
import type { KeptRecord } from "./kept-record.ts";
import { timeOf, type ReadLine } from "./line-formats.ts";

/** The record of a value: what its format reads of it, and its other words. */
export function finished(value: Fields, { role, contents, at, ...read }: ReadLine): KeptRecord {
  const parts = contents.flatMap(partsOf);
  const known = new Set([...stringsOf(contents), ...parts.map(({ text }) => text)]);
  const rest = [...new Set(stringsOf(value))].filter((text) => !known.has(text)).join("\n");
  const record: KeptRecord = { role, parts, rest };
  const time = timeOf(at);
  if (time !== undefined) record.at = time;
  for (const name of ["key", "conversation", "parent", "folder", "title"] as const) {
    const text = filledString(read[name]);
    if (text !== undefined) record[name] = text;
  }
  return record;
}
