/** What messages of XMPP say to the host: who wrote in a group, and whether they speak to the agent. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { xml } from "@xmpp/client";
import {
  contentOf,
  groupMessage,
  type GroupStanza,
} from "../../packages/channels/src/xmpp/received-stanza.ts";
import { placesOf, withGroup, withOwn } from "../../packages/channels/src/xmpp/xmpp-cursor.ts";

const CREW = "crew@rooms.example.org";
const MUC_USER = "http://jabber.org/protocol/muc#user";

function written(text: string, nick = "ann", ...children: ReturnType<typeof xml>[]): ReturnType<typeof xml> {
  return xml("message", { from: `${CREW}/${nick}`, type: "groupchat" }, xml("body", {}, text), ...children);
}

function isBy(jid: string): ReturnType<typeof xml> {
  return xml("x", { xmlns: MUC_USER }, xml("item", { jid }));
}

function read(stanza: ReturnType<typeof xml>, showsAddresses = true): GroupStanza | undefined {
  return groupMessage(stanza, { nick: "crab", showsAddresses });
}

describe("a message of a group", () => {
  it("speaks to the agent by its name, as a word", () => {
    const cases: [string, boolean, string][] = [
      ["crab: what now?", true, "what now?"],
      ["@Crab, /status", true, "/status"],
      ["crab", true, "crab"],
      ["what does crab say?", true, "what does crab say?"],
      ["crabs are red", false, "crabs are red"],
      ["a scrab: no", false, "a scrab: no"],
    ];
    for (const [text, isMention, rest] of cases) {
      const found = read(written(text));
      assert.deepEqual([found?.isMention, found?.text], [isMention, rest], text);
    }
  });

  it("has the writer's real address where the group shows it, and never one that the writer adds", () => {
    const real = isBy("ann@example.org/phone");
    assert.equal(read(written("hi", "ann", real))?.from, "ann@example.org");
    const anonymous = `${CREW}/eve`;
    assert.equal(read(written("hi", "eve", isBy("ann@example.org")), false)?.from, anonymous);
    assert.equal(
      read(written("hi", "eve", isBy("ann@example.org"), isBy("eve@example.org")))?.from,
      anonymous,
    );
  });

  it("is not what the agent wrote, a subject, or a mark", () => {
    assert.equal(read(written("an answer", "crab")), undefined);
    assert.equal(read(xml("message", { from: CREW, type: "groupchat" }, xml("body", {}, "x"))), undefined);
    const subject = xml("message", { from: `${CREW}/ann`, type: "groupchat" }, xml("subject", {}, "x"));
    assert.equal(read(subject), undefined);
  });
});

describe("a message over XMPP", () => {
  it("refers to a file by its address, which is no text", () => {
    const url = "https://example.org/a.png";
    const file = xml("x", { xmlns: "jabber:x:oob" }, xml("url", {}, url));
    assert.deepEqual(contentOf(xml("message", {}, xml("body", {}, url), file)), { text: "", fileUrl: url });
  });

  it("names the message that it replies to, and is without the quote of that one", () => {
    const reply = xml("reply", { xmlns: "urn:xmpp:reply:0", to: "crab@example.org", id: "q-1-ask" });
    const text = "> \u{1F980} May I?\nyes";
    const range = xml("body", { start: "0", end: String(Array.from("> \u{1F980} May I?\n").length) });
    const fallback = xml("fallback", { xmlns: "urn:xmpp:fallback:0", for: "urn:xmpp:reply:0" }, range);
    const found = contentOf(xml("message", {}, xml("body", {}, text), reply, fallback));
    assert.deepEqual(found, { text: "yes", replyTo: "q-1-ask" });
    const quoted = contentOf(xml("message", {}, xml("body", {}, text), fallback));
    assert.equal(quoted?.text, text, "only a reply has such a quote");
  });

  it("says whether it corrects an older one, or passes on another", () => {
    const body = xml("body", {}, "yes");
    const replace = xml("replace", { xmlns: "urn:xmpp:message-correct:0", id: "a-1" });
    assert.deepEqual(contentOf(xml("message", {}, body, replace)), { text: "yes", form: "correction" });
    const forwarded = xml("forwarded", { xmlns: "urn:xmpp:forward:0" }, xml("message", {}, body));
    assert.deepEqual(contentOf(xml("message", {}, body, forwarded)), { text: "yes", form: "forwarded" });
    assert.equal(read(written("crab: yes", "ann", replace))?.form, "correction");
  });

  it("that is encrypted is not its hint, and one that only exchanges keys is none", () => {
    const ns = "eu.siacs.conversations.axolotl";
    const hint = xml("body", {}, "I sent you an OMEMO encrypted message");
    const message = xml("message", {}, xml("encrypted", { xmlns: ns }, xml("payload", {}, "A")), hint);
    assert.match(contentOf(message)?.unreadable ?? "", /not supported/);
    assert.equal(contentOf(xml("message", {}, xml("encrypted", { xmlns: ns }), hint)), undefined);
  });
});

describe("a cursor of XMPP", () => {
  it("has the places of the account and of each group, and reads one of before there were groups", () => {
    assert.deepEqual(placesOf("abc"), { own: "abc", groups: {} });
    const cursor = withGroup(withOwn(withGroup("abc", CREW, "g-1"), "def"), "deck", "g-2");
    assert.deepEqual(placesOf(cursor), { own: "def", groups: { [CREW]: "g-1", deck: "g-2" } });
  });
});
