import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  countOf,
  fieldOf,
  filledString,
  isObjectOrList,
  isRecord,
  objectOrListOf,
  parseRecord,
  recordOf,
  recordsOf,
} from "../../packages/core/src/data/record-fields.ts";

describe("fields of unchecked values", () => {
  it("records exclude lists and null; objects or lists exclude null only", () => {
    const values = [{ a: 1 }, ["a"], null, "a", undefined];
    assert.deepEqual(values.map(isRecord), [true, false, false, false, false]);
    assert.deepEqual(values.map(isObjectOrList), [true, true, false, false, false]);
    assert.deepEqual(values.map(recordOf), [{ a: 1 }, {}, {}, {}, {}]);
    assert.deepEqual(values.map(objectOrListOf), [{ a: 1 }, ["a"], {}, {}, {}]);
  });

  it("lists, strings and counts of another type are empty", () => {
    assert.deepEqual(recordsOf([{ a: 1 }, 2]), [{ a: 1 }, {}]);
    assert.deepEqual(recordsOf({ length: 1 }), []);
    assert.deepEqual(["a", "", 1].map(filledString), ["a", undefined, undefined]);
    assert.deepEqual([0, -1, Infinity, "1"].map(countOf), [0, undefined, undefined, undefined]);
    assert.equal(fieldOf({ a: 1 }, "a"), 1);
    assert.equal(fieldOf(null, "a"), undefined);
  });

  it("text that is no JSON object has no record", () => {
    assert.deepEqual(parseRecord('{"a":1}'), { a: 1 });
    for (const text of ["[1]", '{"a":', "<html>"]) assert.equal(parseRecord(text), undefined);
  });
});
