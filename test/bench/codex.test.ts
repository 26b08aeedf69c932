import assert from "node:assert/strict";
import { test } from "node:test";
import { interleaved, overheadOf, quantile } from "../../bench/codex/paired.ts";
import { recordedOf } from "../../bench/codex/record.ts";
import { longTest } from "../runner/long-tests.ts";

test("the overhead is that of the pairs, not of the medians", () => {
  // Each pair was measured at another time; the host took 5 ms more in all but the last.
  const pairs = [
    { host: 105, bare: 100 },
    { host: 25, bare: 20 },
    { host: 65, bare: 60 },
    { host: 45, bare: 40 },
    { host: 90, bare: 20 },
  ];
  assert.deepEqual(overheadOf(pairs), { host: 65, bare: 40, p50: 5, p95: 70 });
});

test("a quantile of nothing is 0, of one value that value", () => {
  assert.equal(quantile([], 0.5), 0);
  assert.equal(quantile([3], 0.95), 3);
  assert.equal(quantile([4, 1, 3, 2, 5], 0.5), 3);
});

longTest("both drivers alternate, each first in every second pair", async () => {
  const order: string[] = [];
  const driver =
    (name: string) =>
    (index: number): Promise<number> => {
      order.push(`${name}${index}`);
      return Promise.resolve(index);
    };
  const pairs = await interleaved(2, 1, driver("host"), driver("bare"));
  assert.deepEqual(order, ["host0", "bare0", "bare1", "host1", "host2", "bare2"]);
  assert.deepEqual(pairs, [
    { host: 1, bare: 1 },
    { host: 2, bare: 2 },
  ]);
});

test("a recording has the requests of the newest turn, without the thread and the input of its own", () => {
  const recorded = [
    { id: 0, method: "initialize", params: { clientInfo: { name: "host" } } },
    { method: "initialized" },
    { id: 1, method: "thread/start", params: { model: "m", cwd: "/work" } },
    { id: 2, method: "thread/inject_items", params: { threadId: "t", items: [{ a: 1 }, { a: 2 }] } },
    { id: 3, method: "turn/start", params: { threadId: "t", input: [{ type: "text" }], effort: "low" } },
  ];
  const lines = recorded.map((message) => `${JSON.stringify(message)}\n`).join("");
  assert.deepEqual(recordedOf("app-server\n-c\na b=c\n", lines), {
    args: ["app-server", "-c", "a b=c"],
    initialize: { clientInfo: { name: "host" } },
    threadStart: { model: "m", cwd: "/work" },
    turnStart: { effort: "low" },
    items: [{ a: 1 }, { a: 2 }],
  });
});

test("a recording without a turn is refused", () => {
  assert.throws(() => recordedOf("app-server\n", ""), /has not sent turn\/start/);
});
