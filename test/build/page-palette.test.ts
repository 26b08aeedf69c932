/** Which entries of the palette fit what a user types. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { matching, type Entry } from "../../packages/inspector/src/palette/match.ts";

function entry(group: string, label: string, hint?: string): Entry {
  return { id: label, group, label, hint, run: () => undefined };
}

const ALL = [
  entry("Action", "New conversation"),
  entry("Conversation", "A new berth for the Heron", "/home/ann/harbour"),
  entry("Setting", "Theme: dark"),
  entry("Command", "/compact [focus]", "Summarize older messages"),
  entry("Setting", "Model: lab/renewed"),
];

const found = (typed: string, most = 10) => matching(ALL, typed, most).map(({ label }) => label);

describe("the palette", () => {
  it("has all entries in their order before a word is typed, and at most as many as fit", () => {
    assert.deepEqual(found(" ", 2), ["New conversation", "A new berth for the Heron"]);
  });

  it("puts a beginning before the beginning of a later word, and that before the middle of one", () => {
    assert.deepEqual(found("new"), ["New conversation", "A new berth for the Heron", "Model: lab/renewed"]);
  });

  it("needs every word, in any order, also of the group and the hint", () => {
    assert.deepEqual(found("heron HARB"), ["A new berth for the Heron"]);
    assert.deepEqual(found("dark setting"), ["Theme: dark"]);
    assert.deepEqual(found("summarize"), ["/compact [focus]"]);
    assert.deepEqual(found("heron dark"), []);
  });
});
