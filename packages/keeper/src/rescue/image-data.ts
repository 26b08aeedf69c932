/** Reads the type and size of an image or document from its first bytes. */

const BEGINNINGS: readonly (readonly [type: string, base64: string])[] = [
  ["image/png", "iVBORw0KGgo"],
  ["image/jpeg", "/9j/"],
  ["image/gif", "R0lGOD"],
  ["image/webp", "UklGR"],
  ["application/pdf", "JVBERi"],
];

/** The type that the data has; undefined for none that a provider takes. */
export function typeOfData(base64: string): string | undefined {
  return BEGINNINGS.find(([, start]) => base64.startsWith(start))?.[0];
}

/** Bytes that are enough to find the size of an image, in characters of base64. */
const HEAD = 64 * 1024;

/** The longer side of an image in pixels; 0 where it is not known. */
export function longerSide(base64: string): number {
  const bytes = Buffer.from(base64.slice(0, HEAD), "base64");
  switch (typeOfData(base64)) {
    case "image/png":
      return bytes.length < 24 ? 0 : Math.max(bytes.readUInt32BE(16), bytes.readUInt32BE(20));
    case "image/gif":
      return bytes.length < 10 ? 0 : Math.max(bytes.readUInt16LE(6), bytes.readUInt16LE(8));
    case "image/jpeg":
      return jpegSide(bytes);
    default:
      return 0;
  }
}

/** From the segment that begins a frame. */
function jpegSide(bytes: Buffer): number {
  for (let at = 2; at + 9 < bytes.length && bytes[at] === 0xff;) {
    const marker = bytes[at + 1] ?? 0;
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return Math.max(bytes.readUInt16BE(at + 5), bytes.readUInt16BE(at + 7));
    at += 2 + bytes.readUInt16BE(at + 2);
  }
  return 0;
}
