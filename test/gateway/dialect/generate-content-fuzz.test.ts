/** Invalid bodies of the generateContent API: they are refused as invalid, or all spans found in them are valid. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { generateContentDialect as dialect } from "../../../packages/gateway/src/dialect/generate-content/generate-content-dialect.ts";
import type { WireRequest } from "../../../packages/gateway/src/dialect/wire-dialect.ts";
import { JsonScanError } from "../../../packages/gateway/src/json/scan.ts";
import { passing } from "../../../packages/gateway/src/splice/splice-request.ts";
import { NAMES, recorded, type Recorded } from "./generate-content-recorded.ts";
import { runs } from "../../runner/short-form.ts";

function readOrRefuse({ path, headers, body }: Recorded): WireRequest | undefined {
  try {
    return dialect.read(path, headers, body);
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
  }
  assert.ok(prefixCount >= 0 && prefixCount <= items.length);
  assert.ok(liveFrom >= prefixCount && liveFrom <= items.length);
  assert.ok(Buffer.concat(passing(request)).equals(body), "passes byte for byte");
  dialect.encode([{ role: "user", content: "So?" }], "Rules.", { request, mayMark: true });
}

describe("A body of the generateContent API", () => {
  it("that is truncated anywhere is refused", () => {
    for (const name of NAMES.slice(0, 3)) {
      const { path, headers, body } = recorded(name);
      for (let end = 0; end < body.length; end += end < 200 ? 1 : 7)
        assert.equal(readOrRefuse({ path, headers, body: body.subarray(0, end) }), undefined);
    }
  });

  it("with changed, removed or inserted bytes is refused, or read with valid spans", () => {
    const noise = fc.array(
      fc.constantFrom(...'{}[]",:\\ \n0nt'.split("").map((char) => char.charCodeAt(0))),
      { maxLength: 4 },
    );
    // Numbers of `fc.double` are nearly all close to 0.
    const share = fc.nat(10_000).map((part) => part / 10_000);
    fc.assert(
      fc.property(
        fc.constantFrom(...NAMES),
        fc.array(fc.tuple(share, noise, fc.nat(6)), { minLength: 1, maxLength: 4 }),
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

  it("with parts of any types is read, or refused", () => {
    const odd = fc.oneof(
      fc.constantFrom<unknown>("a", "", null, 7, true, [], {}, ["x"], [null]),
      fc.jsonValue(),
    );
    const record = (shape: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<unknown> =>
      fc.record(shape, { requiredKeys: [] });
    const part = record({
      text: odd,
      thought: odd,
      thoughtSignature: odd,
      functionCall: fc.oneof(odd, record({ id: odd, name: odd, args: odd })),
      functionResponse: fc.oneof(odd, record({ id: odd, name: odd, response: odd, parts: odd })),
      inlineData: fc.oneof(odd, record({ mimeType: odd, data: odd })),
      fileData: odd,
    });
    const content = record({
      role: fc.constantFrom<unknown>("user", "model", "function", "oracle", 7),
      parts: fc.oneof(odd, part, fc.array(part, { maxLength: 3 })),
    });
    const body = fc.record({
      contents: fc.array(fc.oneof({ weight: 9, arbitrary: content }, odd), { maxLength: 6 }),
      systemInstruction: odd,
      tools: odd,
      toolConfig: odd,
      generationConfig: odd,
    });
    const [agent] = [recorded(NAMES[0] ?? "").headers];
    let read = 0;
    fc.assert(
      fc.property(body, fc.boolean(), (value, isCli) => {
        const request = readOrRefuse({
          path: "/v1beta/models/m:generateContent",
          headers: isCli ? agent : {},
          body: Buffer.from(JSON.stringify(value)),
        });
        check(request);
        if (request) read += 1;
      }),
      { numRuns: runs(1_500), seed: 8 },
    );
    assert.ok(read > runs(1_500) / 5, `${read} were read`);
  });
});
