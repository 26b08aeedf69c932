/** Cuts inside a JSON string: offsets of its decoded text as byte offsets of its encoded form. */

const BACKSLASH = 0x5c;
const U = 0x75;

/**
 * Byte offsets in `body` of ascending offsets (UTF-16 code units) of the text of the JSON string that begins with the quote at
 * `start`.
 */
export function byteOffsets(body: Buffer, start: number, offsets: readonly number[]): number[] {
  const found: number[] = [];
  let at = start + 1;
  let units = 0;
  for (const wanted of offsets) {
    while (units < wanted && at < body.length) {
      const byte = body[at] ?? 0;
      if (byte === BACKSLASH) {
        at += body[at + 1] === U ? 6 : 2;
        units += 1;
      } else {
        const length = byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
        at += length;
        units += length === 4 ? 2 : 1;
      }
    }
    found.push(at);
  }
  return found;
}
