/**
 * XMPP, one person to one account. What is received is what the server's archive has after the last acknowledged id: a message that
 * arrives only wakes the reader, so nothing is lost or doubled by a cut. What is sent has our id, and is looked up in the archive
 * before a second attempt. OMEMO is not supported: such messages are answered by their sender's client with a plain text at most.
 */
import { xml } from "@xmpp/client";
import type { ChannelConfig } from "../../config/config-types.ts";
import type {
  Channel,
  ChannelCapabilities,
  ChannelConnection,
  ChannelPort,
  IncomingMessage,
  OutgoingMessage,
} from "../../contract/channel/channel.ts";
import { secretFrom } from "../channel-settings.ts";
import { CursorGone, isOwn, XmppArchive } from "./xmpp-archive.ts";
import {
  accountOf,
  ask,
  channelFailed,
  connectXmpp,
  endXmpp,
  type XmppAccount,
  type XmppClient,
  type XmppElement,
} from "./xmpp-client.ts";

const CONNECT_MS = 20_000;
/** Longest text of one message: servers refuse stanzas over 256 kB or less. */
const MOST_CHARS = 4_000;
/** Interval of pings, which find a dead connection, ms. */
const PING_MS = 60_000;
/** Clocks of host and server may differ by this much, ms. */
const CLOCKS_MS = 5 * 60_000;
/** Cursor of an archive that was empty at the first connection. */
const BEGINNING = "beginning";

/** Throws `config_invalid`, `credential_missing`. */
export function createXmppChannel(
  id: string,
  config: ChannelConfig,
  env: Readonly<Record<string, string | undefined>>,
): Channel {
  const password = secretFrom(config.password ?? "", `channels.${id}.password`, env);
  const account = accountOf(id, config, password);
  return {
    id,
    kind: "xmpp",
    connect: (port, signal) => XmppConnection.open(id, account, port, signal),
  };
}

/** Without characters that XML cannot have, for which a server ends the connection. */
function xmlText(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, "\uFFFD");
}

class XmppConnection implements ChannelConnection {
  readonly capabilities: ChannelCapabilities;
  readonly ended: Promise<string>;
  readonly #id: string;
  readonly #xmpp: XmppClient;
  readonly #port: ChannelPort;
  readonly #archive: XmppArchive;
  readonly #hasArchive: boolean;
  #end: (reason: string) => void = () => undefined;
  #reading: Promise<void> = Promise.resolve();
  #isWoken = false;

