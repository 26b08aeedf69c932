/**
 * Messages that a body has word for word, by the digests in the receipt: in a long session nearly all of them, and they need not be
 * read from the transcript.
 */
import type { Receipt } from "@pagurus/contract/session/receipt";
import type { Block } from "./block.ts";
import { keysIn, wordsDigest } from "./content-keys.ts";

/** Blocks looked at before other work of the process may have its turn. */
const SLICE_BLOCKS = 128;

/** Gives such blocks the digest of their message. Returns the ids of the entries that are not found so. */
export function* markWords(
  blocks: readonly Block[],
  parts: Receipt["parts"],
): Generator<undefined, Set<string>> {
  const wanted = new Map<string, number>();
  for (const { entryId, hash } of parts)
    if (entryId !== undefined) wanted.set(hash, (wanted.get(hash) ?? 0) + 1);
  const found = new Map<string, Block[]>();
  for (const [index, block] of blocks.entries()) {
    if (index % SLICE_BLOCKS === SLICE_BLOCKS - 1) yield;
    if (block.kind !== "content") continue;
    const digest = wordsDigest(keysIn(block), wanted);
    if (digest === undefined) continue;
    const known = found.get(digest);
    if (known) known.push(block);
    else found.set(digest, [block]);
  }
  const isWhole = (hash: string): boolean => (found.get(hash)?.length ?? 0) >= (wanted.get(hash) ?? 0);
  for (const [digest, same] of found) {
    // The same words may be part of another text of the body as well: then each of them is found by its words.
    if (isWhole(digest)) for (const block of same) keysIn(block).digest = digest;
  }
  return new Set(
    parts.flatMap(({ entryId, hash }) => (entryId === undefined || isWhole(hash) ? [] : [entryId])),
  );
}
