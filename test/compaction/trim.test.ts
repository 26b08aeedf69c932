import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { trimToolResult } from "../../packages/core/src/compaction/trim.ts";
import type { ToolResultMessage } from "../../packages/contract/src/message.ts";
import { result } from "./histories.ts";

function textOf(message: ToolResultMessage): string {
  return message.content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

test("a short result is returned as the same object", () => {
  const message = result("1", "short");
  const trimmed = trimToolResult(message, 1_000);
  assert.equal(trimmed.message, message);
  assert.equal(trimmed.trimmed, undefined);
});

test("a long result keeps whole lines of head and tail, and a marker names the gap and the entry", () => {
  const lines = Array.from({ length: 2_000 }, (_, index) => `line ${index}`);
  const { message, trimmed } = trimToolResult(result("1", lines.join("\n"), { entryId: "e7" }), 2_000);
  const text = textOf(message);
  assert.ok(text.length <= 2_000);
  assert.match(text, /^line 0\nline 1\n/);
  assert.match(text, /\nline 1999$/);
  const marker = /\[\.\.\. (\d+) characters left out; the whole result is entry e7 \.\.\.\]/.exec(text);
  const shown = text.length - (marker?.[0].length ?? 0) - 2;
  assert.equal(Number(marker?.[1]), lines.join("\n").length - shown);
  for (const line of text.split("\n")) assert.match(line, /^line \d+$|^\[/);
  assert.deepEqual(trimmed, {
    fromBytes: Buffer.byteLength(lines.join("\n")),
    toBytes: Buffer.byteLength(text),
  });
});

test("the text of all parts is counted together, and images stay", () => {
  const image = { type: "image" as const, data: "AAAA", mimeType: "image/png" };
  const part = { type: "text" as const, text: "x".repeat(600) };
  const message = { ...result("1", ""), content: [image, part, image, part] };
  assert.equal(trimToolResult(message, 1_200).message, message);
  const { message: trimmed } = trimToolResult(message, 1_000);
  assert.deepEqual(
    trimmed.content.map((item) => item.type),
    ["image", "text", "image"],
  );
  assert.ok(textOf(trimmed).length <= 1_000);
});

test("trimming is deterministic, trims nothing twice and never leaves half a character", () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom("a", "😀", "\n", "文", " "), { maxLength: 2_000 }),
      fc.integer({ min: 0, max: 900 }),
      (parts, max) => {
        const message = result("1", parts.join(""), { entryId: "e1" });
        const once = trimToolResult(message, max).message;
        assert.deepEqual(trimToolResult(message, max).message, once);
        assert.equal(trimToolResult(once, max).message, once);
        assert.ok(textOf(once).length <= Math.max(max, 200));
        assert.ok(textOf(once).isWellFormed());
      },
    ),
  );
});
