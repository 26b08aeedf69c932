/**
 * Cuts content into blocks at places that depend on the content alone, so that a file which was rewritten shares its blocks with what it was
 * before, although everything in it has moved (the gear hash of FastCDC).
 */

const LEAST = 16 * 1024;
export const MOST = 512 * 1024;
/** One place in 65,536 is a cut. */
const MASK = 0xffff0000;

/** A number for each byte, the same on every machine. */
const GEAR = gearTable();

function gearTable(): Uint32Array {
  const table = new Uint32Array(256);
  let state = 0x9e3779b9;
  for (let at = 0; at < 256; at += 1) {
    // xorshift
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    table[at] = state >>> 0;
  }
  return table;
}

/** Length of the first block of `bytes`. `isEnd`: nothing follows them. Undefined: more bytes are needed to know. */
export function firstCut(bytes: Uint8Array, isEnd: boolean): number | undefined {
  const end = Math.min(bytes.length, MOST);
  let hash = 0;
  for (let at = LEAST; at < end; at += 1) {
    hash = ((hash << 1) + (GEAR[bytes[at] ?? 0] ?? 0)) | 0;
    if ((hash & MASK) === 0) return at + 1;
  }
  if (bytes.length >= MOST) return MOST;
  return isEnd && bytes.length > 0 ? bytes.length : undefined;
}
