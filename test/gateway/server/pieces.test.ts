import assert from "node:assert/strict";
import { Writable } from "node:stream";
import { test } from "node:test";
import fc from "fast-check";
import { PieceSender } from "../../../packages/gateway/src/server/pieces.ts";
import { runs } from "../../runner/short-form.ts";
import { turns } from "../../runner/loop-turns.ts";

interface Sink {
  sender: PieceSender;
  written: Buffer[];
}

function sink(isChunked: boolean): Sink {
  const written: Buffer[] = [];
  const to = new Writable({
    highWaterMark: 2 ** 24,
    write: (piece: Buffer, _, done) => {
      written.push(Buffer.from(piece));
      done();
    },
  });
  return { sender: new PieceSender({ to, isChunked, onFull: () => assert.fail("full") }), written };
}

test("chunks of one tick are sent together, those of the next one separately, and dropped ones never", async () => {
  const { sender, written } = sink(true);
  sender.add(Buffer.from("one "));
  sender.add(Buffer.from("two"));
  assert.equal(written.length, 0);
  await turns(1);
  sender.add(Buffer.from("three"));
  await turns(1);
  assert.deepEqual(written.map(String), ["7\r\none two\r\n", "5\r\nthree\r\n"]);
  sender.add(Buffer.from("four"));
  sender.drop();
  await turns(1);
  assert.equal(written.length, 2);
});

test("chunks of every length arrive whole and in order", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(fc.nat(40_000), fc.boolean()), { maxLength: 12 }), async (pieces) => {
      const { sender, written } = sink(false);
      const all = pieces.map(([length], index) => Buffer.alloc(length, 97 + index));
      for (const [index, piece] of all.entries()) {
        sender.add(piece);
        if (pieces[index]?.[1] === true) await turns(1);
      }
      sender.flush();
      assert.ok(Buffer.concat(written).equals(Buffer.concat(all)));
    }),
    { numRuns: runs(100) },
  );
});
