/** The archive of an XMPP group that does not answer at first, or answers late. */
import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { describe, it } from "node:test";
import { xml } from "@xmpp/client";
import type { XmppClient, XmppElement } from "../../packages/channels/src/xmpp/xmpp-client.ts";
import { placeIn, withGroup, XmppPlaces } from "../../packages/channels/src/xmpp/xmpp-cursor.ts";
import type { XmppFiles } from "../../packages/channels/src/xmpp/xmpp-files.ts";
import { XmppGroupReader } from "../../packages/channels/src/xmpp/xmpp-group-reader.ts";
import type { XmppGroups } from "../../packages/channels/src/xmpp/xmpp-groups.ts";
import type { IncomingMessage } from "../../packages/contract/src/channel/channel.ts";

const MAM = "urn:xmpp:mam:2";
const DISCO = "http://jabber.org/protocol/disco#info";
const RSM = "http://jabber.org/protocol/rsm";
const CREW = "crew@rooms.example.org";
const OWN_OCCUPANT = "o-crab";
const JUNE = Date.parse("2025-06-01T12:00:00Z");

/** A group whose messages have their ids as texts. */
class Crew extends EventEmitter {
  readonly status = "online";
  readonly kept: string[];
  features = [MAM];
  /** Stanzas of the archive that are not of ann. */
  readonly written = new Map<string, XmppElement>();
  /** Conditions with which the archive refuses the next requests. */
  readonly refusals: string[] = [];
  readonly iqCaller = { request: (iq: XmppElement) => this.#answer(iq) };

  constructor(...kept: string[]) {
    super();
    this.kept = kept;
  }

  async #answer(iq: XmppElement): Promise<XmppElement> {
    if (iq.getChild("query", DISCO)) {
      const features = this.features.map((name) => xml("feature", { var: name }));
      return xml("iq", {}, xml("query", { xmlns: DISCO }, ...features));
    }
    const condition = this.refusals.shift();
    if (condition !== undefined) throw Object.assign(new Error(condition), { condition });
    const query = iq.getChild("query", MAM);
    const set = query?.getChild("set", RSM);
    const before = set?.getChildText("before") ?? undefined;
    const after = this.kept.indexOf(set?.getChildText("after") ?? "") + 1;
    const end = this.kept.indexOf(before ?? "");
    const found = this.kept.slice(after, end < 0 ? undefined : end);
    const isBack = set?.getChild("before") !== undefined;
    for (const id of isBack ? found.slice(-Number(set.getChildText("max") ?? 1)) : found)
      this.emit("stanza", archived(id, String(query?.attrs["queryid"]), this.written.get(id)));
    return xml("iq", {}, xml("fin", { xmlns: MAM, complete: "true" }));
  }
}

function archived(id: string, queryid: string, message: XmppElement = written(id)): XmppElement {
  const delay = xml("delay", { xmlns: "urn:xmpp:delay", stamp: new Date(JUNE).toISOString() });
  const forwarded = xml("forwarded", { xmlns: "urn:xmpp:forward:0" }, delay, message);
  return xml("message", { from: CREW }, xml("result", { xmlns: MAM, queryid, id }, forwarded));
}

function written(id: string): XmppElement {
  const stanzaId = xml("stanza-id", { xmlns: "urn:xmpp:sid:0", by: CREW, id });
  return xml("message", { from: `${CREW}/ann`, type: "groupchat", id }, xml("body", {}, id), stanzaId);
}

interface Reading {
  reader: XmppGroupReader;
  received: string[];
  replies: (string | undefined)[];
  missed: string[];
  again: string[];
  cursor(): string | undefined;
  /** A message that is written while the group is joined. */
  write(id: string): Promise<void>;
}

function readingOf(crew: Crew, start?: string): Reading {
  let cursor = start;
  const [received, missed, again]: string[][] = [[], [], []] as const;
  const replies: (string | undefined)[] = [];
  const port = {
    get cursor() {
      return cursor;
    },
    receive: async (message: IncomingMessage | undefined, next: string | undefined) => {
      if (message) received.push(message.text);
      if (message) replies.push(message.replyTo);
      cursor = next ?? cursor;
    },
    missed: (sentence: string) => void missed.push(sentence),
  };
  const groups = {
    showsAddresses: () => false,
    occupant: () => OWN_OCCUPANT,
    nick: "crab",
  } as unknown as XmppGroups;
  const xmpp = crew as unknown as XmppClient;
  const places = new XmppPlaces(port);
  const files = {} as XmppFiles;
  const asked = (group: string): void => void again.push(group);
  const reader = new XmppGroupReader({ xmpp, port, places, groups, files, again: asked });
  const write = async (id: string): Promise<void> => {
    crew.kept.push(id);
    const work: (() => Promise<void>)[] = [];
    reader.arrived(written(id), (each) => void work.push(each));
    for (const each of work) await each();
  };
  return { reader, received, replies, missed, again, cursor: () => cursor, write };
}

function assertWithoutArchive({ received, again, missed, cursor }: Reading, ...arrived: string[]): void {
  assert.deepEqual([received, again], [arrived, []]);
  assert.match(missed.join(), /has no archive/);
  assert.equal(
    placeIn(cursor(), CREW),
    undefined,
    "it is not received again from an archive that comes back",
  );
}

