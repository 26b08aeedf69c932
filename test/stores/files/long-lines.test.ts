/** Contexts with lines of megabytes: read once, and in pieces. */
import assert from "node:assert/strict";
import { truncateSync } from "node:fs";
import { test } from "node:test";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import type { ContextSlice } from "../../../packages/contract/src/session/writer.ts";
import { loopTurns } from "../../runner/loop-turns.ts";
import { openStore, sayTurn, temporaryFolder } from "./fixtures.ts";

const CWD = { cwd: "/project" };
const LONG = 4 * 2 ** 20;

function image(length = LONG): AgentMessage {
  return {
    role: "user",
    content: [
      { type: "text", text: "Look." },
      { type: "image", data: "A".repeat(length), mimeType: "image/png" },
    ],
  };
}

const ids = ({ messages, complete }: ContextSlice): unknown[] => [
  complete,
  ...messages.map(({ entryId }) => entryId),
];

test("a context with images is read in pieces, and then taken from memory", async (t) => {
  const dir = temporaryFolder(t);
  const store = openStore(dir);
  const first = store.openWriter("main", CWD);
  for (let turn = 0; turn < 4; turn++)
    first.append({ type: "message", turnId: `t${turn}`, message: image() });
  first.close();
  store.close();
  const again = openStore(dir);
  const writer = again.openWriter("main", CWD);
  const turns = await loopTurns(async () => writer.prepareContext?.());
  assert.ok(turns >= 3, `others ran ${turns} times`);
  // Nothing is read again: the file has no lines any more.
  truncateSync(writer.record.file, 0);
  assert.equal(writer.contextMessages().messages.length, 4);
  writer.close();
  again.close();
});

test("a context is the same, whichever limits were asked for before, and what was written meanwhile", async (t) => {
  const store = openStore(temporaryFolder(t));
  const writer = store.openWriter("main", CWD);
  const fresh = (limit?: { maxBytes: number }): unknown[] => {
    const reader = store.openReader("main");
    try {
      return ids(reader.contextMessages(limit));
    } finally {
      reader.close();
    }
  };
  const assertAll = async (): Promise<void> => {
    for (const maxBytes of [200, 3_000, 1_000, 20_000, 60_000, 10, 2 ** 20]) {
      await writer.prepareContext?.({ maxBytes });
      assert.deepEqual(ids(writer.contextMessages({ maxBytes })), fresh({ maxBytes }), `${maxBytes} bytes`);
    }
  };
  for (let turn = 0; turn < 12; turn++) {
    const [one = ""] = sayTurn(writer, `t${turn}`, "x".repeat((turn * 7_919) % 6_000));
    await assertAll();
    if (turn === 5) {
      const summary = {
        type: "compaction",
        summary: "So far.",
        firstKeptEntryId: one,
        tokensBefore: 9,
      } as const;
      writer.append({ ...summary, origin: "extractive" });
      await assertAll();
    }
    if (turn === 8) writer.rewind(one);
  }
  const preparing = writer.prepareContext?.();
  sayTurn(writer, "t99", "meanwhile");
  await preparing;
  assert.deepEqual(ids(writer.contextMessages()), fresh());
  writer.close();
  store.close();
});
