import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { cutProblem, type ProgramMessage } from "../../packages/inside/src/client/host-client.ts";
import { alignLists } from "../../packages/inside/src/service/align.ts";
import { withWholePairs } from "../../packages/inside/src/service/kept-indexes.ts";

const words = (text: string): string[] => text.split(" ");

describe("a program's list against what is stored", () => {
  it("continues at the end of what is stored, after a head and with words that come twice", () => {
    assert.deepEqual(alignLists(words("a ok b ok c"), words("head ok c new")), {
      unknown: 1,
      from: 3,
      count: 2,
    });
    assert.deepEqual(alignLists(words("a b"), words("a b c")), { unknown: 0, from: 0, count: 2 });
    assert.equal(alignLists(words("a b"), words("x y")), undefined);
    assert.equal(alignLists([], words("x")), undefined);
  });

  it("ends before the end of what is stored where the user went back", () => {
    assert.deepEqual(alignLists(words("a b c d"), words("a b other")), { unknown: 0, from: 0, count: 2 });
  });

  it("finds every suffix of what is stored after any head", () => {
    const mark = fc.constantFrom("a", "b", "c");
    fc.assert(
      fc.property(
        fc.array(mark, { minLength: 1, maxLength: 12 }),
        fc.nat(11),
        fc.array(mark, { maxLength: 3 }),
        (stored, cut, added) => {
          const suffix = stored.slice(Math.min(cut, stored.length - 1));
          const begins = stored.length - suffix.length;
          const found = alignLists(stored, ["head", ...suffix, ...added], begins);
          assert.deepEqual(found, { unknown: 1, from: begins, count: suffix.length });
        },
      ),
    );
  });
});

const message = (calls: string[], results: string[]): ProgramMessage => ({
  role: calls.length > 0 ? "assistant" : "user",
  text: "words",
  calls: calls.map((id) => ({ id, name: "Bash", input: {} })),
  results: results.map((id) => ({ id, text: "out", isError: false })),
});

describe("the cut points of a compaction", () => {
  const list = [
    message([], []),
    message(["1", "2"], []),
    message([], ["1"]),
    message([], ["2"]),
    message([], []),
  ];

  it("have whole pairs: the other half of a kept call or result is added", () => {
    assert.deepEqual(withWholePairs(list, [3, 4]), [1, 2, 3, 4]);
    assert.deepEqual(withWholePairs(list, [4]), [4]);
    assert.equal(withWholePairs(list, [0, 3, 4]), undefined);
  });

  it("are refused by the client when a pair is divided, an index is unknown or the order is wrong", () => {
    const problem = (keep: unknown, head = "What happened."): string | undefined =>
      cutProblem(list, { head, keep });
    assert.equal(problem([1, 2, 3, 4]), undefined);
    assert.equal(problem([]), undefined);
    assert.match(problem([3, 4]) ?? "", /without its call/);
    assert.match(problem([1, 2]) ?? "", /without its result/);
    assert.match(problem([7]) ?? "", /does not have/);
    assert.match(problem([4, 3]) ?? "", /order/);
    assert.match(problem([4, "x"]) ?? "", /order/);
    assert.match(problem(undefined) ?? "", /no messages/);
    assert.match(problem([4], " ") ?? "", /no head/);
  });

  it("hold for every choice of the engine after the pairs are made whole", () => {
    const choice = fc.array(fc.nat(list.length - 1), { maxLength: list.length });
    fc.assert(
      fc.property(choice, (kept) => {
        const keep = withWholePairs(list, kept);
        if (keep) assert.equal(cutProblem(list, { head: "What happened.", keep }), undefined);
      }),
    );
  });
});
