/** Groups of XMPP whose connection ends while they are joined. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { xml } from "@xmpp/client";
import type { XmppClient, XmppElement } from "../../packages/channels/src/xmpp/xmpp-client.ts";
import { XmppGroups } from "../../packages/channels/src/xmpp/xmpp-groups.ts";

const CREW = "crew@rooms.example.org";
const AGAIN_MS = 30_000;

interface Joining {
  groups: XmppGroups;
  sent: XmppElement[];
  joined: string[];
}

function joining(): Joining {
  const [sent, joined]: [XmppElement[], string[]] = [[], []];
  const xmpp = { send: async (stanza: XmppElement) => void sent.push(stanza) };
  const groups = new XmppGroups(xmpp as unknown as XmppClient, "crab", [CREW], {
    joined: (address) => void joined.push(address),
    problem: () => undefined,
  });
  return { groups, sent, joined };
}

describe("groups of a connection that ends", () => {
  it("are not waited for any more, and not joined again", { timeout: 5_000 }, async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const { groups, sent, joined } = joining();
    const waiting = groups.joinAll();
    groups.close();
    await waiting;
    groups.presence(own());
    t.mock.timers.tick(AGAIN_MS);
    assert.deepEqual([sent.length, joined], [1, []]);
  });

  it("are not joined again after an answer that came before the end", { timeout: 5_000 }, async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const { groups, sent } = joining();
    const waiting = groups.joinAll();
    groups.presence(own());
    await waiting;
    groups.close();
    groups.presence(own("unavailable"));
    t.mock.timers.tick(AGAIN_MS);
    assert.equal(sent.length, 1);
  });
});

function own(type?: string): XmppElement {
  const status = xml("status", { code: "110" });
  const x = xml("x", { xmlns: "http://jabber.org/protocol/muc#user" }, status);
  return xml("presence", { from: `${CREW}/crab`, ...(type !== undefined && { type }) }, x);
}
