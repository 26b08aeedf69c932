/** An answer that was read ahead is returned byte for byte, for any chunk boundaries. */
import assert from "node:assert/strict";
import { PassThrough, type Readable } from "node:stream";
import { describe, it } from "node:test";
import fc from "fast-check";
import { dialectOf } from "../../packages/gateway/src/dialect/dialects.ts";
import { readOpening, readWhole, refusalIn } from "../../packages/gateway/src/request/refusal.ts";
import type { UpstreamAnswer } from "../../packages/gateway/src/upstream/upstream.ts";
import { SPEECHES, type Speech } from "./openings.ts";
import { runs } from "../runner/short-form.ts";

const LIMITS = { bytes: 64 * 1024, ms: 2_000 };

function answer(stream: Readable, status = 200): UpstreamAnswer {
  return { status, rawHeaders: [], headers: { "content-type": "text/event-stream" }, stream };
}

/** Bytes in chunks that end at the listed places, each in an event loop turn of its own or together with the next. */
function pieces(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const ends = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].toSorted((a, b) => a - b);
  return [...ends, bytes.length].map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
}

async function feed(stream: PassThrough, parts: readonly Buffer[], isCut: boolean): Promise<void> {
  for (const [index, part] of parts.entries()) {
    stream.write(part);
    if (index % 2 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  if (!isCut) return void stream.end();
  // Everything that came has been read by then.
  for (let turn = 0; turn < 4; turn++) await new Promise((resolve) => setImmediate(resolve));
  stream.destroy(new Error("reset"));
}

/** Everything that the next reader of the stream gets. */
function received(stream: Readable): Promise<{ bytes: Buffer; isCut: boolean }> {
  const chunks: Buffer[] = [];
  return new Promise((resolve) => {
    const over = (isCut: boolean) => (): void => resolve({ bytes: Buffer.concat(chunks), isCut });
    stream
      .on("error", over(true))
      .on("close", over(true))
      .on("end", over(false))
      .on("data", (chunk: Buffer) => void chunks.push(chunk));
  });
}

/** An opening, and what may follow it, in any order. */
const openingText = ({ begins, busy, says, ends, tooLong }: Speech): fc.Arbitrary<string> =>
  fc
    .array(fc.constantFrom(...begins, ...begins, ...begins, busy, ...says, ...ends, tooLong, ": kept\n\n"), {
      maxLength: 8,
    })
    .map((events) => events.join(""));

describe("reading ahead", () => {
  for (const speech of SPEECHES)
    it(`returns the held part byte for byte, for any chunk boundaries: ${speech.api}`, async () => {
      const dialect = await dialectOf(speech.api);
      await fc.assert(
        fc.asyncProperty(
          openingText(speech),
          fc.array(fc.nat(), { maxLength: 12 }),
          fc.boolean(),
          async (text, cuts, isCut) => {
            const bytes = Buffer.from(text);
            const source = new PassThrough();
            const begun = readOpening(dialect, answer(source), LIMITS);
            const fed = feed(source, pieces(bytes, cuts), isCut);
            const held = await begun;
            assert.ok(held);
            const passed = await received(held.answer.stream);
            await fed;
            assert.deepEqual(passed, { bytes, isCut });
            assert.ok(bytes.subarray(0, held.body.length).equals(held.body));
          },
        ),
        { numRuns: runs(150) },
      );
    });

  for (const speech of SPEECHES)
    it(`finds a refusal in any chunks, and only as the first output: ${speech.api}`, async () => {
      const dialect = await dialectOf(speech.api);
      const { begins, says, tooLong, ends } = speech;
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.constantFrom(...begins), { maxLength: 4 }),
          fc.boolean(),
          fc.array(fc.nat(), { maxLength: 12 }),
          async (openings, isFirst, cuts) => {
            const events = [...openings, ...(isFirst ? [] : says.slice(0, 1)), tooLong, ...ends];
            const source = new PassThrough();
            const found = refusalIn(dialect, answer(source), {
              signal: new AbortController().signal,
              isNearWindow: () => false,
            });
            await feed(source, pieces(Buffer.from(events.join("")), cuts), false);
            const { refused, answer: passed } = await found;
            assert.equal(refused?.error.overflow, isFirst ? true : undefined);
            assert.equal((await received(passed.stream)).bytes.toString(), events.join(""));
          },
        ),
        { numRuns: runs(100) },
      );
    });

  it("returns a cut refusal's body completely, too", async () => {
    const source = new PassThrough();
    const begun = readWhole(answer(source, 400), LIMITS);
    await feed(source, [Buffer.from("ab"), Buffer.from("cd")], true);
    const { answer: passed, body } = await begun;
    assert.equal(body.toString(), "abcd");
    assert.deepEqual(await received(passed.stream), { bytes: Buffer.from("abcd"), isCut: true });
  });

  it("stops at once when its signal fires", async () => {
    const leave = new AbortController();
    const dialect = await dialectOf("openai-responses");
    const begun = readOpening(dialect, answer(new PassThrough()), { ...LIMITS, ms: 3_600_000 }, leave.signal);
    leave.abort();
    assert.equal((await begun)?.body.length, 0);
  });
});
