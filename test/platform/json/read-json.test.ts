/** JSON texts of clients: bounded in their bytes, in whatever pieces these come, and parsed beside the event loop when they are long. */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import fc from "fast-check";
import { JsonMeter } from "../../../packages/core/src/platform/json/json-bounds.ts";
import { JsonThread } from "../../../packages/core/src/platform/json/json-thread.ts";
import { readJson } from "../../../packages/core/src/platform/json/read-json.ts";
import { runs } from "../../runner/short-form.ts";

const BOUNDS = { maxItems: 1_000, maxDepth: 50, maxMembers: 500 };

/** Items and depth of a value, counted on the value. */
function sizeOf(value: unknown): { items: number; depth: number; most: number } {
  if (typeof value !== "object" || value === null) return { items: 0, depth: 0, most: 0 };
  const members = Object.values(value).map(sizeOf);
  const items = 1 + Math.max(0, members.length - 1) + members.reduce((sum, each) => sum + each.items, 0);
  const own = Array.isArray(value) ? 0 : members.length;
  const most = Math.max(own, ...members.map((member) => member.most));
  return { items, depth: 1 + Math.max(0, ...members.map(({ depth }) => depth)), most };
}

function fits(
  text: string,
  bounds: { maxItems: number; maxDepth: number; maxMembers?: number },
  cuts: readonly number[],
): boolean {
  const bytes = Buffer.from(text);
  const meter = new JsonMeter({ maxMembers: Infinity, ...bounds });
  const places = [...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].toSorted((a, b) => a - b);
  try {
    let from = 0;
    for (const place of places) {
      meter.add(bytes.subarray(from, place));
      from = place;
    }
    return true;
  } catch {
    return false;
  }
}

describe("the bounds of a JSON text", () => {
  it("are exact for every value, however its text is cut and escaped", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), fc.array(fc.nat(), { maxLength: 6 }), (value, cuts) => {
        const { items, depth, most } = sizeOf(value);
        const text = JSON.stringify(value);
        assert.equal(fits(text, { maxItems: items, maxDepth: depth }, cuts), true);
        const bounds = { maxItems: items, maxDepth: depth };
        assert.equal(fits(text, { ...bounds, maxMembers: Math.max(1, most) }, cuts), true);
        if (most > 1) assert.equal(fits(text, { ...bounds, maxMembers: most - 1 }, cuts), false);
        if (items > 0) assert.equal(fits(text, { maxItems: items - 1, maxDepth: depth }, cuts), false);
        if (depth > 0) assert.equal(fits(text, { maxItems: items, maxDepth: depth - 1 }, cuts), false);
      }),
      { numRuns: runs(2_000), seed: 7 },
    );
  });

  it("do not count what is in a string", () => {
    const text = JSON.stringify(`${'[{,"\\'.repeat(10_000)}\\\\`);
    for (const cut of [0, 1, 2, 3, 5, 7, 11])
      assert.equal(fits(text, { maxItems: 0, maxDepth: 0 }, [cut, cut * 31]), true);
  });
});

describe("a text that is read", () => {
  const thread = new JsonThread();
  after(() => thread.close());

  it("is the value that JSON.parse makes of it, short or long", async () => {
    for (const size of [1, 2 ** 20]) {
      const value = { text: "ä\n".repeat(size), list: [1, null, { __proto__: 1 }], "": "" };
      const text = JSON.stringify(value);
      assert.deepEqual(await readJson(Buffer.from(text), BOUNDS, thread), JSON.parse(text));
    }
  });

  it("is refused for its items and its depth before it is parsed", async () => {
    const bombs = [`[${"[],".repeat(400_000)}0]`, "[".repeat(400_000), '{"a":'.repeat(100_000)];
    for (const bomb of bombs)
      await assert.rejects(readJson(Buffer.from(bomb), BOUNDS, thread), { code: "body_too_long" });
  });

  it("is a SyntaxError where it is no JSON, also a long one, and the next one is read", async () => {
    for (const text of ["{", `{"a":"${"x".repeat(2 ** 20)}`])
      await assert.rejects(readJson(Buffer.from(text), BOUNDS, thread), SyntaxError);
    assert.equal(await readJson(Buffer.from("1"), BOUNDS, thread), 1);
  });
});
