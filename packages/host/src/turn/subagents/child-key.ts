import { createHash } from "node:crypto";

/** Longest session key, in characters (`packages/host/src/stores/files/keys.ts`). */
const LONGEST_CHILD_KEY = 200;
const HASH_CHARACTERS = 12;
const CHILD = /\/sub-\d+(?=\/|$)/gu;

/** The key of a session's n-th child: `<parent>/sub-<n>`. A parent's key that is too long for it is cut and made unique by its hash. */
export function childKey(parentKey: string, number: number): string {
  const suffix = `/sub-${number}`;
  const characters = [...parentKey];
  if (characters.length + suffix.length <= LONGEST_CHILD_KEY) return parentKey + suffix;
  const hash = createHash("sha256").update(parentKey).digest("hex").slice(0, HASH_CHARACTERS);
  const kept = LONGEST_CHILD_KEY - suffix.length - hash.length - 1;
  return `${characters.slice(0, kept).join("")}~${hash}${suffix}`;
}

/** Whether a key looks like a child's, so that other sessions never query the registry. */
export function isChildKey(key: string): boolean {
  return /\/sub-\d+$/u.test(key);
}

/** The depth that a key shows; too small only for a key that was cut. */
export function depthInKey(key: string): number {
  return key.match(CHILD)?.length ?? 0;
}
