/** Long data of plugins in a transcript, which the reading of a context leaves out without parsing it. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  entryWithoutData,
  parseEntry,
} from "../../packages/host/src/stores/files/transcript/transcript-entry.ts";

const LONG = "x".repeat(5_000);

describe("an entry without its data", () => {
  it("has the other fields of the parsed one, whatever they are", () => {
    const word = fc.string({ minLength: 1, unit: "grapheme" });
    const fields = fc.record({ id: word, parent: fc.option(word), turn: fc.option(word), kind: word });
    fc.assert(
      fc.property(fields, fc.boolean(), ({ id, parent, turn, kind }, hasEpoch) => {
        const entry = {
          type: "custom",
          id,
          parentId: parent,
          timestamp: "2026-11-30T00:00:00.000Z",
          ...(turn === null ? {} : { turnId: turn }),
          ...(hasEpoch ? { epoch: 1 } : {}),
          customType: kind,
          data: { text: LONG },
        };
        const bytes = Buffer.from(JSON.stringify(entry));
        const bare = entryWithoutData(bytes);
        const whole = parseEntry(bytes);
        assert.ok("entry" in whole && whole.entry.type === "custom");
        if (!bare) return;
        for (const key of ["id", "parentId", "timestamp", "turnId", "customType"] as const)
          assert.equal(bare[key], whole.entry[key]);
      }),
    );
  });

  it("is only made of a long line of a plugin's data", () => {
    const at = { id: "a", parentId: null, timestamp: "2026-11-30T00:00:00.000Z" };
    const line = (fields: object): Buffer => Buffer.from(JSON.stringify(fields));
    assert.ok(entryWithoutData(line({ type: "custom", ...at, customType: "k", data: LONG })));
    assert.equal(entryWithoutData(line({ type: "custom", ...at, customType: "k", data: "x" })), undefined);
    const message = { role: "user", content: LONG };
    assert.equal(entryWithoutData(line({ type: "message", ...at, message })), undefined);
  });
});
