/** Groups of XMPP whose connection ends while they are joined. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { xml } from "@xmpp/client";
import { TestClock } from "../runner/test-clock.ts";
import type { XmppClient, XmppElement } from "../../packages/channels/src/xmpp/xmpp-client.ts";
import { XmppGroups } from "../../packages/channels/src/xmpp/xmpp-groups.ts";

const CREW = "crew@rooms.example.org";
const AGAIN_MS = 30_000;

interface Joining {
  clock: TestClock;
  groups: XmppGroups;
  sent: XmppElement[];
  joined: string[];
}

function joining(): Joining {
  const [sent, joined]: [XmppElement[], string[]] = [[], []];
  const xmpp = { send: async (stanza: XmppElement) => void sent.push(stanza) };
  const clock = new TestClock();
  const groups = new XmppGroups({ xmpp: xmpp as unknown as XmppClient, clock }, "crab", [CREW], {
    joined: (address) => void joined.push(address),
    problem: () => undefined,
  });
  return { clock, groups, sent, joined };
}

describe("groups of a connection that ends", () => {
  it("are not waited for any more, and not joined again", { timeout: 60_000 }, async () => {
    const { clock, groups, sent, joined } = joining();
    const waiting = groups.joinAll();
    groups.close();
    await waiting;
    groups.presence(own());
    clock.move(AGAIN_MS);
    assert.deepEqual([sent.length, joined], [1, []]);
  });

  it("are not joined again after an answer that came before the end", { timeout: 60_000 }, async () => {
    const { clock, groups, sent } = joining();
    const waiting = groups.joinAll();
    groups.presence(own());
    await waiting;
    groups.close();
    groups.presence(own("unavailable"));
    clock.move(AGAIN_MS);
    assert.equal(sent.length, 1);
  });
});

function own(type?: string): XmppElement {
  const status = xml("status", { code: "110" });
  const x = xml("x", { xmlns: "http://jabber.org/protocol/muc#user" }, status);
  return xml("presence", { from: `${CREW}/crab`, ...(type !== undefined && { type }) }, x);
}
