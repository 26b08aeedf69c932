/** Answers that grow in a service with corrections, over connections that fail at every possible moment. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as turnOfLoop } from "node:timers/promises";
import { afterEach, beforeEach, describe, it } from "node:test";
import { ChannelEvents } from "../../packages/channels/src/channel-events.ts";
import { ChannelLink } from "../../packages/channels/src/channel-link.ts";
import { ChannelStore } from "../../packages/channels/src/channel-store.ts";
import type { Incoming } from "../../packages/channels/src/incoming.ts";
import type {
  Channel,
  ChannelConnection,
  OutgoingMessage,
} from "../../packages/contract/src/channel/channel.ts";
import { PagurusError } from "../../packages/contract/src/errors.ts";
import type { Database } from "../../packages/core/src/data/sqlite.ts";
import { openServerDatabase } from "../../packages/inbox/src/server-database.ts";
import { TestClock } from "../runner/test-clock.ts";
import { silentLogger } from "../../packages/core/src/platform/log.ts";

const PLACE = { channel: "home", address: "ann@example.org", isGroup: false };
const FINAL = "The buoy is blue, and the crab is red.";

/** A service that keeps messages with their ids; the `failAt`th send fails, before or after the message was taken. */
class Service {
  readonly shown = new Map<string, string>();
  readonly #taken = new Set<string>();
  readonly typing: boolean[] = [];
  states = 0;
  sends = 0;
  failAt = 0;
  isTakenFirst = false;
  /** Replaces no message. */
  isFixed = false;

  channel(): Channel {
    return {
      id: PLACE.channel,
      kind: "scripted",
      connect: async (_port, signal) => this.#connection(signal),
    };
  }

  #connection(signal: AbortSignal): ChannelConnection {
    let end: (reason: string) => void = () => undefined;
    const ended = new Promise<string>((resolve) => {
      end = resolve;
    });
    signal.addEventListener("abort", () => end("the host stops"));
    return {
      capabilities: { inbound: "exactly-once", outbound: "exactly-once", maxChars: 4_000, edits: true },
      ended,
      send: async (message) => this.#send(message),
      wasSent: async ({ id }) => this.#taken.has(id),
      close: async () => end("closed"),
    };
  }

  #send(message: OutgoingMessage): void {
    this.sends += 1;
    if (this.isFixed && message.replaces !== undefined)
      throw new PagurusError("channel_refused", "The channel home does not replace a message.");
    const fails = this.sends === this.failAt;
    const failure = new PagurusError("channel_failed", "The channel home lost its connection.");
    if (fails && !this.isTakenFirst) throw failure;
    this.#take(message);
    if (fails) throw failure;
  }

  #take({ id, text, replaces }: OutgoingMessage): void {
    assert.ok(!this.#taken.has(id), "no message is sent twice");
    this.#taken.add(id);
    if (replaces !== undefined) assert.ok(this.shown.has(replaces), "what is replaced is there");
    this.shown.set(replaces ?? id, text);
    this.states += 1;
  }
}

describe("an answer that grows", () => {
  let home: string;
  let db: Database;
  let clock: TestClock;
  let store: ChannelStore;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "pagurus-drafts-"));
    db = openServerDatabase(home);
    store = new ChannelStore(db);
    clock = new TestClock();
  });
  afterEach(() => {
    db.close();
    rmSync(home, { recursive: true, force: true });
  });

  async function settle(): Promise<void> {
    for (let turns = 0; turns < 20; turns += 1) await turnOfLoop();
  }

  function startLink(service: Service): ChannelLink {
    const link = new ChannelLink({
      channel: service.channel(),
      store,
      events: new ChannelEvents(db),
      incoming: {} as Incoming,
      logger: silentLogger,
      clock,
    });
    link.start();
    return link;
  }

  /** One turn whose words arrive over time. Each failure is a crash: the next process has the store alone. */
  async function answer(service: Service, isCrash: boolean): Promise<void> {
    store.addWork("w1", PLACE);
    let link = startLink(service);
    await settle();
    link.outgoing.drafts.begin("w1", PLACE);
    for (const word of FINAL.split(" ").slice(0, 5)) {
      link.outgoing.drafts.event("w1", "text.delta", { delta: `${word} ` });
      clock.move(2_000);
      await settle();
      if (isCrash && service.sends === service.failAt) {
        await link.stop();
        link = startLink(service);
        await settle();
      }
    }
    store.answer("w1", PLACE, [{ text: FINAL }, { text: "Second part." }]);
    link.outgoing.drafts.end("w1");
    link.outgoing.wake();
    // Pauses of the link after a cut.
    for (let tries = 0; tries < 20 && store.outgoingCount(PLACE.channel) > 0; tries += 1) {
      clock.move(5_000);
      await settle();
    }
    await link.stop();
  }

  it("is one message that changes, and ends as the answer", async () => {
    const service = new Service();
    await answer(service, false);
    assert.deepEqual([...service.shown.values()], [FINAL, "Second part."]);
    assert.ok(service.states > 3, "it was shown while it grew");
  });

  for (const isTakenFirst of [false, true])
    for (const isCrash of [false, true])
      for (let failAt = 1; failAt <= 7; failAt += 1)
        it(`loses and doubles nothing when send ${failAt} fails ${isTakenFirst ? "after" : "before"} it was taken${isCrash ? " and the process with it" : ""}`, async () => {
          const service = new Service();
          Object.assign(service, { failAt, isTakenFirst });
          await answer(service, isCrash);
          assert.ok(service.sends >= failAt, "it failed");
          assert.deepEqual([...service.shown.values()], [FINAL, "Second part."]);
        });

  it("stops growing where the service refuses to replace it, and the whole answer is a new message", async () => {
    const service = new Service();
    service.isFixed = true;
    await answer(service, false);
    assert.deepEqual([...service.shown.values()], ["The …", FINAL, "Second part."]);
    assert.equal(service.sends, 5, "one state more was tried, and the answer");
  });

  it("that is complete soon is sent once", async () => {
    const service = new Service();
    const link = startLink(service);
    await settle();
    store.addWork("w1", PLACE);
    link.outgoing.drafts.begin("w1", PLACE);
    link.outgoing.drafts.event("w1", "text.delta", { delta: "Yes." });
    clock.move(1_000);
    store.answer("w1", PLACE, [{ text: "Yes." }]);
    link.outgoing.drafts.end("w1");
    link.outgoing.wake();
    await settle();
    clock.move(10_000);
    await settle();
    assert.equal(service.states, 1);
    await link.stop();
  });
});
