import assert from "node:assert/strict";
import { test } from "node:test";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { loopTurns } from "../../runner/loop-turns.ts";
import { openStore, temporaryFolder } from "../../stores/files/fixtures.ts";

const IMAGES = 4;
const LENGTH = 4 * 2 ** 20;

function image(): AgentMessage {
  return { role: "user", content: [{ type: "image", data: "A".repeat(LENGTH), mimeType: "image/png" }] };
}

test("messages with images are imported in pieces between which others run", async (t) => {
  const store = openStore(temporaryFolder(t));
  const source = { runtime: "embedded", nativeId: "one", cwd: "/project", messages: [image()] };
  // Loads the importer.
  await store.import({ ...source, nativeId: "before" }, { sessionKey: "before" });
  const messages = Array.from({ length: IMAGES }, image);
  const turns = await loopTurns(() => store.import({ ...source, messages }, { sessionKey: "main" }));
  assert.ok(turns >= IMAGES, `others ran ${turns} times`);
  assert.equal(store.find("main")?.entryCount, IMAGES);
  store.close();
});
