import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { bodyDiff, type DividedBody } from "../../packages/server/src/inspect/requests/body-diff.ts";
import type { PartSource } from "../../packages/api/src/types.ts";
import type { BodyPart } from "../../packages/server/src/inspect/parts/body-part.ts";

interface Piece {
  source: PartSource;
  text: string;
  entry?: string;
}

/** A body of these pieces, with a comma as framing between them; a token is a byte. */
function divided(pieces: readonly Piece[]): DividedBody {
  const parts: BodyPart[] = [];
  let text = "";
  for (const { source, text: own, entry } of pieces) {
    if (text !== "") {
      parts.push({ from: text.length, to: text.length + 1, source: "framing", tokens: 0 });
      text += ",";
    }
    const from = text.length;
    text += own;
    parts.push({
      from,
      to: text.length,
      source,
      tokens: own.length,
      ...(entry === undefined ? {} : { entryIds: [entry] }),
    });
  }
  return { body: Buffer.from(text), parts };
}

const system: Piece = { source: "system", text: "Be short." };
const tool = (name: string): Piece => ({ source: "tools", text: name });
const message = (entry: string, text: string): Piece => ({ source: "kept", text, entry });

describe("the diff of two request bodies", () => {
  it("finds nothing between equal ones", () => {
    const one = divided([system, message("1", "Hello.")]);
    const diff = bodyDiff(one, one);
    assert.deepEqual(diff, { sharedTokens: 15, restTokens: 0, unchangedParts: 2, changes: [] });
  });

  it("of a request that only grew has the new parts, and all that was before as shared", () => {
    const before = divided([system, message("1", "Hello.")]);
    const after = divided([system, message("1", "Hello."), message("2", "Hi."), message("3", "More.")]);
    const diff = bodyDiff(before, after);
    assert.equal(diff.firstByte, before.body.length);
    assert.equal(diff.sharedTokens, 15);
    assert.deepEqual(diff.changes, [
      { change: "added", after: 4 },
      { change: "added", after: 6 },
    ]);
  });

  it("names the first byte and its part, and what it costs from there", () => {
    const before = divided([system, tool("read"), tool("write"), message("1", "Hello.")]);
    const after = divided([system, tool("read"), tool("search"), tool("write"), message("1", "Hello.")]);
    const diff = bodyDiff(before, after);
    assert.equal(diff.firstByte, "Be short.,read,".length);
    assert.equal(diff.firstPart, 4);
    assert.equal(diff.restTokens, "searchwriteHello.".length);
    assert.deepEqual(diff.changes, [{ change: "added", after: 4 }]);
    assert.equal(diff.unchangedParts, 4);
  });

  it("distinguishes a part that changed from one that moved", () => {
    const before = divided([message("1", "One."), message("2", "Two."), message("3", "Three.")]);
    const after = divided([message("3", "Three."), message("1", "One."), message("2", "2.")]);
    assert.deepEqual(bodyDiff(before, after).changes, [
      { change: "moved", before: 4, after: 0 },
      { change: "changed", before: 2, after: 4 },
    ]);
  });

  it("has each part of both sides once, for any two requests", () => {
    const piece = fc.oneof(
      fc.constantFrom(system, tool("a"), tool("b"), tool("c")),
      fc.record({
        source: fc.constantFrom<PartSource>("kept", "live", "head"),
        text: fc.constantFrom("x", "yy", "zzz"),
        entry: fc.constantFrom("1", "2", "3", "4"),
      }),
    );
    const pieces = fc.array(piece, { maxLength: 12 });
    fc.assert(
      fc.property(pieces, pieces, (one, other) => {
        const [before, after] = [divided(one), divided(other)];
        const { changes, unchangedParts, firstByte } = bodyDiff(before, after);
        const had = changes.filter((change) => change.before !== undefined).length + unchangedParts;
        const has = changes.filter((change) => change.after !== undefined).length + unchangedParts;
        assert.equal(had, one.length);
        assert.equal(has, other.length);
        assert.equal(
          new Set(changes.map((change) => change.after ?? `gone ${change.before}`)).size,
          changes.length,
        );
        assert.equal(firstByte === undefined, before.body.equals(after.body));
      }),
    );
  });
});
