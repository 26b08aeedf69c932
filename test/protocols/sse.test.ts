import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { SseReader, sseBytes, type SseEvent } from "../../packages/core/src/protocols/sse.ts";
import { runs } from "../runner/short-form.ts";
import { cpuMs } from "../runner/cpu-time.ts";

/** The bytes in chunks that end at the listed places. */
function chunks(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const at = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].toSorted((a, b) => a - b);
  return [0, ...at].map((from, index) => bytes.subarray(from, at[index] ?? bytes.length));
}

function read(pieces: readonly Buffer[], mostBytes?: number): SseEvent[] {
  const reader = new SseReader(mostBytes);
  return pieces.flatMap((piece) => reader.take(piece));
}

const line = fc.string({ unit: "grapheme", maxLength: 30 }).map((text) => text.replaceAll(/[\r\n]/g, " "));
const event = fc.record({
  event: fc.option(line, { nil: undefined }),
  data: fc.array(line, { minLength: 1 }),
});

describe("reading server-sent events", () => {
  it("any chunks, any line ends and any comments give the same events", () => {
    const stream = fc.record({
      events: fc.array(event, { maxLength: 6 }),
      end: fc.constantFrom("\n", "\r\n", "\r"),
      comment: fc.boolean(),
      cuts: fc.array(fc.nat(2000), { maxLength: 30 }),
    });
    fc.assert(
      fc.property(stream, ({ events, end, comment, cuts }) => {
        const written = events.map(({ event: name, data }) => {
          const lines = [
            ...(comment ? [": a comment", "id: 1", "retry: 5"] : []),
            ...(name === undefined ? [] : [`event: ${name}`]),
            ...data.map((text) => `data: ${text}`),
          ];
          return lines.map((text) => text + end).join("") + end;
        });
        const expected = events.map(({ event: name, data }) => ({
          ...(name ? { event: name } : {}),
          data: data.join("\n"),
        }));
        assert.deepEqual(read(chunks(Buffer.from(written.join("")), cuts)), expected);
      }),
      { numRuns: runs(1000) },
    );
  });

  it("a stream byte by byte, with a character of four bytes and a byte order mark, is read", () => {
    const bytes = Buffer.from("\uFEFFdata: a😀é\r\n\r\nevent: x\r\ndata:b\r\ndata\r\n\r\n");
    const events = [{ data: "a😀é" }, { event: "x", data: "b\n" }];
    assert.deepEqual(read([...bytes].map((byte) => Buffer.from([byte]))), events);
    assert.deepEqual(read([bytes]), events);
  });

  it("an event without data is none, and one without its empty line ends with the stream", () => {
    for (const last of ["data: cut off", "data: cut off\n", "data: cut off\r"]) {
      const reader = new SseReader();
      assert.deepEqual(reader.take(Buffer.from(`event: ping\n\n: keep alive\n\n${last}`)), []);
      assert.deepEqual(reader.end(), [{ data: "cut off" }]);
      assert.deepEqual(reader.end(), []);
    }
  });

  it("a line that begins with a brace is data", () => {
    assert.deepEqual(read([Buffer.from('event: error\n{"error":"x"}\n\n')]), [
      { event: "error", data: '{"error":"x"}' },
    ]);
  });

  it("keeps nothing of the caller's buffer", () => {
    const reader = new SseReader();
    const buffer = Buffer.from("data: first half");
    reader.take(buffer);
    buffer.fill(0x21);
    assert.deepEqual(reader.take(Buffer.from(" and second\n\n")), [{ data: "first half and second" }]);
  });

  it("skips an event that is too long, in one line or in many, and reads on", () => {
    const long = `data: ${"x".repeat(100)}\n\n`;
    const many = `${"data: 12345678\n".repeat(10)}\n`;
    const bytes = Buffer.from(`data: a\n\n${long}data: b\n\n${many}data: c\n\n`);
    for (const size of [1, 7, 1000]) {
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
        bytes.subarray(index * size, (index + 1) * size),
      );
      assert.deepEqual(read(pieces, 64), [{ data: "a" }, { data: "b" }, { data: "c" }], `${size}`);
    }
  });

  it("written events are read back", () => {
    const events = [{ event: "a", data: '{"x":"é"}' }, { data: "[DONE]" }];
    assert.deepEqual(read([Buffer.concat(events.map(sseBytes))]), events);
  });

  it("reads 8 MB in tiny chunks in time linear in their number", async () => {
    const bytes = Buffer.from(`data: ${"x".repeat(8 * 1024 * 1024)}\n\n`);
    const pieces = Array.from({ length: Math.ceil(bytes.length / 32) }, (_, index) =>
      bytes.subarray(index * 32, (index + 1) * 32),
    );
    let length: number | undefined;
    const ms = await cpuMs(() => (length = read(pieces)[0]?.data.length));
    assert.equal(length, 8 * 1024 * 1024);
    // Copying what was read at each chunk moves a terabyte.
    assert.ok(ms < 20_000, `${ms} ms of CPU`);
  });
});
