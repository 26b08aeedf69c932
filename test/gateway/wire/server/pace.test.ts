import assert from "node:assert/strict";
import { Writable } from "node:stream";
import { test } from "node:test";
import fc from "fast-check";
import { WritePace } from "../../../../src/gateway/wire/server/pace.ts";
import { PieceSender } from "../../../../src/gateway/wire/server/pieces.ts";
import { sleep } from "../../../../src/platform/deadline.ts";

/** Writes at even distances, and says how long a stream that has just written is to wait. */
function waitAfter(writes: number, apartMs: number): number {
  const pace = new WritePace();
  let now = 1_000;
  for (let write = 0; write < writes; write++, now += apartMs) pace.note(now);
  return pace.wait(now, now);
}

/** A pace at which everybody waits. */
function busyPace(): WritePace {
  const pace = new WritePace();
  for (let write = 0; write < 1_000; write++) pace.note(performance.now());
  return pace;
}

function sink(): { to: Writable; written: Buffer[] } {
  const written: Buffer[] = [];
  const to = new Writable({
    write: (piece: Buffer, _, done) => {
      written.push(Buffer.from(piece));
      done();
    },
  });
  return { to, written };
}

test("dozens of streams wait for nothing, hundreds a few milliseconds", () => {
  assert.equal(waitAfter(1, 0), 0);
  assert.equal(waitAfter(1_000, 5), 0);
  // 40 streams of 200 events a second.
  assert.equal(waitAfter(10_000, 0.125), 0);
  assert.ok(waitAfter(10_000, 0.025) > 0);
  assert.ok(waitAfter(10_000, 0.025) <= 16);
});

test("a stream that wrote long ago writes at once, however much others write", () => {
  const pace = busyPace();
  assert.ok(pace.wait(Number.NEGATIVE_INFINITY, performance.now()) <= 0);
});

test("what is held goes out together and in order, within milliseconds and at a flush", async () => {
  class Busy extends WritePace {
    override wait(last: number): number {
      return Number.isFinite(last) ? 20 : 0;
    }
  }
  const { to, written } = sink();
  const sender = new PieceSender({
    to,
    isChunked: false,
    pace: new Busy(),
    onFull: () => assert.fail("full"),
  });
  sender.add(Buffer.from("one "));
  await sleep(1);
  assert.equal(String(Buffer.concat(written)), "one ");
  sender.add(Buffer.from("two "));
  sender.add(Buffer.from("three "));
  assert.equal(written.length, 1);
  while (written.length < 2) await sleep(1);
  assert.equal(String(written[1]), "two three ");
  sender.add(Buffer.from("four"));
  sender.flush();
  assert.equal(String(Buffer.concat(written)), "one two three four");
});

test("pieces arrive whole and in order at every pace and of every length", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat(40_000), { maxLength: 12 }),
      fc.boolean(),
      fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }),
      async (lengths, isBusy, waits) => {
        const { to, written } = sink();
        const pace = isBusy ? busyPace() : new WritePace();
        const sender = new PieceSender({ to, isChunked: false, pace, onFull: () => undefined });
        const pieces = lengths.map((length, index) => Buffer.alloc(length, 97 + index));
        for (const [index, piece] of pieces.entries()) {
          sender.add(piece);
          if (waits[index] === true) await sleep(0);
        }
        sender.flush();
        assert.ok(Buffer.concat(written).equals(Buffer.concat(pieces)));
      },
    ),
    { numRuns: 100 },
  );
});
