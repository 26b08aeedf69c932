import assert from "node:assert/strict";
import type { WireBody } from "../wire-bodies.ts";

/** Each tool call is followed by its result, and no result is without a call. */
export function assertPairs(body: WireBody): void {
  let open: string[] = [];
  for (const message of body.messages) {
    for (const { id } of message.results) {
      assert.ok(open.includes(id), `the result of ${id} follows its call`);
      open = open.filter((each) => each !== id);
    }
    if (message.role !== "tool")
      assert.deepEqual(open, [], "each call has its result before anything else is said");
    open.push(...message.calls.map(({ id }) => id));
  }
  assert.deepEqual(open, [], "each call has its result");
}