describe("the archive of a group", () => {
  it("that was read before and refuses for now is asked again, and its messages are received once", async () => {
    for (const condition of ["remote-server-timeout", "service-unavailable", "internal-server-error"]) {
      const crew = new Crew("old", "while away");
      const reading = readingOf(crew, withGroup(undefined, CREW, "old", JUNE));
      crew.refusals.push(condition, condition);
      await reading.reader.begin(CREW);
      await reading.reader.catchUp(CREW);
      await reading.write("now");
      await reading.reader.catchUp(CREW);
      assert.deepEqual([reading.received, reading.again], [[], [CREW, CREW]]);
      assert.equal(reading.missed.length, 1);
      assert.match(reading.missed.join(), new RegExp(`does not answer \\(${condition}\\): .* once it does`));
      await reading.reader.catchUp(CREW);
      assert.deepEqual(reading.received, ["while away", "now"]);
    }
  });

  it("of a new group that fails is asked again, and what was written since the join is received", async () => {
    const crew = new Crew("before");
    const reading = readingOf(crew);
    crew.refusals.push("internal-server-error");
    await reading.reader.begin(CREW);
    await reading.write("first");
    await reading.write("second");
    assert.deepEqual([reading.cursor(), reading.again], [undefined, [CREW]]);
    await reading.reader.begin(CREW);
    assert.equal(placeIn(reading.cursor(), CREW)?.id, "before");
    await reading.reader.catchUp(CREW);
    assert.deepEqual(reading.received, ["first", "second"]);
  });

  it("that the group no longer offers is reported, and messages are taken as they arrive", async () => {
    for (const [condition, start] of [
      ["service-unavailable", withGroup(undefined, CREW, "old", JUNE)],
      ["not-acceptable", undefined],
    ] as const) {
      const crew = new Crew("old");
      crew.features = ["http://jabber.org/protocol/muc"];
      const reading = readingOf(crew, start);
      crew.refusals.push(condition);
      await reading.reader.begin(CREW);
      await reading.reader.catchUp(CREW);
      await reading.write("now");
      assertWithoutArchive(reading, "now");
    }
  });

  it("that is not there is reported, and messages are taken as they arrive", async () => {
    for (const condition of ["service-unavailable", "feature-not-implemented"]) {
      const crew = new Crew();
      const reading = readingOf(crew);
      crew.refusals.push(condition);
      await reading.reader.begin(CREW);
      await reading.write("now");
      assertWithoutArchive(reading, "now");
    }
  });
});

/** A message under the name of the agent. */
function asCrab(id: string, occupant: string, ...children: XmppElement[]): XmppElement {
  const mark = xml("occupant-id", { xmlns: "urn:xmpp:occupant-id:0", id: occupant });
  const attrs = { from: `${CREW}/crab`, type: "groupchat", id };
  return xml("message", attrs, xml("body", {}, "an answer"), mark, ...children);
}

describe("a message of the agent in a group", () => {
  const outgoing = { id: "w-1-1", to: CREW, isGroup: true, text: "an answer", createdAt: JUNE };

  it("counts as sent by its author and id, not by an id that a member chose", async () => {
    const forged = [
      xml("message", { from: `${CREW}/eve`, type: "groupchat", id: outgoing.id }, xml("body", {}, "x")),
      asCrab(outgoing.id, "o-eve"),
      asCrab("w-1-0", "o-eve"),
    ];
    for (const stanza of forged) {
      const crew = new Crew("own", "forged");
      crew.written.set("own", asCrab(outgoing.id, OWN_OCCUPANT)).set("forged", stanza);
      const { reader } = readingOf(crew, withGroup(undefined, CREW, "own", JUNE));
      const before = { ...outgoing, previousId: "w-1-0" };
      assert.equal(await reader.wasSent(before, JUNE), true, "what a member wrote ends no look");
      crew.kept.splice(0, 1);
      assert.equal(await reader.wasSent(outgoing, JUNE), false);
    }
  });

  it("is taken by the group when it comes back, not when a member writes its id", async () => {
    const crew = new Crew();
    const { reader } = readingOf(crew);
    const events: string[] = [];
    const sending = {
      status: "online",
      send: async () => {
        crew.emit("stanza", xml("message", { from: `${CREW}/eve`, type: "groupchat", id: outgoing.id }));
        crew.emit("stanza", xml("message", { from: `${CREW}/eve`, type: "error", id: outgoing.id }));
        events.push("written by a member");
        setImmediate(() => {
          events.push("back");
          crew.emit("stanza", asCrab(outgoing.id, OWN_OCCUPANT));
        });
      },
    };
    Object.assign(crew, sending);
    await reader.send(outgoing, xml("message", {}));
    assert.deepEqual(events, ["written by a member", "back"]);
  });

  it("is known by the group's id in a reply, also over a later connection", async () => {
    const crew = new Crew("asked", "old", "reply");
    const reply = xml("reply", { xmlns: "urn:xmpp:reply:0", to: `${CREW}/crab`, id: "asked" });
    const attrs = { from: `${CREW}/ann`, type: "groupchat", id: "r" };
    crew.written.set("asked", asCrab("q-1-ask", OWN_OCCUPANT));
    crew.written.set("reply", xml("message", attrs, xml("body", {}, "yes"), reply));
    const reading = readingOf(crew, withGroup(undefined, CREW, "old", JUNE));
    await reading.reader.catchUp(CREW);
    assert.deepEqual(reading.replies, ["q-1-ask"]);
  });
});
