/** Reads a JSON text of a client so that other requests are served meanwhile: a long one in slices, then in a thread. */
import { JsonMeter, type JsonBounds } from "./json-bounds.ts";
import { parseWellFormed } from "../../data/well-formed.ts";
import { nextSlice } from "../pace.ts";
import type { JsonThread } from "./json-thread.ts";

/** Bytes that are looked at without a pause: below a millisecond of work. */
const SLICE = 2 ** 18;
/** Longer texts are parsed in the thread: those of most requests are not worth the copies. */
const SHORT = 2 ** 19;

/**
 * Returns the value of a JSON text, with U+FFFD for each half of a surrogate pair. Throws `body_too_long` if it is over the bounds,
 * `SyntaxError` if it is no JSON. A long text is handed to the thread: the caller must not use the bytes any more.
 */
export async function readJson(bytes: Buffer, bounds: JsonBounds, thread: JsonThread): Promise<unknown> {
  const meter = new JsonMeter(bounds);
  for (let at = 0; at < bytes.length; at += SLICE) {
    if (at > 0) await nextSlice();
    meter.add(bytes.subarray(at, at + SLICE));
  }
  return bytes.length > SHORT ? await thread.parse(bytes) : parseWellFormed(bytes);
}
