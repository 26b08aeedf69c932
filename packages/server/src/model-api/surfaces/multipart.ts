/** Finds the parts of a form (multipart/form-data, RFC 7578) in its bytes, so that one can be replaced and the rest forwarded. */
import { WireCallError } from "@pagurus/gateway/server/faults";
import type { Span } from "@pagurus/gateway/json/scan";

export interface FormPart extends Span {
  name: string;
  /** The part is a file. */
  isFile: boolean;
}

/** Most parts of one form; OpenAI's have a few fields and at most 16 images. */
const MOST_FORM_PARTS = 100;
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

/**
 * Parts in their order. Refuses a form that another reader could divide otherwise, with a boundary before the first part, in a head or
 * after the last part: such a reader would see a part that is not checked here. Throws `WireCallError`.
 */
export function formParts(body: Buffer, boundary: string): FormPart[] {
  const delimiter = Buffer.from(`\r\n--${boundary}`, "latin1");
  const mark = delimiter.subarray(2);
  const parts: FormPart[] = [];
  let at = firstEnd(body, delimiter);
  while (!isLast(body, at)) {
    if (parts.length >= MOST_FORM_PARTS) throw broken(`it has more than ${MOST_FORM_PARTS} parts`);
    const line = body.indexOf("\r\n", at);
    const head = line < 0 ? -1 : body.indexOf("\r\n\r\n", line);
    if (head < 0 || head - line > MOST_HEAD) throw broken("a part has no head");
    if (body.subarray(line, head).includes(mark)) throw broken("a boundary is in the head of a part");
    const start = head + 4;
    // An empty part shares its line break with the boundary.
    const end = nextDelimiter(body, delimiter, start - 2);
    if (end < 0) throw broken("its last boundary is missing");
    parts.push({ ...named(body.toString("utf8", line, head)), start, end: Math.max(start, end) });
    at = end + delimiter.length;
  }
  if (body.includes(mark, at)) throw broken("a boundary follows its end");
  return parts;
}

/** The offset after the first boundary, which may begin the body. */
function firstEnd(body: Buffer, delimiter: Buffer): number {
  const first = delimiter.subarray(2);
  if (body.subarray(0, first.length).equals(first) && endsLine(body, first.length)) return first.length;
  const at = nextDelimiter(body, delimiter, 0);
  if (at < 0) throw broken("its boundary is missing");
  if (body.subarray(0, at).includes(first)) throw broken("a broken boundary is before its first part");
  return at + delimiter.length;
}

/** The offset of the next delimiter, -1 if there is none. A longer boundary, for example `--b2` for `b`, is part of a content. */
function nextDelimiter(body: Buffer, delimiter: Buffer, from: number): number {
  let at = body.indexOf(delimiter, from);
  while (at >= 0 && !endsLine(body, at + delimiter.length)) at = body.indexOf(delimiter, at + 1);
  return at;
}

/** Whether the form ends after a boundary, or its line does; spaces and tabs may come before the line break. */
function endsLine(body: Buffer, from: number): boolean {
  if (isLast(body, from)) return true;
  let at = from;
  while (body[at] === 0x20 || body[at] === 0x09) at += 1;
  return body[at] === 0x0d && body[at + 1] === 0x0a;
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
