/** Strings for properties. */
import fc from "fast-check";

const SURROGATES = { from: 0xd800, count: 0x800 };

const codePoint = fc.nat({ max: 0x10ffff - SURROGATES.count }).map(
  (index) => String.fromCodePoint(index < SURROGATES.from ? index : index + SURROGATES.count),
  (text) => {
    const point = typeof text === "string" && [...text].length === 1 ? (text.codePointAt(0) ?? 0) : NaN;
    const index = point < SURROGATES.from ? point : point - SURROGATES.count;
    if (Number.isNaN(point) || (point >= SURROGATES.from && index < SURROGATES.from))
      throw new Error("no code point");
    return index;
  },
);

/** Texts of any code points, as `unit: "binary"` makes them, without that one's table of all 1.1 million (1 s, 150 MB). */
export function unicodeText(lengths: { minLength?: number; maxLength?: number } = {}): fc.Arbitrary<string> {
  return fc.string({ ...lengths, unit: codePoint });
}
