import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { responsesDialect } from "../../../packages/gateway/src/dialect/responses/responses-dialect.ts";
import type { WireHeaders, WireRequest } from "../../../packages/gateway/src/dialect/wire-dialect.ts";
import { JsonScanError } from "../../../packages/gateway/src/json/scan.ts";
import { bytesOf, RECORDED, recorded } from "./responses-recorded.ts";
import { runs } from "../../runner/short-form.ts";

/** Checks the invariants of every request that is read; undefined for one that is refused with a scan error. */
function checked(path: string, headers: WireHeaders, body: Buffer): WireRequest | undefined {
  let request: WireRequest;
  try {
    request = responsesDialect.read(path, headers, body);
  } catch (error) {
    assert.ok(error instanceof JsonScanError, String(error));
    return undefined;
  }
  const { list, items, prefixCount, liveFrom } = request;
  assert.ok(0 <= prefixCount && prefixCount <= liveFrom && liveFrom <= items.length);
  let at = list.start;
  for (const item of items) {
    assert.ok(item.start > at - 1 && item.start > list.start && item.start < item.end && item.end < list.end);
    at = item.end;
    assert.ok(Array.isArray(item.messages));
    if (item.kind === "setting") assert.equal(item.messages.length, 0);
    assert.ok(item.replacement === undefined || item.replacement.length > 0);
  }
  if (request.kind !== "main" && request.kind !== "compaction") return request;
  responsesDialect.answer(request, "S", { input: 1, output: 1, totalTokens: 2 });
  responsesDialect.encode(
    items.flatMap(({ messages }) => messages),
    "RULES",
    { request, mayMark: false },
  );
  return request;
}

describe("truncated or changed requests", () => {
  for (const name of RECORDED)
    it(`${name}: prefix, elements and the bytes between them are the body, byte for byte`, () => {
      const { path, headers, body } = recorded(name);
      const request = checked(path, headers, body);
      assert.ok(request && request.items.length > 0);
      const { list, items } = request;
      const gaps: string[] = [];
      let whole = bytesOf(request, { start: 0, end: list.start + 1 });
      let at = list.start + 1;
      for (const item of items) {
        gaps.push(bytesOf(request, { start: at, end: item.start }));
        whole += gaps.at(-1) + bytesOf(request, item);
        at = item.end;
      }
      whole += bytesOf(request, { start: at, end: body.length });
      assert.equal(whole, body.toString());
      assert.deepEqual(new Set(gaps.slice(1)), new Set(items.length > 1 ? [","] : []));
      assert.equal(body.toString("utf8", at, list.end), "]");
    });

  it("every truncated body is refused with one kind of error", () => {
    for (const name of ["loop-1", "remote-2"]) {
      const { path, headers, body } = recorded(name);
      for (let end = 0; end < body.length; end += 3)
        assert.equal(checked(path, headers, body.subarray(0, end)), undefined);
    }
  });

  it("changed bytes give spans in order, or that error", () => {
    const change = fc.record({
      name: fc.constantFrom(...RECORDED),
      at: fc.array(fc.tuple(fc.nat(16_000), fc.constantFrom(...Buffer.from('[]{}",:\\ 1a\n\u00ff'))), {
        minLength: 1,
        maxLength: 4,
      }),
    });
    fc.assert(
      fc.property(change, ({ name, at }) => {
        const { path, headers, body } = recorded(name);
        const changed = Buffer.from(body);
        for (const [index, byte] of at) changed[index % changed.length] = byte;
        checked(path, headers, changed);
      }),
      { numRuns: runs(3000) },
    );
  });

  it("removed or repeated parts give spans in order, or that error", () => {
    const cut = fc.tuple(fc.constantFrom(...RECORDED), fc.nat(16_000), fc.nat(300), fc.boolean());
    fc.assert(
      fc.property(cut, ([name, at, length, twice]) => {
        const { path, headers, body } = recorded(name);
        const from = at % body.length;
        const part = body.subarray(from, from + length);
        const rest = body.subarray(from + length);
        const pieces = twice ? [body.subarray(0, from), part, part, rest] : [body.subarray(0, from), rest];
        checked(path, headers, Buffer.concat(pieces));
      }),
      { numRuns: runs(2000) },
    );
  });

  it("fields of unexpected types break nothing", () => {
    const input = fc.array(
      fc.record(
        {
          type: fc.oneof(
            fc.constantFrom("message", "reasoning", "function_call", "function_call_output", "compaction"),
            fc.jsonValue({ maxDepth: 1 }),
          ),
          role: fc.oneof(fc.constantFrom("user", "assistant", "developer"), fc.jsonValue({ maxDepth: 1 })),
          id: fc.jsonValue({ maxDepth: 1 }),
          call_id: fc.jsonValue({ maxDepth: 1 }),
          content: fc.jsonValue({ maxDepth: 3 }),
          output: fc.jsonValue({ maxDepth: 2 }),
          summary: fc.jsonValue({ maxDepth: 2 }),
          encrypted_content: fc.jsonValue({ maxDepth: 1 }),
          internal_chat_message_metadata_passthrough: fc.jsonValue({ maxDepth: 2 }),
        },
        { requiredKeys: [] },
      ),
      { maxLength: 5 },
    );
    fc.assert(
      fc.property(input, fc.jsonValue({ maxDepth: 2 }), (items, other) => {
        const body = Buffer.from(JSON.stringify({ input: items, tools: other, model: other, stream: other }));
        assert.ok(checked("/responses", { "x-codex-turn-metadata": JSON.stringify(other) }, body));
      }),
      { numRuns: runs(1000) },
    );
  });
});
