import assert from "node:assert/strict";
import { test } from "node:test";
import { entryText } from "../../packages/cli/src/sessions/entry-text.ts";

test("a degradation in a transcript is shown with its stage and its reason", () => {
  const shown = entryText({
    type: "custom",
    id: "e1",
    parentId: null,
    timestamp: "2026-11-29T00:00:00.000Z",
    customType: "pagurus.degraded",
    data: { stage: "answer", reason: "the answer carried audio, which its message does not have" },
  });
  assert.deepEqual(shown, {
    title: "Degraded (answer)",
    text: "the answer carried audio, which its message does not have",
  });
});
