import assert from "node:assert/strict";
import { setImmediate as turnOfLoop } from "node:timers/promises";
import { it } from "node:test";
import { createPluginChannel } from "../../packages/channels/src/plugin-channel.ts";
import type { ChannelConnection } from "../../packages/contract/src/channel/channel.ts";

async function connected(more: Partial<ChannelConnection>): Promise<ChannelConnection> {
  const connection: ChannelConnection = {
    capabilities: { inbound: "at-most-once", outbound: "at-most-once", maxChars: 100 },
    ended: new Promise(() => undefined),
    send: () => Promise.resolve(),
    close: () => Promise.resolve(),
    ...more,
  };
  const create = () => ({ id: "x", kind: "x", connect: () => Promise.resolve(connection) });
  const channel = await createPluginChannel({ kind: "pigeon", create }, { id: "home", settings: {} }, {});
  const port = { cursor: undefined, receive: () => Promise.resolve(), missed: () => undefined };
  return channel.connect(port, new AbortController().signal);
}

it("a plugin's channel shows that an answer is being written, and its errors there end nothing", async () => {
  const marks: unknown[][] = [];
  const connection = await connected({
    typing: (...mark) => {
      marks.push(mark);
      throw new Error("no feather");
    },
  });
  connection.typing?.("ann", false, true, "t-1");
  await turnOfLoop();
  assert.deepEqual(marks, [["ann", false, true, "t-1"]]);
  assert.equal((await connected({})).typing, undefined);
});
