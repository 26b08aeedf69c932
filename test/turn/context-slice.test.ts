/** Contexts that a first read does not fill, as images have many bytes and few tokens: read once, the same whatever was read before. */
import assert from "node:assert/strict";
import { truncateSync } from "node:fs";
import { test } from "node:test";
import type { AgentMessage } from "../../packages/contract/src/message.ts";
import type { SessionWriter } from "../../packages/contract/src/session/writer.ts";
import { prepareContext, readContext } from "../../packages/host/src/turn/context/context-slice.ts";
import { openStore, temporaryFolder } from "../stores/files/fixtures.ts";

const IMAGES = 14;
/** More tokens than those of the images, whose first reads are far too small. */
const WINDOW = 20_000;

function image(): AgentMessage {
  const data = "A".repeat(2 ** 20);
  return { role: "user", content: [{ type: "image", data, mimeType: "image/png" }] };
}

function appendImages(writer: SessionWriter): void {
  for (let turn = 0; turn < IMAGES; turn++)
    writer.append({ type: "message", turnId: `t${turn}`, message: image() });
}

test("a context that only a larger read fills is taken from memory afterwards", async (t) => {
  const dir = temporaryFolder(t);
  const first = openStore(dir);
  const made = first.openWriter("main", { cwd: "/project" });
  appendImages(made);
  made.close();
  first.close();
  const store = openStore(dir);
  const writer = store.openWriter("main", { cwd: "/project" });
  await prepareContext(writer, WINDOW);
  // Nothing is read again: the file has no lines any more.
  truncateSync(writer.record.file, 0);
  for (let read = 0; read < 3; read++)
    assert.equal(readContext(writer, WINDOW).messages.length, IMAGES, `read ${read}`);
  writer.close();
  store.close();
});

test("a context is the same, whichever windows were asked for before", (t) => {
  const store = openStore(temporaryFolder(t));
  const writer = store.openWriter("main", { cwd: "/project" });
  appendImages(writer);
  for (const window of [100, WINDOW, 5_000, 100, 10_000, 1_000, 100]) {
    const reader = store.openReader("main");
    const ids = ({ messages }: ReturnType<typeof readContext>): unknown[] =>
      messages.map(({ entryId }) => entryId);
    assert.deepEqual(ids(readContext(writer, window)), ids(readContext(reader, window)), `window ${window}`);
    reader.close();
  }
  writer.close();
  store.close();
});
