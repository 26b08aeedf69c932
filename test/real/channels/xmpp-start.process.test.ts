/** Starts of an XMPP connection at Debian's prosody over which not everything is answered. */
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { createXmppChannel } from "../../../packages/channels/src/xmpp/xmpp-channel.ts";
import { placeIn } from "../../../packages/channels/src/xmpp/xmpp-cursor.ts";
import { XmppArchive } from "../../../packages/channels/src/xmpp/xmpp-archive.ts";
import type { Channel, ChannelPort } from "../../../packages/contract/src/channel/channel.ts";
import { startLink } from "../../channels/chat-sdk/sending-link.ts";
import { until, untilWithin } from "../../runner/until.ts";
import { Prosody } from "../../servers/prosody.ts";
import { CuttingRelay } from "./cutting-relay.ts";
import { XmppPerson } from "./xmpp-person.ts";

const CREW = "crew@rooms.localhost";
/** Less than the 15 s of a join and the 30 s of a request, ms. */
const SOON_MS = 12_000;

describe("the start of a connection over XMPP", () => {
  let prosody: Prosody;
  let ann: XmppPerson;
  let relay: CuttingRelay;
  let cursor: string | undefined;
  const received: string[] = [];
  const port: ChannelPort = {
    get cursor() {
      return cursor;
    },
    receive: async (message, next) => {
      cursor = next ?? cursor;
      if (message) received.push(message.text);
    },
    missed: () => undefined,
  };

  before(async () => {
    prosody = await Prosody.start(["crab", "ann"]);
    ann = new XmppPerson("ann", prosody.service);
    await ann.connect();
    await ann.join(CREW);
  });
  after(async () => {
    await ann?.end();
    await prosody.end();
  });
  beforeEach(async () => {
    relay = await CuttingRelay.to(prosody.port);
    cursor = undefined;
    received.length = 0;
  });
  afterEach(() => relay.close());

  function channelIn(...groups: string[]): Channel {
    const config = { kind: "xmpp", jid: "crab@localhost", password: "crab" };
    const service = `xmpp://127.0.0.1:${relay.port}`;
    const joined = Object.fromEntries(groups.map((group) => [group, {}]));
    return createXmppChannel("home", { ...config, service, groups: joined }, {});
  }

  for (const end of ["a cut", "the host's stop"])
    it(`settles after ${end} while a group does not answer its join`, async () => {
      relay.swallows = /crew@rooms\.localhost\/crab/;
      const stopping = new AbortController();
      let failure: unknown;
      void channelIn(CREW)
        .connect(port, stopping.signal)
        .catch((error: unknown) => (failure = error));
      await until(() => cursor !== undefined);
      await pause(300);
      if (end === "a cut") relay.cut();
      else stopping.abort();
      await untilWithin(SOON_MS, () => failure !== undefined);
      assert.match(String(failure), /The channel home lost its connection: (the host stops|.*cut)/);
    });

  it("waits some seconds at most for the archive of a new group, and takes the rest meanwhile", async () => {
    relay.swallows = /to="crew@rooms\.localhost"/;
    const from = performance.now();
    const connection = await channelIn(CREW).connect(port, new AbortController().signal);
    try {
      assert.ok(performance.now() - from < SOON_MS, `${performance.now() - from} ms`);
      assert.equal(placeIn(cursor, CREW), undefined);
      await ann.say("direct", "late-1");
      await untilWithin(SOON_MS, () => received.includes("direct"));
    } finally {
      await connection.close();
    }
  });

  it("fails where an archive that was read before does not answer, and loses nothing", async (t) => {
    const first = await channelIn().connect(port, new AbortController().signal);
    await first.close();
    await ann.say("while away", "away-1");
    const page = t.mock.method(XmppArchive.prototype, "page");
    page.mock.mockImplementationOnce(() => Promise.reject(refusal("internal-server-error")));
    await assert.rejects(channelIn().connect(port, new AbortController().signal), {
      code: "channel_failed",
      message: /internal-server-error/,
    });
    const second = await channelIn().connect(port, new AbortController().signal);
    try {
      assert.equal(second.capabilities.inbound, "exactly-once");
      await until(() => received.length === 1);
      assert.deepEqual(received, ["while away"]);
    } finally {
      await second.close();
    }
  });

  it("continues without an archive that was read before and is offered no more", async (t) => {
    const first = await channelIn().connect(port, new AbortController().signal);
    await first.close();
    assert.ok(placeIn(cursor));
    const page = t.mock.method(XmppArchive.prototype, "page");
    page.mock.mockImplementation(() => Promise.reject(refusal("service-unavailable")));
    // The server has it, which its features show.
    await assert.rejects(channelIn().connect(port, new AbortController().signal), { code: "channel_failed" });
    t.mock.method(XmppArchive.prototype, "isOffered").mock.mockImplementation(() => Promise.resolve(false));
    const second = await channelIn().connect(port, new AbortController().signal);
    await second.close();
    assert.equal(second.capabilities.inbound, "at-most-once");
    assert.equal(placeIn(cursor), undefined);
  });

  it("without an archive does not send again what a cut has interrupted", async (t) => {
    const page = t.mock.method(XmppArchive.prototype, "page");
    page.mock.mockImplementation(() => Promise.reject(refusal("service-unavailable")));
    const sending = await startLink(channelIn());
    try {
      const got = ann.got.length;
      sending.store.queue(
        "w-0",
        { channel: "home", address: "ann@localhost", isGroup: false },
        "The answer.",
      );
      sending.link.outgoing.wake();
      await until(() => sending.states().includes("w-0 sent") && ann.got.length > got);
      // As after a kill between the answer of the server and its note.
      sending.store.setOutgoing("w-0", "sending");
      relay.cut();
      await until(() => sending.connections() === 2);
      await until(() => !sending.states().includes("w-0 sending"));
      assert.deepEqual(sending.states(), ["w-0 lost"]);
    } finally {
      await sending.end();
    }
  });
});

function refusal(condition: string): Error {
  return Object.assign(new Error(condition), { condition });
}
