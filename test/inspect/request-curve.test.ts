/** A session's requests as points of curves. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { requestCurve } from "../../packages/server/src/inspect/requests/request-curve.ts";
import type { InspectedRequest } from "../../packages/api/src/types.ts";

function row(number: number, more: Partial<InspectedRequest> = {}): InspectedRequest {
  const at = new Date(1_000 * number).toISOString();
  return { id: `t.${number}`, at, runtime: "embedded", model: "test/model", tokens: 10 * number, ...more };
}

function used(
  input: number,
  cacheRead: number,
  cost: number,
): Pick<InspectedRequest, "usage" | "inputTokens"> {
  const inputTokens = input + cacheRead;
  return { usage: { input, cacheRead, output: 1, totalTokens: inputTokens + 1, cost }, inputTokens };
}

describe("the curve of a session's requests", () => {
  it("has the provider's count with its cache and cost, else the estimate alone", () => {
    const { points, requests, cost } = requestCurve([row(1), row(2, used(40, 60, 0.25))], 10);
    assert.deepEqual(points, [
      { request: "t.1", number: 1, requests: 1, at: row(1).at, tokens: 10 },
      { request: "t.2", number: 2, requests: 1, at: row(2).at, tokens: 100, cacheShare: 0.6, cost: 0.25 },
    ]);
    assert.deepEqual([requests, cost], [2, 0.25]);
  });

  it("leaves out requests with a purpose of their own, whose cost is in the sum", () => {
    const rows = [row(1, used(1, 0, 0.5)), row(2, { purpose: "compaction", ...used(9, 0, 0.25) })];
    const curve = requestCurve(rows, 10);
    assert.deepEqual([curve.points.length, curve.requests, curve.cost], [1, 1, 0.75]);
  });

  it("has at most so many points: each leads to its largest request, with share and cost of all of it", () => {
    const rows = Array.from({ length: 1_001 }, (_, at) =>
      row(at + 1, at === 501 ? used(1_000, 19_000, 4) : used(500, 500, 1)),
    );
    const { points, requests } = requestCurve(rows, 400);
    assert.ok(points.length <= 400);
    assert.equal(requests, 1_001);
    assert.equal(
      points.reduce((sum, point) => sum + point.requests, 0),
      1_001,
    );
    const peak = points.find(({ tokens }) => tokens === 20_000);
    assert.deepEqual(
      [peak?.request, peak?.requests, peak?.number, peak?.cacheShare, peak?.cost],
      ["t.502", 3, 502, 20_000 / 22_000, 2],
    );
  });

  it("is empty for a session without requests", () => {
    assert.deepEqual(requestCurve([], 10), { points: [], requests: 0 });
  });
});
