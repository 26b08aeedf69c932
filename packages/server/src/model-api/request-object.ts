/** Reads the body of a request to the model API as a JSON object. */
import { isPagurusError } from "@pagurus/contract/errors";
import { isRecord } from "@pagurus/core/data/record-fields";
import { WireCallError } from "@pagurus/gateway/server/faults";
import type { JsonBounds } from "@pagurus/core/platform/json/json-bounds";
import type { JsonThread } from "@pagurus/core/platform/json/json-thread";
import { readJson } from "@pagurus/core/platform/json/read-json";

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
