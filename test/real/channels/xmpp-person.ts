/** A scripted person with an XMPP client of their own, which keeps what it sees in the archive of its account. */
import { client, xml, type Client } from "@xmpp/client";
import { setTimeout as pause } from "node:timers/promises";
import { ask, type XmppElement } from "../../../packages/channels/src/xmpp/xmpp-client.ts";
import { XmppFiles } from "../../../packages/channels/src/xmpp/xmpp-files.ts";
import { XmppArchive } from "../../../packages/channels/src/xmpp/xmpp-archive.ts";

const TRIES = 1_200;

interface ReadMessage {
  id: string;
  from: string;
  text: string;
  replaces: string | undefined;
}

function readMessage(stanza: XmppElement): ReadMessage {
  const { id = "", from = "" } = stanza.attrs as { id?: string; from?: string };
  const isGroup = stanza.attrs["type"] === "groupchat";
  const replaces = stanza.getChild("replace", "urn:xmpp:message-correct:0")?.attrs["id"] as
    | string
    | undefined;
  const writer = isGroup ? from : (from.split("/")[0] ?? "");
  return { id, from: writer, text: stanza.getChildText("body") ?? "", replaces };
}

/** As a client shows it: a correction changes the message before. */
function add(shown: { id: string; from: string; text: string }[], { replaces, ...read }: ReadMessage): void {
  const known = shown.find(({ id, from }) => id === replaces && from === read.from);
  if (known) known.text = read.text;
  else if (read.text !== "") shown.push(read);
}

export class XmppPerson {
  readonly #name: string;
  readonly #service: string;
  #xmpp: Client | undefined;
  /** Texts of other accounts, in the order of their arrival, by id: the same id twice is the same message. */
  readonly got: { id: string; from: string; text: string }[] = [];
  /** How often a message was corrected, by its id. */
  readonly corrected = new Map<string, number>();
  /** Chat states, in the order of their arrival. */
  readonly states: string[] = [];

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
    if (stanza.name !== "message") return;
    for (const state of ["composing", "active"])
      if (stanza.getChild(state, "http://jabber.org/protocol/chatstates")) this.states.push(state);
    const read = readMessage(stanza);
    const { replaces } = read;
    if (replaces !== undefined) this.corrected.set(replaces, (this.corrected.get(replaces) ?? 0) + 1);
    add(this.got, read);
  }

  /** Sends a text and waits until the server has it. */
  async say(text: string, id: string, to = "crab@localhost"): Promise<void> {
    await this.send(xml("message", { to, type: "chat", id }, xml("body", {}, text)));
  }

  /** Enters a group under the own name, and waits until it is in. */
  async join(group: string): Promise<void> {
    const isIn = new Promise<void>((resolve) => {
      const onStanza = (stanza: XmppElement): void => {
        if (stanza.name !== "presence" || stanza.attrs["from"] !== `${group}/${this.#name}`) return;
        this.#xmpp?.removeListener("stanza", onStanza);
        resolve();
      };
      this.#xmpp?.on("stanza", onStanza);
    });
    const history = xml("history", { maxstanzas: "0" });
    const join = xml("x", { xmlns: "http://jabber.org/protocol/muc" }, history);
    await this.#xmpp?.send(xml("presence", { to: `${group}/${this.#name}` }, join));
    await isIn;
  }

  /** Writes in a group, and waits until the server has it. */
  async sayIn(group: string, text: string, id: string): Promise<void> {
    await this.send(xml("message", { to: group, type: "groupchat", id }, xml("body", {}, text)));
  }

  /** Uploads a file to the server and sends its address. */
  async sendFile(name: string, bytes: Uint8Array, mimeType: string, id: string): Promise<void> {
    if (!this.#xmpp) return;
    const files = new XmppFiles(this.#xmpp, "localhost", true);
    const url = await files.upload({ name, mimeType, bytes });
    const file = xml("x", { xmlns: "jabber:x:oob" }, xml("url", {}, url));
    await this.send(xml("message", { to: "crab@localhost", type: "chat", id }, xml("body", {}, url), file));
  }

  /** Full address of this client. */
  get address(): string {
    return this.#xmpp?.jid?.toString() ?? "";
  }

  async send(stanza: XmppElement): Promise<void> {
    await this.#xmpp?.send(stanza);
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
      add(found, readMessage(message));
    }
    return found;
  }

  /** Waits until there are so many texts. */
  async until(count: number): Promise<string[]> {
    for (let tries = 0; this.got.length < count && tries < TRIES; tries += 1) await pause(50);
    return this.got.map(({ text }) => text);
  }

  /** Waits until a message has this text, or fits this pattern; returns its text. */
  async untilSeen(wanted: string | RegExp): Promise<string> {
    for (let tries = 0; tries < TRIES; tries += 1) {
      const found = this.got.find(({ text }) =>
        typeof wanted === "string" ? text === wanted : wanted.test(text),
      );
      if (found) return found.text;
      await pause(50);
    }
    throw new Error(`${String(wanted)} was not seen among ${JSON.stringify(this.got)}`);
  }

  async end(): Promise<void> {
    await this.#xmpp?.stop().catch(() => undefined);
  }
}
