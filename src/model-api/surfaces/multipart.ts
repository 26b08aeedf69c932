/** Finds the parts of a form (multipart/form-data, RFC 7578) in its bytes, so that one can be replaced and the rest forwarded. */
import { WireCallError } from "../../gateway/server/faults.ts";
import type { Span } from "../../gateway/json/scan.ts";

export interface FormPart extends Span {
  name: string;
  /** The part is a file. */
  isFile: boolean;
}

/** Most parts of one form; OpenAI's have a few fields and at most 16 images. */
const MOST_PARTS = 100;
/** Longest head of one part, bytes. */
const MOST_HEAD = 8 * 2 ** 10;

function broken(why: string): WireCallError {
  return new WireCallError("bad_request", `The form cannot be read: ${why}.`);
}

/** The boundary of a `content-type`; undefined for another type. */
export function boundaryOf(type: string): string | undefined {
  if (!/^multipart\/form-data\b/i.test(type)) return undefined;
  const [, quoted, plain] = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i.exec(type) ?? [];
  return quoted ?? plain;
}

/** Parts in their order. Throws `WireCallError`. */
export function formParts(body: Buffer, boundary: string): FormPart[] {
  const delimiter = Buffer.from(`\r\n--${boundary}`, "latin1");
  const parts: FormPart[] = [];
  let at = firstEnd(body, delimiter);
  while (!isLast(body, at)) {
    if (parts.length >= MOST_PARTS) throw broken(`it has more than ${MOST_PARTS} parts`);
    // White space may follow a boundary.
    const line = body.indexOf("\r\n", at);
    const head = line < 0 ? -1 : body.indexOf("\r\n\r\n", line);
    if (head < 0 || head - line > MOST_HEAD) throw broken("a part has no head");
    const start = head + 4;
    // An empty part shares its line break with the boundary.
    const end = body.indexOf(delimiter, start - 2);
    if (end < 0) throw broken("its last boundary is missing");
    parts.push({ ...named(body.toString("utf8", line, head)), start, end: Math.max(start, end) });
    at = end + delimiter.length;
  }
  return parts;
}

/** The offset after the first boundary, which may begin the body. */
function firstEnd(body: Buffer, delimiter: Buffer): number {
  const first = delimiter.subarray(2);
  if (body.subarray(0, first.length).equals(first)) return first.length;
  const at = body.indexOf(delimiter);
  if (at < 0) throw broken("its boundary is missing");
  return at + delimiter.length;
}

function isLast(body: Buffer, at: number): boolean {
  return body[at] === 0x2d && body[at + 1] === 0x2d;
}

function named(head: string): { name: string; isFile: boolean } {
  const [disposition = ""] = /^content-disposition:.*$/im.exec(head) ?? [];
  const name = /;\s*name="([^"]*)"|;\s*name=([^\s;"]+)/i.exec(disposition);
  if (!name) throw broken("a part has no name");
  return { name: name[1] ?? name[2] ?? "", isFile: /;\s*filename\*?=/i.test(disposition) };
}
