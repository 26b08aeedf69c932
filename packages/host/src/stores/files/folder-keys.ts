/** Session keys of folders: the folder's name, and a short suffix when the name is taken. */
import { hash } from "node:crypto";
import { basename } from "node:path";

/** Characters of a key that come from the folder's name. */
const LONGEST_NAME = 60;
const SHORTEST_SUFFIX = 4;
/** Numbers per attempt. */
const MOST_TRIED = 1_000;

/** A folder's name as a key. */
export function folderName(folder: string): string {
  const name = basename(folder)
    .normalize("NFC")
    .replaceAll(/[^\p{L}\p{N}\p{M}._-]+/gu, "-")
    .replace(/^[^\p{L}\p{N}_]+/u, "");
  const short = Array.from(name)
    .slice(0, LONGEST_NAME)
    .join("")
    .replace(/[-.]+$/u, "");
  return short === "" ? "folder" : short;
}

/** Candidate keys for a folder's first session, in order; the suffixes are from the hash of the folder's path. */
export function* firstKeys(folder: string): Generator<string> {
  const name = folderName(folder);
  yield name;
  const suffix = BigInt(`0x${hash("sha256", folder, "hex")}`).toString(36);
  for (let length = SHORTEST_SUFFIX; length <= suffix.length; length += 1)
    yield `${name}-${suffix.slice(0, length)}`;
}

/** Candidate keys for a folder's further sessions; `from` is the first number. */
export function furtherKeys(first: string, from: number): string[] {
  const start = Math.max(2, from);
  return Array.from({ length: MOST_TRIED }, (_, index) => `${first}-${start + index}`);
}
