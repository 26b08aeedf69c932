/**
 * Counts the units of an answer while it passes, in JSON or in server-sent events, without keeping it: of each object the members of the
 * first two levels, with short texts alone.
 */
import { isRecord, parseJson, recordOf } from "../../data/record-fields.ts";
import type { SurfaceUnits } from "./surface-cost.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const NEWLINE = 0x0a;
const OPEN: ReadonlySet<number> = new Set([0x7b, 0x5b]);
const CLOSE: ReadonlySet<number> = new Set([0x7d, 0x5d]);
/** Longest text that is kept; names of members and kinds are shorter. */
const MOST_TEXT = 64;
/** Levels that are kept: `usage` is the first, its counts are the second. */
const KEPT_LEVELS = 2;
/** Bytes of what is kept of one object. */
const MOST_KEPT = 2 ** 16;

/** One JSON object without its long texts and deep values. */
class Outline {
  #kept = "";
  #depth = 0;
  #text: number[] | undefined;
  #isEscaped = false;

  take(byte: number): void {
    if (this.#text !== undefined) return this.#inText(byte, this.#text);
    if (byte === QUOTE) {
      this.#text = [];
      return;
    }
    if (OPEN.has(byte)) this.#depth += 1;
    const isKept = this.#depth <= KEPT_LEVELS;
    if (isKept) this.#keep(String.fromCharCode(byte));
    else if (OPEN.has(byte) && this.#depth === KEPT_LEVELS + 1) this.#keep("null");
    if (CLOSE.has(byte)) this.#depth -= 1;
  }

  #inText(byte: number, text: number[]): void {
    const ends = byte === QUOTE && !this.#isEscaped;
    this.#isEscaped = byte === BACKSLASH && !this.#isEscaped;
    if (!ends) {
      if (text.length <= MOST_TEXT) text.push(byte);
      return;
    }
    this.#text = undefined;
    if (this.#depth > KEPT_LEVELS) return;
    this.#keep(text.length > MOST_TEXT ? '""' : `"${String.fromCharCode(...text)}"`);
  }

  #keep(text: string): void {
    if (this.#kept.length < MOST_KEPT) this.#kept += text;
  }

  get object(): Record<string, unknown> | undefined {
    const value = parseJson(this.#kept);
    return isRecord(value) ? value : undefined;
  }
}

/** Follows one answer. `type`: its `content-type`; of another kind than JSON and events nothing is counted. */
export class AnswerUnits {
  readonly #isJson: boolean;
  readonly #hasEvents: boolean;
  #outline: Outline | undefined;
  /** The object of the line has not begun: of an event, its field's name. */
  #isAtStart = true;
  #units: SurfaceUnits = {};

  constructor(type: string) {
    this.#isJson = /^application\/json\b/i.test(type);
    this.#hasEvents = /^text\/event-stream\b/i.test(type);
  }

  take(chunk: Uint8Array): void {
    if (!this.#isJson && !this.#hasEvents) return;
    for (const byte of chunk) {
      if (this.#hasEvents && byte === NEWLINE) {
        this.#read();
        this.#isAtStart = true;
        continue;
      }
      if (this.#isAtStart && !OPEN.has(byte)) continue;
      if (this.#isAtStart) {
        this.#isAtStart = false;
        this.#outline = new Outline();
      }
      this.#outline?.take(byte);
    }
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
  return {
    ...(inputTokens === undefined ? {} : { inputTokens }),
    ...(outputTokens === undefined ? {} : { outputTokens }),
    ...(seconds === undefined ? {} : { seconds }),
    ...(made === undefined ? {} : { images: made }),
  };
}
