/** A scripted person with an XMPP client of their own, which keeps what it sees in the archive of its account. */
import { client, xml, type Client } from "@xmpp/client";
import { setTimeout as pause } from "node:timers/promises";
import { ask, type XmppElement } from "../../../src/channels/xmpp/xmpp-client.ts";
import { XmppArchive } from "../../../src/channels/xmpp/xmpp-archive.ts";

const TRIES = 600;

export class XmppPerson {
  readonly #name: string;
  readonly #service: string;
  #xmpp: Client | undefined;
  /** Texts of other accounts, in the order of their arrival, by id: the same id twice is the same message. */
  readonly got: { id: string; from: string; text: string }[] = [];

  constructor(name: string, service: string) {
    this.#name = name;
    this.#service = service;
  }

  async connect(): Promise<void> {
    const xmpp = client({
      service: this.#service,
      domain: "localhost",
      username: this.#name,
      password: this.#name,
    });
    xmpp.reconnect.stop();
    xmpp.on("error", () => undefined);
    xmpp.on("stanza", (stanza: XmppElement) => this.#arrived(stanza));
    await xmpp.start();
    await xmpp.send(xml("presence"));
    this.#xmpp = xmpp;
  }

  #arrived(stanza: XmppElement): void {
    const text = stanza.getChildText("body");
    if (stanza.name !== "message" || text === null) return;
    const { id = "", from = "" } = stanza.attrs as { id?: string; from?: string };
    this.got.push({ id, from: from.split("/")[0] ?? "", text });
  }

  /** Sends a text and waits until the server has it. */
  async say(text: string, id: string, to = "crab@localhost"): Promise<void> {
    await this.#xmpp?.send(xml("message", { to, type: "chat", id }, xml("body", {}, text)));
    if (this.#xmpp)
      await ask(this.#xmpp, xml("iq", { type: "get" }, xml("ping", { xmlns: "urn:xmpp:ping" })));
  }

  /** Sends a text over lost connections until the server has it, once. */
  async insist(text: string, id: string): Promise<void> {
    for (let isRepeat = false; ; isRepeat = true) {
      try {
        if (this.#xmpp?.status !== "online") await this.connect();
        const isThere = isRepeat && (await this.archive()).some((message) => message.id === id);
        if (!isThere) await this.say(text, id);
        return;
      } catch {
        await this.end();
        await pause(50);
      }
    }
  }

  /** The archive, over lost connections. */
  async insistOnArchive(): Promise<{ id: string; from: string; text: string }[]> {
    for (;;) {
      try {
        if (this.#xmpp?.status !== "online") await this.connect();
        return await this.archive();
      } catch {
        await this.end();
        await pause(50);
      }
    }
  }

  /** All messages of the account's archive, oldest first. */
  async archive(): Promise<{ id: string; from: string; text: string }[]> {
    if (!this.#xmpp) return [];
    const found: { id: string; from: string; text: string }[] = [];
    for await (const { message } of new XmppArchive(this.#xmpp).read({})) {
      const { id = "", from = "" } = message.attrs as { id?: string; from?: string };
      found.push({ id, from: from.split("/")[0] ?? "", text: message.getChildText("body") ?? "" });
    }
    return found;
  }

  /** Waits until there are so many texts. */
  async until(count: number): Promise<string[]> {
    for (let tries = 0; this.got.length < count && tries < TRIES; tries += 1) await pause(50);
    return this.got.map(({ text }) => text);
  }

  async end(): Promise<void> {
    await this.#xmpp?.stop().catch(() => undefined);
  }
}
