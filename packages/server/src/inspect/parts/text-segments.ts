/** Divides one text of a body by source: a system prompt made of pieces, and messages that were joined for the provider. */
import { isRecallBlock } from "@pagurus/contract/engine/recall-block";
import type { ReceiptPart } from "@pagurus/contract/session/receipt";
import type { PartSource } from "@pagurus/api/types";
import { digest } from "./content-keys.ts";
import { sourceOf, type Found, type KnownParts } from "./known-parts.ts";
import { defined } from "@pagurus/core/data/defined";

/** Offsets are UTF-16 code units of the text. */
export interface Segment {
  from: number;
  to: number;
  source: PartSource;
  found?: Found;
  path?: string;
}

const HEAD_OPEN = "<conversation_summary>\n";
const HEAD_CLOSE = "\n</conversation_summary>";
/** Places at which a piece of a system prompt is tried; more are not separate pieces of ours. */
const MOST_TRIES = 4_000;

export function opensHead(text: string): boolean {
  return text.startsWith(HEAD_OPEN);
}

export function closesHead(text: string): boolean {
  return text.endsWith(HEAD_CLOSE);
}

/** The pieces of the receipt in a system text, by their digests; the rest is `rest`. */
export function systemSegments(text: string, pieces: readonly ReceiptPart[], rest: PartSource): Segment[] {
  const bytes = Buffer.from(text);
  const segments: Segment[] = [];
  const unused = [...pieces];
  let end = 0;
  let tries = 0;
  for (let at = 0; at >= 0 && at < bytes.length && unused.length > 0 && tries < MOST_TRIES; tries++) {
    const index = unused.findIndex((piece) => isAt(bytes, at, piece));
    const [piece] = index < 0 ? [] : unused.splice(index, 1);
    if (piece) {
      segments.push({
        from: unitsTo(bytes, at),
        to: unitsTo(bytes, at + piece.bytes),
        source: sourceOf(piece),
        ...defined({ path: piece.path }),
      });
      end = at + piece.bytes;
    }
    const next = bytes.indexOf("\n", piece ? end : at);
    at = next < 0 ? -1 : afterLines(bytes, next);
  }
  return filled(text, segments, rest);
}

function isAt(bytes: Buffer, at: number, { bytes: length, hash }: ReceiptPart): boolean {
  const end = at + length;
  if (length === 0 || end > bytes.length) return false;
  if (end < bytes.length && bytes[end] !== 0x0a) return false;
  return digest(bytes.toString("utf8", at, end)) === hash;
}

function afterLines(bytes: Buffer, from: number): number {
  let at = from;
  while (bytes[at] === 0x0a) at += 1;
  return at;
}

function unitsTo(bytes: Buffer, end: number): number {
  return bytes.toString("utf8", 0, end).length;
}

/** A text that consists of several messages: a summary first, then texts of the receipt's next parts. Undefined for any other text. */
export function joinedSegments(text: string, known: KnownParts): Segment[] | undefined {
  const segments: Segment[] = [];
  let at = 0;
  const close = opensHead(text) ? text.indexOf(`${HEAD_CLOSE}`) : -1;
  if (close >= 0) {
    at = close + HEAD_CLOSE.length;
    segments.push({ from: 0, to: at, source: "head" });
  }
  for (const next of known.next()) {
    const place = placeOf(text, next.text, at);
    const found = place < 0 ? undefined : next.take();
    if (!found) continue;
    at = place + next.text.length;
    segments.push({ from: place, to: at, source: sourceOf(found.part), found });
  }
  if (segments.length === 0) return undefined;
  return filled(text, segments, "harness");
}

/** Where a message begins in a text, as lines of its own; -1 where it does not. */
function placeOf(text: string, piece: string, from: number): number {
  for (let at = text.indexOf(piece, from); at >= 0; at = text.indexOf(piece, at + 1)) {
    const end = at + piece.length;
    const begins = at === 0 || text[at - 1] === "\n";
    if (begins && (end === text.length || text[end] === "\n")) return at;
  }
  return -1;
}

/** The segments with what is between them; white space alone is framing, and a block of passages is recognized by its marks. */
function filled(text: string, segments: readonly Segment[], rest: PartSource): Segment[] {
  const all: Segment[] = [];
  let at = 0;
  const gap = (to: number): void => {
    if (to <= at) return;
    const words = text.slice(at, to).trim();
    const source = words === "" ? "framing" : isRecallBlock(words) ? "recall" : rest;
    all.push({ from: at, to, source });
  };
  for (const segment of segments) {
    gap(segment.from);
    all.push(segment);
    at = segment.to;
  }
  gap(text.length);
  return all;
}
