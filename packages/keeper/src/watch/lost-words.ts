/** Words that a document had and has no longer. */
import { parseJson } from "@pagurus/core/data/record-fields";
import type { Archive } from "../archive/archive.ts";
import { stringsOf } from "../formats/content-parts.ts";

/** Versions that are looked at for the last one that was not half written. */
const LOOKS = 4;

/** Bytes of the words that the last whole version had and the newest one has not; 0 while the newest one is half written. */
export function lostWords(archive: Archive, file: number): number {
  const { version } = archive.file(file);
  const newest = stringsAt(archive, file, version);
  if (!newest) return 0;
  for (let before = version - 1; before > Math.max(0, version - 1 - LOOKS); before -= 1) {
    const former = stringsAt(archive, file, before);
    if (!former) continue;
    const all = [...newest].join("\n");
    const lost = [...former].filter((text) => /\s/.test(text) && !newest.has(text) && !all.includes(text));
    return lost.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  }
  return 0;
}

function stringsAt(archive: Archive, file: number, version: number): Set<string> | undefined {
  const value = parseJson(archive.bytes(file, version).toString("utf8"));
  return value === undefined ? undefined : new Set(stringsOf(value));
}
