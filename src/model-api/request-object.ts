/** Reads the body of a request to the model API as a JSON object. */
import { isPagurusError } from "../contract/errors.ts";
import { isRecord } from "../data/record-fields.ts";
import { WireCallError } from "../gateway/server/faults.ts";
import type { JsonBounds } from "../platform/json/json-bounds.ts";
import type { JsonThread } from "../platform/json/json-thread.ts";
import { readJson } from "../platform/json/read-json.ts";

/** Throws `WireCallError` for a body that is over the bounds, or no JSON object. */
export async function requestObject(
  bytes: Buffer,
  bounds: JsonBounds,
  thread: JsonThread,
): Promise<Record<string, unknown>> {
  let value: unknown;
  try {
    value = await readJson(bytes, bounds, thread);
  } catch (error) {
    if (isPagurusError(error)) throw new WireCallError("too_large", error.message);
    throw new WireCallError("bad_request", "The body is not JSON.");
  }
  if (isRecord(value)) return value;
  throw new WireCallError("bad_request", "The body is not an object.");
}
