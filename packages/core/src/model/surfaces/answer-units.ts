/**
 * Counts the units of an answer while it passes, in JSON or in server-sent events, without keeping it: of each object the members of the
 * first two levels, with short texts alone.
 */
import { isRecord, parseJson, recordOf } from "../../data/record-fields.ts";
import type { SurfaceUnits } from "./surface-cost.ts";
import { defined } from "../../data/defined.ts";

const QUOTE = 0x22;
const ESCAPE_BYTE = 0x5c;
const NEWLINE = 0x0a;
/** Longest text that is kept; names of members and kinds are shorter. */
const MOST_KEPT_TEXT = 64;
/** Levels that are kept: `usage` is the first, its counts are the second. */
const KEPT_LEVELS = 2;
/** Most characters that are kept of one object. */
const MOST_KEPT_BYTES = 2 ** 16;

/** By byte: 1 opens an object or a list, 2 closes one, 3 begins a text. */
const KINDS = new Uint8Array(256);
const [OPENS, CLOSES, BEGINS] = [1, 2, 3];
for (const byte of Buffer.from("{[")) KINDS[byte] = OPENS;
for (const byte of Buffer.from("}]")) KINDS[byte] = CLOSES;
KINDS[QUOTE] = BEGINS;

/** One JSON object without its long texts and deep values. */
class Outline {
  #kept = "";
  #depth = 0;
  /** The beginning of a text that has not ended. */
  #text: string | undefined;
  #isEscaped = false;

  take(bytes: Buffer): void {
    for (let at = 0; at < bytes.length;)
      at = this.#text === undefined ? this.#outside(bytes, at) : this.#inText(bytes, at, this.#text);
  }

  /** Reads up to the next text, object or list, and returns the offset after it. */
  #outside(bytes: Buffer, from: number): number {
    let at = from;
    while (at < bytes.length && KINDS[bytes[at] ?? 0] === 0) at += 1;
    this.#keep(bytes, from, at);
    const kind = KINDS[bytes[at] ?? 0];
    if (kind === OPENS) {
      this.#depth += 1;
      if (this.#depth === KEPT_LEVELS + 1) this.#add("null");
      this.#keep(bytes, at, at + 1);
    } else if (kind === CLOSES) {
      this.#keep(bytes, at, at + 1);
      this.#depth -= 1;
    } else if (kind === BEGINS) {
      this.#text = "";
      this.#isEscaped = false;
    }
    return at + 1;
  }

  #inText(bytes: Buffer, from: number, text: string): number {
    const quote = bytes.indexOf(QUOTE, from);
    const end = quote < 0 ? bytes.length : quote;
    let slashes = 0;
    while (end - slashes > from && bytes[end - 1 - slashes] === ESCAPE_BYTE) slashes += 1;
    const isEscaped = (slashes + (end - slashes === from && this.#isEscaped ? 1 : 0)) % 2 === 1;
    const more = MOST_KEPT_TEXT + 1 - text.length;
    const known = more > 0 ? text + bytes.toString("latin1", from, Math.min(end, from + more)) : text;
    if (quote < 0 || isEscaped) {
      this.#isEscaped = quote < 0 && isEscaped;
      this.#text = quote < 0 || known.length > MOST_KEPT_TEXT ? known : `${known}"`;
      return end + 1;
    }
    this.#text = undefined;
    if (this.#depth <= KEPT_LEVELS) this.#add(known.length > MOST_KEPT_TEXT ? '""' : `"${known}"`);
    return end + 1;
  }

  #keep(bytes: Buffer, from: number, to: number): void {
    if (this.#depth <= KEPT_LEVELS && to > from && this.#kept.length < MOST_KEPT_BYTES)
      this.#add(bytes.toString("latin1", from, Math.min(to, from + MOST_KEPT_BYTES)));
  }

  #add(text: string): void {
    if (this.#kept.length < MOST_KEPT_BYTES) this.#kept += text;
  }

  get object(): Record<string, unknown> | undefined {
    const value = parseJson(this.#kept);
    return isRecord(value) ? value : undefined;
  }
}

/** Follows one answer. `type`: its `content-type`; only JSON and events are counted. */
export class AnswerUnits {
  readonly #isJson: boolean;
  readonly #hasEvents: boolean;
  /** Absent before the object of the answer, or of the event's line, has begun. */
  #outline: Outline | undefined;
  #units: SurfaceUnits = {};

  constructor(type: string) {
    this.#isJson = /^application\/json\b/i.test(type);
    this.#hasEvents = /^text\/event-stream\b/i.test(type);
  }

  take(chunk: Buffer): void {
    if (this.#isJson) return this.#takeLine(chunk);
    if (!this.#hasEvents) return;
    for (let from = 0; from < chunk.length;) {
      const end = chunk.indexOf(NEWLINE, from);
      this.#takeLine(chunk.subarray(from, end < 0 ? chunk.length : end));
      if (end < 0) return;
      this.#read();
      from = end + 1;
    }
  }

  #takeLine(bytes: Buffer): void {
    if (this.#outline) return this.#outline.take(bytes);
    const start = bytes.indexOf("{");
    if (start < 0) return;
    this.#outline = new Outline();
    this.#outline.take(bytes.subarray(start));
  }

  /** The counts of what came so far. */
  get units(): SurfaceUnits {
    this.#read();
    return this.#units;
  }

  #read(): void {
    const object = this.#outline?.object;
    this.#outline = undefined;
    if (object) this.#units = { ...this.#units, ...unitsIn(object) };
  }
}

function count(...values: readonly unknown[]): number | undefined {
  return values.find((value): value is number => typeof value === "number" && value >= 0 && value < Infinity);
}

/** Units of a whole answer, or of one event. */
function unitsIn(answer: Readonly<Record<string, unknown>>): SurfaceUnits {
  const usage = recordOf(answer["usage"]);
  const inputTokens = count(usage["input_tokens"], usage["prompt_tokens"]);
  const outputTokens = count(usage["output_tokens"], usage["completion_tokens"]);
  const seconds = count(usage["seconds"], answer["duration"]);
  const made = Array.isArray(answer["data"]) ? answer["data"].length : undefined;
  return defined({ inputTokens, outputTokens, seconds, images: made });
}
