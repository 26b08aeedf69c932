/** Invalid bodies: they are refused as invalid, or all spans found in them are valid. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { messagesDialect } from "../../../packages/gateway/src/dialect/messages/messages-dialect.ts";
import type { WireRequest } from "../../../packages/gateway/src/dialect/wire-dialect.ts";
import { JsonScanError } from "../../../packages/gateway/src/json/scan.ts";
import { NAMES, recorded, type Recorded } from "./messages-recorded.ts";
import { runs } from "../../runner/short-form.ts";

function readOrRefuse({ path, headers, body }: Recorded): WireRequest | undefined {
  try {
    return messagesDialect.read(path, headers, body);
  } catch (error) {
    assert.ok(error instanceof JsonScanError, String(error));
    return undefined;
  }
}

/** Reads everything that is evaluated on demand, too. */
function check(request: WireRequest | undefined): void {
  if (!request) return;
  const { body, list, items, prefixCount, liveFrom } = request;
  assert.ok(list.start >= 0 && list.end <= body.length && list.start < list.end);
  let at = list.start + 1;
  for (const item of items) {
    assert.ok(item.start >= at && item.end > item.start && item.end < list.end);
    at = item.end;
    if (item.kind === "setting") assert.deepEqual(item.messages, []);
    for (const { role } of item.messages) assert.ok(["user", "assistant", "toolResult"].includes(role));
    assert.equal(typeof (item.isPassing ?? false), "boolean");
    if (item.surroundings) JSON.parse(item.surroundings.toString("utf8"));
  }
  assert.ok(prefixCount >= 0 && prefixCount <= items.length);
  assert.ok(liveFrom >= prefixCount && liveFrom <= items.length);
  messagesDialect.encode([{ role: "user", content: "So?" }], "Rules.", { request, mayMark: true });
}

describe("A body of the Messages API", () => {
  it("that is truncated anywhere is refused", () => {
    for (const name of ["opus-tool-results", "count", "title"]) {
      const { path, headers, body } = recorded(name);
      for (let end = 0; end < body.length; end += end < 200 ? 1 : 7)
        assert.equal(readOrRefuse({ path, headers, body: body.subarray(0, end) }), undefined);
    }
  });

  it("with changed, removed or inserted bytes is refused, or read with valid spans", () => {
    const noise = fc.array(
      fc.constantFrom(...'{}[]",:\\ \n0nt'.split("").map((char) => char.charCodeAt(0))),
      {
        maxLength: 4,
      },
    );
    // Numbers of `fc.double` are nearly all close to 0.
    const share = fc.nat(10_000).map((part) => part / 10_000);
    fc.assert(
      fc.property(
        fc.constantFrom(...NAMES),
        fc.array(fc.tuple(share, noise, fc.nat(6)), {
          minLength: 1,
          maxLength: 4,
        }),
        (name, changes) => {
          const made = recorded(name);
          let { body } = made;
          for (const [place, bytes, gone] of changes) {
            const at = Math.floor(place * (body.length - 1));
            body = Buffer.concat([body.subarray(0, at), Buffer.from(bytes), body.subarray(at + gone)]);
          }
          check(readOrRefuse({ ...made, body }));
        },
      ),
      { numRuns: runs(1_500) },
    );
  });

  it("with extreme nesting is read", () => {
    const deep = (count: number, open: string, close: string): string =>
      open.repeat(count) + close.repeat(count);
    const lists = deep(200_000, "[", "]");
    const blocks = `${'{"cache_control":{},"content":'.repeat(50_000)}""${"}".repeat(50_000)}`;
    for (const content of [lists, blocks, `[${blocks}]`]) {
      const body = Buffer.from(`{"messages":[{"role":"user","content":${content}}]}`);
      check(readOrRefuse({ path: "/messages", headers: {}, body }));
    }
  });

  it("of any JSON is refused, or read with valid spans", () => {
    const value = fc.jsonValue({ maxDepth: 3 });
    const block = fc.record(
      {
        type: fc.constantFrom("text", "tool_use", "tool_result", "image", "thinking", "odd"),
        text: fc.oneof(fc.string(), value),
        content: value,
        id: value,
        tool_use_id: value,
        input: value,
        name: value,
        source: value,
        cache_control: value,
      },
      { requiredKeys: [] },
    );
    const element = fc.record(
      {
        role: fc.oneof(fc.constantFrom("user", "assistant", "system"), value),
        content: fc.oneof(value, fc.array(block)),
      },
      { requiredKeys: [] },
    );
    const body = fc.record(
      {
        messages: fc.oneof(value, fc.array(fc.oneof(element, value))),
        system: fc.oneof(value, fc.array(block)),
        tools: value,
        metadata: value,
        max_tokens: value,
        output_config: value,
        model: value,
        stream: value,
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.oneof(body, value), (made) => {
        check(readOrRefuse({ path: "/messages", headers: {}, body: Buffer.from(JSON.stringify(made)) }));
      }),
      { numRuns: runs(2_000) },
    );
  });
});
