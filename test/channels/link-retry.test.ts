/** How a channel sends again after an error of the host, such as a full disk. */
import assert from "node:assert/strict";
import { it } from "node:test";
import type { Channel } from "../../packages/contract/src/channel/channel.ts";
import { PagurusError } from "../../packages/contract/src/errors.ts";
import { TestClock } from "../runner/test-clock.ts";
import { until } from "../runner/until.ts";
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

for (const isStopped of [false, true])
  it(`a message that could not be noted is ${isStopped ? "not tried after the end" : "sent by itself soon after"}`, async (t) => {
    const sent: string[] = [];
    const clock = new TestClock();
    const sending = await startLink(channelInto(sent), clock);
    const { store, link } = sending;
    let tries = 0;
    const real = store.setOutgoing.bind(store);
    t.mock.method(store, "setOutgoing", (...noted: Parameters<typeof real>) => {
      tries += 1;
      if (tries === 1) throw new Error("database or disk is full");
      real(...noted);
    });
    store.queue("w1-0", PLACE, "Hello.");
    link.outgoing.wake();
    await clock.paused(2_000);
    assert.deepEqual([tries, sent], [1, []]);
    if (isStopped) {
      await link.stop();
      assert.deepEqual(clock.pending, []);
    } else {
      await clock.pass(2_000);
      await until(() => sent.length === 1);
    }
    assert.deepEqual(sent, isStopped ? [] : ["w1-0"]);
    await sending.end();
  });

it("a state of a growing answer that may be there is not sent again where no one knows", async () => {
  const sent: string[] = [];
  const channel: Channel = {
    ...channelInto([]),
    connect: async (_port, signal) => {
      const ended = Promise.withResolvers<string>();
      signal.addEventListener("abort", () => ended.resolve("the host stops"));
      return {
        capabilities: { inbound: "at-most-once", outbound: "at-most-once", maxChars: 4_000, edits: true },
        ended: ended.promise,
        send: async ({ id }) => {
          sent.push(id);
          if (sent.length > 1) return;
          ended.resolve("cut");
          throw new PagurusError("channel_failed", "The connection was cut.");
        },
        close: async () => undefined,
      };
    },
  };
  const clock = new TestClock();
  const sending = await startLink(channel, clock);
  sending.grow("w1", PLACE, "The buoy ");
  await clock.pass(1_500);
  await clock.pass(500);
  await until(() => sending.connections() === 2);
  sending.link.outgoing.drafts.event("w1", "text.delta", { delta: "is blue " });
  // The next state is due, and is given up.
  clock.move(2_000);
  await until(() => !sending.link.outgoing.drafts.has("w1"));
  assert.deepEqual(sent, ["w1-d"]);
  sending.complete("w1", PLACE, "The buoy is blue.");
  await until(() => sent.length > 1);
  assert.deepEqual(sent, ["w1-d", "w1-0"]);
  await sending.end();
});

it("a connection of a channel that was cut is not kept for the next ones", async () => {
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
  const clock = new TestClock();
  const sending = await startLink(channel, clock);
  await until(() => ends.length === 1);
  ends[0]?.();
  await clock.pass(500);
  await until(() => ends.length === 2);
  const hasAborted = (): boolean[] => signals.map(({ aborted }) => aborted);
  assert.deepEqual(hasAborted(), [true, false], "each connection has a signal of its own");
  const stopped = sending.link.stop();
  assert.deepEqual(hasAborted(), [true, true]);
  ends[1]?.();
  await stopped;
  await sending.end();
});

it("what a connection that failed to start has left open ends with it", async () => {
  const { promise: ended, resolve: cut } = Promise.withResolvers<string>();
  let tries = 0;
  let open = 0;
  const channel: Channel = {
    ...channelInto([]),
    connect: async (_port, signal) => {
      tries += 1;
      open += 1;
      signal.addEventListener("abort", () => (open -= 1), { once: true });
      if (tries > 1) throw new Error("the service answers 500");
      const capabilities = {
        inbound: "exactly-once",
        outbound: "at-least-once",
        maxChars: 4_000,
      } as const;
      return { capabilities, ended, send: async () => undefined, close: async () => undefined };
    },
  };
  const clock = new TestClock();
  const sending = await startLink(channel, clock);
  assert.equal(open, 1);
  cut("cut");
  await clock.pass(500);
  // The pause after the second failure.
  await clock.paused(1_000);
  assert.deepEqual([tries, open], [2, 0]);
  await sending.link.stop();
  await sending.end();
});