  private constructor(id: string, xmpp: XmppClient, port: ChannelPort, hasArchive: boolean) {
    this.#id = id;
    this.#xmpp = xmpp;
    this.#port = port;
    this.#archive = new XmppArchive(xmpp);
    this.#hasArchive = hasArchive;
    const delivery = hasArchive ? "exactly-once" : "at-most-once";
    this.capabilities = { inbound: delivery, outbound: delivery, maxChars: MOST_CHARS };
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  static async open(
    id: string,
    account: XmppAccount,
    port: ChannelPort,
    signal: AbortSignal,
  ): Promise<XmppConnection> {
    const xmpp = await connectXmpp(id, account, CONNECT_MS);
    const archive = new XmppArchive(xmpp);
    try {
      const newest = await archive.page({ before: "", max: 1 }).catch((error: unknown) => {
        if (xmpp.status === "online") return undefined;
        throw error;
      });
      // What was written before the first connection is not for us.
      if (newest && port.cursor === undefined)
        await port.receive(undefined, newest.messages.at(-1)?.id ?? BEGINNING);
      const connection = new XmppConnection(id, xmpp, port, newest !== undefined);
      await connection.#listen(signal);
      return connection;
    } catch (error) {
      await endXmpp(xmpp);
      throw channelFailed(id, "lost its connection", error);
    }
  }

  async #listen(signal: AbortSignal): Promise<void> {
    const xmpp = this.#xmpp;
    xmpp.on("disconnect", () => this.#end("the connection was cut"));
    xmpp.on("offline", () => this.#end("the server ended the connection"));
    xmpp.on("error", (error: Error) => this.#end(error.message));
    xmpp.on("stanza", (stanza: XmppElement) => this.#arrived(stanza));
    signal.addEventListener("abort", () => this.#end("the host stops"), { once: true });
    if (signal.aborted) this.#end("the host stops");
    const pinging = setInterval(
      () => void this.#ping().catch((error: Error) => this.#end(error.message)),
      PING_MS,
    );
    pinging.unref();
    void this.ended.then(() => clearInterval(pinging));
    this.#wake();
    await xmpp.send(xml("presence"));
  }

  #arrived(stanza: XmppElement): void {
    if (stanza.name !== "message") return;
    if (this.#hasArchive) {
      if (!isOwn(this.#xmpp, stanza)) this.#wake();
      return;
    }
    const id = stanza.attrs["id"];
    const message = this.#incoming(stanza, typeof id === "string" ? id : "");
    if (message?.id === "") message.id = `${Date.now()}`;
    if (message) this.#inOrder(() => this.#port.receive(message, undefined));
  }

  /** Reads what is new in the archive. */
  #wake(): void {
    if (!this.#hasArchive || this.#isWoken) return;
    this.#isWoken = true;
    this.#inOrder(async () => {
      this.#isWoken = false;
      await this.#catchUp();
    });
  }

  #inOrder(work: () => Promise<void>): void {
    // What could not be taken is received again over the next connection.
    this.#reading = this.#reading.then(work).catch((error: unknown) => {
      this.#end(error instanceof Error ? error.message : String(error));
      return new Promise(() => undefined);
    });
  }

  async #catchUp(): Promise<void> {
    const { cursor } = this.#port;
    try {
      await this.#read(cursor === BEGINNING ? undefined : cursor);
    } catch (error) {
      if (!(error instanceof CursorGone)) throw error;
      this.#port.missed(
        "The server's archive no longer has the last message; what it removed may be missing.",
      );
      await this.#read(undefined);
    }
  }

  async #read(after: string | undefined): Promise<void> {
    let skipped: string | undefined;
    for await (const { id, message } of this.#archive.read(after === undefined ? {} : { after })) {
      const incoming = this.#incoming(message, id);
      skipped = incoming ? undefined : id;
      if (incoming) await this.#port.receive(incoming, id);
    }
    if (skipped !== undefined) await this.#port.receive(undefined, skipped);
  }

  /** A text that a person wrote to this account; undefined for everything else. */
  #incoming(stanza: XmppElement, id: string): IncomingMessage | undefined {
    const { type = "normal", from = "" } = stanza.attrs as { type?: string; from?: string };
    const [address = ""] = from.split("/");
    const text = stanza.getChildText("body") ?? "";
    if ((type !== "chat" && type !== "normal") || address === "" || text === "") return undefined;
    if (address === this.#xmpp.jid?.bare().toString()) return undefined;
    return { id, from: address, text };
  }

  async send({ id, to, text }: OutgoingMessage): Promise<void> {
    try {
      await this.#xmpp.send(
        xml(
          "message",
          { to, type: "chat", id },
          xml("body", {}, xmlText(text)),
          xml("origin-id", { xmlns: "urn:xmpp:sid:0", id }),
        ),
      );
      // The server works in order: with the answer it has taken the message too.
      await this.#ping();
    } catch (error) {
      this.#end(error instanceof Error ? error.message : String(error));
      throw channelFailed(this.#id, "could not send a message", error);
    }
  }

  /** From the end back: messages are sent in order, so it is not there where the one before it is met first. */
  async wasSent({ id, to, createdAt, previousId }: OutgoingMessage): Promise<boolean> {
    if (!this.#hasArchive) return false;
    try {
      for await (const { message } of this.#archive.readBack({ with: to, since: createdAt - CLOCKS_MS })) {
        if (message.attrs["id"] === id) return true;
        if (previousId !== undefined && message.attrs["id"] === previousId) return false;
      }
      return false;
    } catch (error) {
      this.#end(error instanceof Error ? error.message : String(error));
      throw channelFailed(this.#id, "could not look up a message", error);
    }
  }

  async #ping(): Promise<void> {
    const request = xml("iq", { type: "get" }, xml("ping", { xmlns: "urn:xmpp:ping" }));
    await ask(this.#xmpp, request);
  }

  async close(): Promise<void> {
    this.#end("it was closed");
    await endXmpp(this.#xmpp);
  }
}
