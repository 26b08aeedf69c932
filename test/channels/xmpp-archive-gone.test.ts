/** Archives of XMPP that no longer have the message up to which all is received. */
import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { describe, it } from "node:test";
import { xml } from "@xmpp/client";
import { ArchiveReader } from "../../packages/channels/src/xmpp/archive-reader.ts";
import { XmppArchive } from "../../packages/channels/src/xmpp/xmpp-archive.ts";
import type { XmppClient, XmppElement } from "../../packages/channels/src/xmpp/xmpp-client.ts";
import { BEGINNING, withGroup, withOwn, XmppPlaces } from "../../packages/channels/src/xmpp/xmpp-cursor.ts";
import type { IncomingMessage } from "../../packages/contract/src/channel/channel.ts";

const MAM = "urn:xmpp:mam:2";
const RSM = "http://jabber.org/protocol/rsm";
const CREW = "crew@rooms.example.org";
const JUNE = Date.parse("2025-06-01T12:00:00Z");
const LOST = /no longer has the last message/;

interface Kept {
  id: string;
  at: number;
}

/** A server with an archive whose messages have their ids as texts. */
class Server extends EventEmitter {
  readonly status = "online";
  kept: Kept[];
  readonly iqCaller = { request: (iq: XmppElement) => this.#answer(iq) };

  constructor(kept: Kept[]) {
    super();
    this.kept = kept;
  }

  async #answer(iq: XmppElement): Promise<XmppElement> {
    const query = iq.getChild("query", MAM);
    const set = query?.getChild("set", RSM);
    const after = set?.getChildText("after") ?? undefined;
    if (after !== undefined && !this.kept.some(({ id }) => id === after))
      throw Object.assign(new Error("item-not-found"), { condition: "item-not-found" });
    const fields = query?.getChild("x", "jabber:x:data")?.getChildren("field") ?? [];
    const start = fields.find(({ attrs }) => attrs["var"] === "start")?.getChildText("value");
    const from = after === undefined ? 0 : this.kept.findIndex(({ id }) => id === after) + 1;
    const found = this.kept.slice(from).filter(({ at }) => at >= Date.parse(start ?? "1970-01-01"));
    const isEnd = set?.getChild("before") !== undefined;
    for (const { id, at } of isEnd ? found.slice(-1) : found)
      this.emit("stanza", resultOf({ id, at }, String(query?.attrs["queryid"]), iq.attrs["to"]));
    return xml("iq", {}, xml("fin", { xmlns: MAM, complete: "true" }));
  }
}

function resultOf({ id, at }: Kept, queryid: string, from: unknown): XmppElement {
  const delay = xml("delay", { xmlns: "urn:xmpp:delay", stamp: new Date(at).toISOString() });
  const message = xml("message", {}, xml("body", {}, id));
  const forwarded = xml("forwarded", { xmlns: "urn:xmpp:forward:0" }, delay, message);
  const result = xml("result", { xmlns: MAM, queryid, id }, forwarded);
  return xml("message", from === undefined ? {} : { from: from as string }, result);
}

interface Reading {
  received: string[];
  missed: string[];
  cursor(): string | undefined;
  catchUp(): Promise<void>;
}

function readingOf(server: Server, start: string | undefined, group?: string): Reading {
  let cursor = start;
  const [received, missed]: [string[], string[]] = [[], []];
  const port = {
    get cursor() {
      return cursor;
    },
    receive: async (message: IncomingMessage | undefined, next: string | undefined) => {
      if (message) received.push(message.id);
      cursor = next ?? cursor;
    },
    missed: (sentence: string) => void missed.push(sentence),
  };
  const reader = new ArchiveReader({
    archive: new XmppArchive(server as unknown as XmppClient, group),
    port,
    places: new XmppPlaces(port),
    ...(group !== undefined && { group }),
    name: "The archive",
    incoming: (_message, id) => ({ id, from: "ann@example.org", text: id }),
  });
  return { received, missed, cursor: () => cursor, catchUp: () => reader.catchUp() };
}

for (const group of [undefined, CREW])
  describe(`the archive of ${group ?? "an account"}`, () => {
    const cursorOf = (id: string, at?: number): string =>
      group === undefined ? withOwn(undefined, id, at) : withGroup(undefined, group, id, at);
    const year = Array.from({ length: 12 }, (_none, month) => ({
      id: `new-${month}`,
      at: Date.UTC(2025, month, 1, 12),
    }));

    it("with other ids is read from the time of the last message, which is reported", async () => {
      const reading = readingOf(new Server(year), cursorOf("old-5", JUNE), group);
      await reading.catchUp();
      assert.deepEqual(reading.received, ["new-6", "new-7", "new-8", "new-9", "new-10", "new-11"]);
      assert.match(reading.missed.join(), LOST);
      await reading.catchUp();
      assert.deepEqual([reading.received.length, reading.missed.length], [6, 1]);
    });

    it("with other ids is read from its end where the time is not known, which is reported", async () => {
      const server = new Server([...year]);
      const reading = readingOf(server, cursorOf("old-5"), group);
      await reading.catchUp();
      assert.deepEqual(reading.received, []);
      assert.match(reading.missed.join(), /what came since is missed/);
      server.kept.push({ id: "later", at: Date.UTC(2026, 0, 1) });
      await reading.catchUp();
      assert.deepEqual([reading.received, reading.missed.length], [["later"], 1]);
    });

    it("that has nothing new and not the last message is reported once", async () => {
      for (const kept of [[], year.slice(0, 3)]) {
        const server = new Server([...kept]);
        const reading = readingOf(server, cursorOf("old-5", JUNE), group);
        await reading.catchUp();
        await reading.catchUp();
        assert.deepEqual([reading.received, reading.missed.length], [[], 1]);
        server.kept.push({ id: "later", at: Date.UTC(2026, 0, 1) });
        await reading.catchUp();
        assert.deepEqual([reading.received, reading.missed.length], [["later"], 1]);
      }
    });

    it("whose ids change after a time was learned is not read again, whatever version made the cursor", async () => {
      const server = new Server([...year]);
      const reading = readingOf(server, cursorOf("new-11"), group);
      await reading.catchUp();
      server.kept = year.map(({ at }, index) => ({ id: `moved-${index}`, at }));
      server.kept.push({ id: "later", at: Date.now() });
      await reading.catchUp();
      assert.deepEqual(reading.received, ["later"]);
    });

    it("that was empty at the first connection is read from its beginning", async () => {
      const server = new Server([]);
      const reading = readingOf(server, undefined, group);
      await reading.catchUp();
      assert.match(reading.cursor() ?? "", new RegExp(BEGINNING));
      server.kept.push({ id: "first", at: Date.now() });
      await reading.catchUp();
      assert.deepEqual([reading.received, reading.missed], [["first"], []]);
    });
  });
