/**
 * The checksum of a transcript's line: its last field, `"crc32"`, over the JSON without that field. A line without one is of an earlier
 * version, or of another program, and is accepted as it is.
 */
import { crc32 } from "node:zlib";

const FIELD = `,"crc32":"`;
const DIGITS = 8;
const END = `"}`;
/** Bytes of the field with the object's end. */
const SUM_BYTES = FIELD.length + DIGITS + END.length;
const CLOSE = "}";

function sumOf(value: number): string {
  return value.toString(16).padStart(DIGITS, "0");
}

/** Checksum of the JSON whose bytes, but for its end, come before a place. */
function sumAt(bytes: Buffer, at: number): number {
  return crc32(CLOSE, crc32(bytes.subarray(0, at)));
}

/** The JSON of an object that is not empty, with its checksum and the newline. */
export function summedLine(json: string): Buffer {
  const bytes = Buffer.from(`${json.slice(0, -1)}${FIELD}${"0".repeat(DIGITS)}${END}\n`, "utf8");
  // Over the bytes: the sum of a text would encode it a second time.
  const at = bytes.length - "\n".length - SUM_BYTES;
  bytes.write(sumOf(sumAt(bytes, at)), at + FIELD.length, "latin1");
  return bytes;
}

/** The JSON of a line (without its newline) without its checksum; `sound` is false when the checksum is wrong. */
export function readLine(bytes: Buffer): { json: string; sound: boolean } {
  const at = bytes.length - SUM_BYTES;
  const tail = at > 1 ? bytes.toString("latin1", at) : "";
  if (!tail.startsWith(FIELD) || !tail.endsWith(END)) return { json: bytes.toString("utf8"), sound: true };
  const sum = sumOf(sumAt(bytes, at));
  return {
    json: bytes.toString("utf8", 0, at) + CLOSE,
    sound: sum === tail.slice(FIELD.length, FIELD.length + DIGITS),
  };
}

/** True for a field with the checksum's name that is no valid checksum: one of its bytes was changed. */
export function isBrokenSum(fields: Readonly<Record<string, unknown>>): boolean {
  return typeof fields["crc32"] === "string";
}
