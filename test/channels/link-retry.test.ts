/** How a channel sends again after an error of the host, such as a full disk. */
import assert from "node:assert/strict";
import { setImmediate as turnOfLoop } from "node:timers/promises";
import { it } from "node:test";
import type { Channel } from "../../src/contract/channel/channel.ts";
import { startLink } from "./chat-sdk/sending-link.ts";

const PLACE = { channel: "home", address: "ann", isGroup: false };

function channelInto(sent: string[]): Channel {
  return {
    id: PLACE.channel,
    kind: "scripted",
    connect: async (_port, signal) => ({
      capabilities: { inbound: "exactly-once", outbound: "at-least-once", maxChars: 4_000 },
      ended: new Promise((resolve) => signal.addEventListener("abort", () => resolve("the host stops"))),
      send: async ({ id }) => void sent.push(id),
      close: async () => undefined,
    }),
  };
}

async function settle(): Promise<void> {
  for (let turns = 0; turns < 20; turns += 1) await turnOfLoop();
}

for (const isStopped of [false, true])
  it(`a message that could not be noted is ${isStopped ? "not tried after the end" : "sent by itself soon after"}`, async (t) => {
    const sent: string[] = [];
    const sending = await startLink(channelInto(sent));
    const { store, link } = sending;
    let tries = 0;
    const real = store.setOutgoing.bind(store);
    t.mock.timers.enable({ apis: ["setTimeout"] });
    t.mock.method(store, "setOutgoing", (...noted: Parameters<typeof real>) => {
      tries += 1;
      if (tries === 1) throw new Error("database or disk is full");
      real(...noted);
    });
    store.queue("w1-0", PLACE, "Hello.");
    link.outgoing.wake();
    await settle();
    assert.deepEqual([tries, sent], [1, []]);
    if (isStopped) await link.stop();
    t.mock.timers.tick(2_000);
    await settle();
    assert.deepEqual(sent, isStopped ? [] : ["w1-0"]);
    t.mock.timers.reset();
    await sending.end();
  });

it("a connection of a channel that was cut is not kept for the next ones", async (t) => {
  const signals: AbortSignal[] = [];
  const ends: (() => void)[] = [];
  const channel: Channel = {
    ...channelInto([]),
    connect: async (_port, signal) => {
      signals.push(signal);
      return {
        capabilities: { inbound: "exactly-once", outbound: "at-least-once", maxChars: 4_000 },
        ended: new Promise((resolve) => ends.push(() => resolve("cut"))),
        send: async () => undefined,
        close: async () => undefined,
      };
    },
  };
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const sending = await startLink(channel);
  await settle();
  ends[0]?.();
  await settle();
  t.mock.timers.tick(60_000);
  await settle();
  assert.equal(signals.length, 2);
  const stopped = sending.link.stop();
  assert.deepEqual(
    signals.map(({ aborted }) => aborted),
    [false, true],
    "the host's end reaches the connection that is left, and only that one",
  );
  ends[1]?.();
  await stopped;
  t.mock.timers.reset();
  await sending.end();
});
