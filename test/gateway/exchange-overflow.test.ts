/** Refusals through the gateway that no words explain, and that a smaller context cures. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { Governor } from "../../packages/gateway/src/governor/governor.ts";
import { Bench, BODY, DONE, governed, user, wordsOf, type Answer } from "./exchange-bench.ts";

const LONG = "The quick brown fox jumps over the lazy dog. ".repeat(100);
const SMALL_WINDOW = 1_000;

function refused(status: number): Answer {
  return (response) => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify({ error: { message: "Bad input" } }));
  };
}

/** An engine whose context is long until the provider has rejected one. */
const shortened: Governor["main"] = async (_request, { overflow }) =>
  governed(user(overflow ? "SHORT" : LONG), user("two"));

describe("a refusal without words about length", () => {
  let bench: Bench;
  afterEach(() => bench.end());

  for (const status of [400, 413, 422])
    it(`of HTTP ${status} brings a smaller context, if the request was near the window`, async () => {
      bench = new Bench();
      await bench.open({ main: shortened, windowOf: () => SMALL_WINDOW }, refused(status), DONE);
      const response = await bench.ask(BODY);
      assert.equal(response.status, 200);
      assert.match(await response.text(), /is free/);
      assert.deepEqual(bench.seen.map(wordsOf).at(-1), ["rules", "SHORT", "two"]);
      assert.equal(bench.answers[0]?.error?.overflow, true);
    });

  it("is tried once with a smaller context, and then passed on to the program", async () => {
    bench = new Bench();
    const main: Governor["main"] = async () => governed(user(LONG), user("two"));
    await bench.open({ main, windowOf: () => SMALL_WINDOW }, refused(400));
    const response = await bench.ask(BODY);
    assert.equal(response.status, 400);
    assert.match(await response.text(), /Bad input/);
    assert.equal(bench.seen.length, 2);
  });

  const others: [string, number, Partial<Governor>][] = [
    ["far from the window", 400, { windowOf: () => 200_000 }],
    ["whose model's window is not known", 400, {}],
    ["that is not allowed", 403, { windowOf: () => SMALL_WINDOW }],
  ];
  for (const [which, status, governor] of others)
    it(`of a request ${which} is passed on to the program at once`, async () => {
      bench = new Bench();
      await bench.open({ main: shortened, ...governor }, refused(status));
      const response = await bench.ask(BODY);
      assert.equal(response.status, status);
      assert.match(await response.text(), /Bad input/);
      assert.equal(bench.seen.length, 1);
    });
});
