/** Parts of a request's body: contiguous byte ranges, each with one source. */
import type { InspectedPart } from "@pagurus/api/types";

export interface BodyPart extends Omit<InspectedPart, "bytes"> {
  /** Byte offsets in the body; `to` is exclusive. */
  from: number;
  to: number;
}

/** Whether the parts cover the body exactly, in order and without an overlap. */
export function isPartition(parts: readonly Pick<BodyPart, "from" | "to">[], bytes: number): boolean {
  let at = 0;
  for (const { from, to } of parts) {
    if (from !== at || to <= from) return false;
    at = to;
  }
  return at === bytes;
}
