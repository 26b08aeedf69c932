import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { TurnEvent } from "../../packages/contract/src/host/events.ts";
import { TurnChannel } from "../../packages/host/src/turn/state/steering-channel.ts";
import { longTest } from "../runner/long-tests.ts";

const delta = (text: string): TurnEvent => ({ type: "text.delta", delta: text });
const failed: TurnEvent = {
  type: "turn.failed",
  error: { code: "turn_aborted", message: "It ended." },
  degraded: [],
};

async function read(run: AsyncIterable<TurnEvent>): Promise<TurnEvent[]> {
  const events: TurnEvent[] = [];
  for await (const event of run) events.push(event);
  return events;
}

/** Resolves when everything that is ready has run. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("the channel between a turn and its reader", () => {
  it("delivers every event in order, however the reader and the turn alternate", async () => {
    const channel = new TurnChannel();
    const run = channel.run(async () => {
      for (let round = 0; round < 50; round += 1) {
        for (let at = 0; at <= round % 7; at += 1) channel.emit(delta(`${round}.${at}`));
        if (round % 3 === 0) await settled();
      }
      channel.emit(failed);
    });
    const seen: string[] = [];
    for await (const event of run) {
      if (event.type === "text.delta") seen.push(event.delta);
      if (seen.length % 11 === 0) await settled();
    }
    const expected = Array.from({ length: 50 }, (_, round) =>
      Array.from({ length: (round % 7) + 1 }, (__, at) => `${round}.${at}`),
    ).flat();
    assert.deepEqual(seen, expected);
  });

  longTest("delivers a very long queue: a late reader pays for each event once", async () => {
    const count = 150_000;
    const channel = new TurnChannel();
    const run = channel.run(async () => {
      for (let at = 0; at < count; at += 1) channel.emit(delta("x"));
      channel.emit(failed);
    });
    await settled();
    let seen = 0;
    for await (const _event of run) seen += 1;
    assert.equal(seen, count + 1);
  });

  it("drops events after the last one, and takes no more input", async () => {
    const channel = new TurnChannel();
    const run = channel.run(async () => {
      channel.emit(delta("in time"));
      channel.emit(failed);
      channel.emit(delta("late"));
      assert.equal(run.steer("late too"), false);
      await settled();
      channel.emit({ ...failed, degraded: [] });
    });
    const types = (await read(run)).map((event) => event.type);
    channel.emit(delta("after the end"));
    assert.deepEqual(types, ["text.delta", "turn.failed"]);
  });

  it("refuses a second iterator while the first keeps all events", async () => {
    const channel = new TurnChannel();
    const run = channel.run(async () => {
      await settled();
      channel.emit(delta("one"));
      channel.emit(failed);
    });
    const first = read(run);
    await assert.rejects(read(run), { name: "PagurusError", code: "usage_invalid" });
    assert.equal((await first).length, 2);
    await assert.rejects(read(run), { code: "usage_invalid" });
  });

  it("aborts the turn of a reader who leaves early, not of one who has read the last event", async () => {
    for (const stopAt of ["text.delta", "turn.failed"] as const) {
      const channel = new TurnChannel();
      const run = channel.run(async () => {
        channel.emit(delta("one"));
        await settled();
        channel.emit(failed);
        await settled();
      });
      for await (const event of run) if (event.type === stopAt) break;
      assert.equal(channel.signal.aborted, stopAt === "text.delta");
    }
  });

  it("runs to the end of the work without a reader", async () => {
    const channel = new TurnChannel();
    let ended = false;
    channel.run(async () => {
      await settled();
      channel.emit(failed);
      ended = true;
    });
    await settled();
    await settled();
    assert.equal(ended, true);
  });

  it("ends for its reader when the work is given up", async () => {
    const channel = new TurnChannel();
    const run = channel.run(() => new Promise<void>(() => undefined));
    const reading = read(run);
    await settled();
    channel.giveUp(failed);
    assert.deepEqual(await reading, [failed]);
  });

  it("gives input back that the turn has not taken, and only that", async () => {
    const channel = new TurnChannel();
    const run = channel.run(async () => {
      channel.emit(failed);
    });
    run.steer("first");
    run.steer("second");
    assert.equal(run.takeBack?.("second"), true);
    assert.equal(run.takeBack?.("second"), false);
    assert.deepEqual(
      channel.takeSteering().map(({ text }) => text),
      ["first"],
    );
    assert.equal(run.takeBack?.("first"), false);
    await read(run);
  });
});
