import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  arrayElements,
  JsonScanError,
  objectMembers,
  parsePart,
  textAt,
  wholeMembers,
  wholeValue,
} from "../../packages/gateway/src/json/scan.ts";
import { runs } from "../runner/short-form.ts";
import { unicodeText } from "../runner/unicode-text.ts";

const space = fc.constantFrom("", "", " ", "\n", "\r\n\t ", "   ");
/** A character as itself, or escaped in one of JSON's ways. */
const escaped = fc
  .tuple(
    unicodeText({ maxLength: 80 }),
    fc.array(fc.constantFrom("\\", '"', "\\\\", '\\"', "\u0000", "é", "😀", "]", "}"), { maxLength: 12 }),
    fc.boolean(),
  )
  .map(([text, marks, isAscii]) => {
    const written = JSON.stringify(text + marks.join(""));
    return isAscii
      ? written.replace(/[^\x20-\x7e]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`)
      : written;
  });

interface Written {
  text: string;
}

/** JSON with random white space, and long and nested values. */
const { value } = fc.letrec<{ value: string; list: string; object: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    escaped,
    fc.constantFrom("null", "true", "false", "0", "-1.5e+10", "1E-7", '""', "[]", "{}"),
    fc.integer({ min: 1, max: 400 }).map((length) => JSON.stringify(`\\"${"x".repeat(length)}"\\`)),
    tie("list"),
    tie("object"),
  ),
  list: fc
    .array(fc.tuple(space, tie("value"), space), { maxLength: 5 })
    .map((parts) => `[${parts.map((part) => part.join("")).join(",")}]`),
  object: fc
    .array(
      fc.tuple(space, fc.oneof(escaped, fc.constantFrom('"a"', '"b"')), space, space, tie("value"), space),
      {
        maxLength: 5,
      },
    )
    .map(
      (members) => `{${members.map(([a, name, b, c, of, d]) => `${a}${name}${b}:${c}${of}${d}`).join(",")}}`,
    ),
}));
const text = fc.tuple(space, value, space).map((parts): Written => ({ text: parts.join("") }));

/** The value that `JSON.parse` returns, found by the scanner alone. */
function scanned(bytes: Buffer): unknown {
  const build = (span: { start: number; end: number }): unknown => {
    const first = bytes[span.start];
    if (first === 0x5b) return arrayElements(bytes, span).map(build);
    if (first === 0x7b)
      return Object.fromEntries([...objectMembers(bytes, span)].map(([name, of]) => [name, build(of)]));
    return parsePart(bytes, span);
  };
  return build(wholeValue(bytes));
}

/** `__proto__` is an ordinary name for the scanner. */
function plain(written: string): unknown {
  return JSON.parse(written, (_, of: unknown) =>
    typeof of === "object" && of !== null && !Array.isArray(of) ? Object.fromEntries(Object.entries(of)) : of,
  );
}

describe("scanning JSON bytes", () => {
  it("finds what JSON.parse finds, in any layout", () => {
    fc.assert(
      fc.property(text, ({ text: written }) => {
        assert.deepEqual(scanned(Buffer.from(written)), plain(written));
      }),
      { numRuns: runs(2000) },
    );
  });

  it("refuses every truncated object or list, and throws only its own error", () => {
    fc.assert(
      fc.property(value, (written) => {
        const bytes = Buffer.from(written);
        if (bytes[0] !== 0x5b && bytes[0] !== 0x7b) return;
        for (let end = 0; end < bytes.length; end++)
          assert.throws(() => scanned(bytes.subarray(0, end)), JsonScanError, `${end} of ${written}`);
      }),
      { numRuns: runs(300) },
    );
  });

  it("throws only its own error, and has no span beyond its container, whatever the bytes", () => {
    const junk = fc.array(
      fc.oneof(fc.constantFrom(...Buffer.from('[]{}",:\\ 1a\n')), fc.integer({ min: 0, max: 255 })),
      { maxLength: 40 },
    );
    fc.assert(
      fc.property(junk, (list) => {
        const bytes = Buffer.from(list);
        try {
          const whole = wholeValue(bytes);
          const inner = bytes[whole.start] === 0x5b ? arrayElements(bytes, whole) : [];
          const named = bytes[whole.start] === 0x7b ? [...objectMembers(bytes, whole).values()] : [];
          for (const { start, end } of [...inner, ...named])
            assert.ok(start > whole.start && end < whole.end && start < end);
        } catch (error) {
          assert.ok(error instanceof JsonScanError, String(error));
        }
      }),
      { numRuns: runs(20_000) },
    );
  });

  it("uses the last one of duplicate names, like JSON.parse", () => {
    const bytes = Buffer.from('{"a":1,"\\u0061":2,"b":{"a":3},"a":[4]}');
    const members = wholeMembers(bytes);
    assert.deepEqual([...members.keys()], ["a", "b"]);
    assert.deepEqual(parsePart(bytes, members.get("a") ?? wholeValue(bytes)), [4]);
  });

  it("has elements in order, with only commas and white space between them", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(space, value, space), { maxLength: 6 }), (parts) => {
        const bytes = Buffer.from(`[${parts.map((part) => part.join("")).join(",")}]`);
        let rest = "";
        let at = 0;
        for (const { start, end } of arrayElements(bytes, { start: 0, end: bytes.length })) {
          rest += bytes.toString("utf8", at, start);
          at = end;
        }
        assert.match(rest + bytes.toString("utf8", at), /^[[\],\s]*$/);
      }),
    );
  });

  it("one pass over a whole object finds the same as two, and refuses what follows it", () => {
    fc.assert(
      fc.property(text, ({ text: written }) => {
        const bytes = Buffer.from(written);
        if (!written.trimStart().startsWith("{")) {
          assert.throws(() => wholeMembers(bytes), JsonScanError);
          return;
        }
        assert.deepEqual([...wholeMembers(bytes)], [...objectMembers(bytes, wholeValue(bytes))]);
        assert.throws(() => wholeMembers(Buffer.from(`${written}x`)), JsonScanError);
      }),
    );
  });

  it("reads a string as JSON.parse does, and detects what is none", () => {
    fc.assert(
      fc.property(escaped, (written) => {
        const bytes = Buffer.from(written);
        assert.equal(textAt(bytes, { start: 0, end: bytes.length }), JSON.parse(written));
      }),
    );
    assert.equal(textAt(Buffer.from("12"), { start: 0, end: 2 }), undefined);
    assert.equal(textAt(Buffer.from("12"), undefined), undefined);
    assert.throws(() => textAt(Buffer.from('"\\x"'), { start: 0, end: 4 }), JsonScanError);
  });

  it("reads strings of all lengths around the change of method, with backslashes at their ends", () => {
    for (let length = 0; length < 120; length++)
      for (const tail of ["", "\\", '"', '\\"', "\\\\", '"\\"', '\\\\"']) {
        const written = `[${JSON.stringify("y".repeat(length) + tail)},1]`;
        assert.deepEqual(scanned(Buffer.from(written)), JSON.parse(written));
      }
  });

  it("follows deep nesting without a stack", () => {
    const deep = Buffer.from(`${"[".repeat(200_000)}${"]".repeat(200_000)}`);
    assert.deepEqual(wholeValue(deep), { start: 0, end: deep.length });
  });
});
