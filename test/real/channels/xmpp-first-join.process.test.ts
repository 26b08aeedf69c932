/** The first connection to a group at Debian's prosody: what is written from then on is received. */
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { after, before, describe, it } from "node:test";
import { createXmppChannel } from "../../../packages/channels/src/xmpp/xmpp-channel.ts";
import { placeIn } from "../../../packages/channels/src/xmpp/xmpp-cursor.ts";
import type { ChannelPort } from "../../../packages/contract/src/channel/channel.ts";
import { Prosody } from "../../servers/prosody.ts";
import { XmppPerson } from "./xmpp-person.ts";

const CREW = "crew@rooms.localhost";

describe("the first connection to a group over XMPP", () => {
  let prosody: Prosody;
  let ann: XmppPerson;

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

  for (const written of [CREW, "Crew@Rooms.localhost"])
    it(`receives what is written to ${written} from the moment at which it counts as connected`, async () => {
      const received: string[] = [];
      let cursor: string | undefined;
      const port: ChannelPort = {
        get cursor() {
          return cursor;
        },
        receive: async (message, next) => {
          // A slow disk.
          await pause(100);
          cursor = next;
          if (message) received.push(message.text);
        },
        missed: (sentence) => assert.fail(sentence),
      };
      await ann.sayIn(CREW, "before", `b-${written}`);
      const config = { kind: "xmpp", jid: "crab@localhost", password: "crab", service: prosody.service };
      const channel = createXmppChannel("home", { ...config, groups: { [written]: {} } }, {});
      const stopping = new AbortController();
      const connection = await channel.connect(port, stopping.signal);
      try {
        assert.ok(placeIn(cursor, CREW));
        await ann.sayIn(CREW, "first", `f-${written}`);
        await ann.sayIn(CREW, "second", `s-${written}`);
        while (received.length < 2) await pause(20);
        assert.deepEqual(received, ["first", "second"]);
      } finally {
        stopping.abort();
        await connection.close();
      }
    });
});
