/**
 * Parses server-sent events from a stream of bytes, for any chunk boundaries. Source: the HTML standard, 9.2.6. Differs from it where
 * model servers do: a line that begins with a brace is data, and the end of the stream ends its last event.
 */
export interface SseEvent {
  /** Absent if the stream names none. */
  event?: string;
  /** Lines of `data`, joined by line feeds. */
  data: string;
}

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const COLON = 0x3a;
const BRACE = 0x7b;
const NOTHING = Buffer.alloc(0);
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
/** Longer lines and events are skipped: no real model sends any. */
const MOST_BYTES = 64 * 1024 * 1024;

export class SseReader {
  readonly #mostBytes: number;
  /** Pieces of a line that has not ended. */
  #pieces: Buffer[] = [];
  #pieceBytes = 0;
  #isFirstLine = true;
  /** The last byte was a carriage return; a following line feed belongs to it. */
  #afterReturn = false;
  #event: string | undefined;
  #data: string[] = [];
  #dataBytes = 0;
  #isTooLong = false;

  constructor(mostBytes: number = MOST_BYTES) {
    this.#mostBytes = mostBytes;
  }

  /** The events that this chunk completes. */
  take(chunk: Buffer): SseEvent[] {
    const found: SseEvent[] = [];
    let at = this.#afterReturn && chunk[0] === LF ? 1 : 0;
    if (chunk.length > 0) this.#afterReturn = false;
    let feed = chunk.indexOf(LF, at);
    let carriage = chunk.indexOf(CR, at);
    while (feed >= 0 || carriage >= 0) {
      const isCarriage = feed < 0 || (carriage >= 0 && carriage < feed);
      const end = isCarriage ? carriage : feed;
      const event = this.#line(this.#whole(chunk.subarray(at, end)));
      if (event) found.push(event);
      at = end + 1;
      if (isCarriage && at === chunk.length) this.#afterReturn = true;
      if (isCarriage && chunk[at] === LF) at += 1;
      if (feed >= 0 && feed < at) feed = chunk.indexOf(LF, at);
      if (carriage >= 0 && carriage < at) carriage = chunk.indexOf(CR, at);
    }
    this.#keep(chunk.subarray(at));
    return found;
  }

  /** The event that only lacks its empty line at the end of the stream. */
  end(): SseEvent[] {
    const line = this.#pieceBytes > 0 ? this.#line(this.#whole(NOTHING)) : undefined;
    const event = line ?? this.#finished();
    return event ? [event] : [];
  }

  #keep(piece: Buffer): void {
    if (piece.length === 0) return;
    this.#pieceBytes += piece.length;
    if (this.#pieceBytes > this.#mostBytes) {
      this.#isTooLong = true;
      this.#pieces = [];
      return;
    }
    // Copied: the caller may reuse its buffer, and a view would keep all of it.
    this.#pieces.push(Buffer.from(piece));
  }

  /** The line that ends with `last`; undefined for one that is too long. */
  #whole(last: Buffer): Buffer | undefined {
    const bytes = this.#pieceBytes + last.length;
    const line = this.#pieces.length === 0 ? last : Buffer.concat([...this.#pieces, last]);
    this.#pieces = [];
    this.#pieceBytes = 0;
    return bytes > this.#mostBytes ? undefined : line;
  }

  #line(line: Buffer | undefined): SseEvent | undefined {
    const isFirst = this.#isFirstLine;
    this.#isFirstLine = false;
    if (!line) {
      this.#isTooLong = true;
      return undefined;
    }
    const text = isFirst && line.indexOf(BYTE_ORDER_MARK) === 0 ? line.subarray(3) : line;
    if (text.length === 0) return this.#finished();
    this.#field(text);
    return undefined;
  }

  #field(line: Buffer): void {
    if (line[0] === BRACE) return this.#dataLine(line, 0);
    const colon = line.indexOf(COLON);
    const name = line.toString("latin1", 0, colon < 0 ? line.length : colon);
    if (name !== "data" && name !== "event") return;
    const from = colon < 0 ? line.length : colon + (line[colon + 1] === SPACE ? 2 : 1);
    if (name === "event") this.#event = line.toString("utf8", from);
    else this.#dataLine(line, from);
  }

  #dataLine(line: Buffer, from: number): void {
    this.#dataBytes += line.length - from + 1;
    if (this.#dataBytes > this.#mostBytes) this.#isTooLong = true;
    if (this.#isTooLong) this.#data = [];
    else this.#data.push(line.toString("utf8", from));
  }

  #finished(): SseEvent | undefined {
    const event = this.#event;
    const data = this.#data;
    const isVoid = this.#isTooLong || data.length === 0;
    this.#event = undefined;
    this.#data = [];
    this.#dataBytes = 0;
    this.#isTooLong = false;
    if (isVoid) return undefined;
    // An empty name counts as none, as in the standard.
    return { ...(event ? { event } : {}), data: data.join("\n") };
  }
}

/** An event as bytes; `data` has no line breaks. */
export function sseBytes({ event, data }: SseEvent): Buffer {
  return Buffer.from(`${event === undefined ? "" : `event: ${event}\n`}data: ${data}\n\n`);
}
