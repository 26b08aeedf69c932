/**
 * XMPP: direct messages and groups of one account. What is received is what an archive of the server has after the last acknowledged
 * id: a message that arrives, or its copy (carbon), only wakes the reader, so nothing is lost or doubled by a cut. What is sent has our
 * id, and is looked up in the archive before a second attempt. OMEMO is not supported: such a message is answered with a sentence.
 */
import { defined } from "@pagurus/core/data/defined";
import { SYSTEM_CLOCK, type Clock } from "@pagurus/core/data/clock";
import { errorText } from "@pagurus/core/data/error-text";
import { xml } from "@xmpp/client";
import type { ChannelConfig } from "@pagurus/core/config/config-types";
import type {
  Channel,
  ChannelCapabilities,
  ChannelConnection,
  ChannelPort,
  IncomingMessage,
  OutgoingMessage,
} from "@pagurus/contract/channel/channel";
import { withVariables } from "@pagurus/core/platform/configured-secret";
import { sleep } from "@pagurus/core/platform/deadline";
import { ToolError } from "@pagurus/host/tool/tool-error";
import type { ChannelParts } from "../channel-parts.ts";
import { MOST_FILE_BYTES } from "../handed-files.ts";
import { ArchiveReader, CLOCKS_MS, endPlace } from "./archive-reader.ts";
import { addressOf, contentOf, isFromGroupMember } from "./received-stanza.ts";
import { messageStanza, typingStanza } from "./stanzas.ts";
import { hasNoArchive, isOwn, XmppArchive } from "./xmpp-archive.ts";
import { channelFailed } from "../channel-failure.ts";
import {
  accountOf,
  ask,
  connectXmpp,
  endXmpp,
  isLocalService,
  type XmppAccount,
  type XmppClient,
  type XmppElement,
} from "./xmpp-client.ts";
import { placeIn, withoutPlace, withOwn, XmppPlaces } from "./xmpp-cursor.ts";
import { XmppFiles } from "./xmpp-files.ts";
import { XmppGroupReader } from "./xmpp-group-reader.ts";
import { XmppGroups } from "./xmpp-groups.ts";

const CONNECT_MS = 20_000;
/** Longest text of one message: servers refuse stanzas over 256 kB or less. */
const MOST_CHARS = 4_000;
/** Interval of pings, which find a dead connection, ms. */
const PING_MS = 60_000;
/** How long the start waits for the places of new groups, ms. */
const BEGIN_MS = 5_000;
const CARBONS = "urn:xmpp:carbons:2";

/** Throws `config_invalid`, `credential_missing`. */
export function createXmppChannel(
  id: string,
  config: ChannelConfig,
  env: Readonly<Record<string, string | undefined>>,
  { clock = SYSTEM_CLOCK }: ChannelParts = {},
): Channel {
  const password = withVariables(config.password ?? "", `channels.${id}.password`, env);
  const account = accountOf(id, config, password);
  return {
    id,
    kind: "xmpp",
    sendsFiles: true,
    connect: (port, signal) => XmppConnection.open({ id, account, port, clock }, signal),
  };
}

interface Opening {
  id: string;
  account: XmppAccount;
  port: ChannelPort;
  clock: Clock;
}

interface Opened extends Opening {
  xmpp: XmppClient;
  hasArchive: boolean;
  files: XmppFiles;
}

class XmppConnection implements ChannelConnection {
  readonly capabilities: ChannelCapabilities;
  readonly ended: Promise<string>;
  /** Left out where no archive could know: then the link does not send it again. */
  readonly wasSent?: (message: OutgoingMessage) => Promise<boolean>;
  readonly #id: string;
  readonly #xmpp: XmppClient;
  readonly #clock: Clock;
  readonly #port: ChannelPort;
  readonly #archive: XmppArchive;
  readonly #hasArchive: boolean;
  readonly #files: XmppFiles;
  readonly #groups: XmppGroups;
  readonly #groupReader: XmppGroupReader;
  readonly #reader: ArchiveReader;
  #end: (reason: string) => void = () => undefined;
  #reading: Promise<void> = Promise.resolve();
  readonly #woken = new Set<string>();
  /** Groups whose archive is asked again after a pause. */
  readonly #waiting = new Set<string>();
  /** Of new groups, whose places are looked for. */
  readonly #beginnings = new Set<Promise<void>>();

  private constructor({ id, xmpp, account, port, hasArchive, files, clock }: Opened) {
    this.#id = id;
    this.#xmpp = xmpp;
    this.#clock = clock;
    this.#port = port;
    this.#archive = new XmppArchive(xmpp);
    this.#hasArchive = hasArchive;
    this.#files = files;
    this.#groups = new XmppGroups({ xmpp, clock }, account.nick, account.groups, {
      joined: (address) => this.#joined(address),
      problem: (sentence) => port.missed(sentence),
    });
    const places = new XmppPlaces(port);
    this.#groupReader = new XmppGroupReader({
      xmpp,
      port,
      places,
      groups: this.#groups,
      files,
      again: (group) => this.#again(group),
    });
    this.#reader = new ArchiveReader({
      archive: this.#archive,
      port,
      places,
      name: "The server's archive",
      incoming: (message, archived) => this.#incoming(message, archived),
    });
    if (hasArchive || account.groups.length > 0) this.wasSent = (message) => this.#wasSent(message);
    const delivery = hasArchive ? "exactly-once" : "at-most-once";
    this.capabilities = {
      inbound: delivery,
      outbound: delivery,
      maxChars: MOST_CHARS,
      // The upload service says what it does not take.
      maxFileBytes: MOST_FILE_BYTES,
      edits: true,
    };
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  static async open(opening: Opening, signal: AbortSignal): Promise<XmppConnection> {
    const { id, account, port } = opening;
    const xmpp = await connectXmpp(id, account, CONNECT_MS);
    try {
      const archive = new XmppArchive(xmpp);
      const newest = await archive.page({ before: "", max: 1 }).catch(async (error: unknown) => {
        if (xmpp.status !== "online" || !hasNoArchive(error)) throw error;
        if (!placeIn(port.cursor)) return undefined;
        // An archive that has been read may only not answer now.
        if (await archive.isOffered()) throw error;
        await port.receive(undefined, withoutPlace(port.cursor));
        port.missed(
          "The server's archive is no longer there: what is written between connections is missed.",
        );
        return undefined;
      });
      // What was written before the first connection is not for us.
      if (newest && !placeIn(port.cursor)) {
        const { id: end, at } = endPlace(newest.messages);
        await port.receive(undefined, withOwn(port.cursor, end, at));
      }
      const files = new XmppFiles(xmpp, account.domain, isLocalService(account.service));
      const hasArchive = newest !== undefined;
      const connection = new XmppConnection({ ...opening, xmpp, hasArchive, files });
      await connection.#listen(signal).catch((error: unknown) => {
        connection.#end("the start failed");
        throw error;
      });
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
    const ping = (): void => void this.#ping().catch((error: Error) => this.#end(error.message));
    const stopPinging = this.#clock.every(PING_MS, ping, { ref: false });
    void this.ended.then(() => {
      stopPinging();
      this.#groups.close();
    });
    const reason = await Promise.race([this.#begin(), this.ended]);
    if (reason !== undefined) throw new ToolError(reason);
  }

  async #begin(): Promise<undefined> {
    if (this.#hasArchive) this.#enableCarbons();
    this.#wake();
    await this.#xmpp.send(xml("presence"));
    await this.#groups.joinAll();
    // What is written in a new group from now on is for us: once its place is known the account counts as connected.
    const begun = new AbortController();
    void this.ended.then(() => begun.abort());
    await Promise.race([Promise.all(this.#beginnings), sleep(BEGIN_MS, begun.signal, this.#clock)]);
    begun.abort();
  }

  /** Takes part in a group from now on. */
  #joined(group: string): void {
    const begun = this.#groupReader.begin(group).then(
      () => this.#wake(group),
      (error: unknown) => this.#end(errorText(error)),
    );
    this.#beginnings.add(begun);
    void begun.then(() => this.#beginnings.delete(begun));
  }

  /** Once at a time for each group, however many messages arrive meanwhile. */
  #again(group: string): void {
    if (this.#waiting.has(group)) return;
    this.#waiting.add(group);
    this.#groups.later(() => {
      this.#waiting.delete(group);
      this.#joined(group);
    });
  }

  /** Copies of messages that another client of the account gets: without them they would wait for the next one. */
  #enableCarbons(): void {
    const request = xml("iq", { type: "set" }, xml("enable", { xmlns: CARBONS }));
    // A server without them delivers to all clients, or the message waits for the next one.
    void ask(this.#xmpp, request).catch(() => undefined);
  }

  #arrived(stanza: XmppElement): void {
    if (stanza.name === "presence") this.#groups.presence(stanza);
    if (stanza.name !== "message") return;
    const { bare } = addressOf(stanza);
    if (this.#groups.has(bare)) {
      this.#groupReader.arrived(stanza, (work) => this.#inOrder(work));
      if (stanza.attrs["type"] === "groupchat") this.#wake(bare);
      return;
    }
    if (this.#hasArchive) {
      const isCopy = isOwn(this.#xmpp, stanza) && stanza.getChild("received", CARBONS) !== undefined;
      if (isCopy || !isOwn(this.#xmpp, stanza)) this.#wake();
      return;
    }
    const id = stanza.attrs["id"];
    // Two people may choose the same id.
    const message = this.#incoming(stanza, `${bare}/${typeof id === "string" ? id : Date.now()}`);
    if (message) this.#inOrder(() => this.#port.receive(message, undefined));
  }

  /** Reads what is new in the archive of the account, or of a group. */
  #wake(group = ""): void {
    if ((group === "" && !this.#hasArchive) || this.#woken.has(group)) return;
    this.#woken.add(group);
    this.#inOrder(async () => {
      this.#woken.delete(group);
      await (group === "" ? this.#reader.catchUp() : this.#groupReader.catchUp(group));
    });
  }

  #inOrder(work: () => Promise<void>): void {
    // What could not be taken is received again over the next connection.
    this.#reading = this.#reading.then(work).catch((error: unknown) => {
      this.#end(errorText(error));
      return new Promise(() => undefined);
    });
  }

  /** A message that a person wrote to this account; undefined for everything else. */
  #incoming(stanza: XmppElement, id: string): IncomingMessage | undefined {
    const { type = "normal" } = stanza.attrs as { type?: string };
    const { bare } = addressOf(stanza);
    if ((type !== "chat" && type !== "normal") || bare === "") return undefined;
    if (bare === this.#xmpp.jid?.bare().toString()) return undefined;
    // A private message inside a group has no address that the server has checked.
    if (this.#groups.has(bare) || isFromGroupMember(stanza)) return undefined;
    const content = contentOf(stanza);
    if (!content) return undefined;
    const { fileUrl, ...said } = content;
    const fetchAttachments = fileUrl === undefined ? undefined : this.#files.fetcherOf(fileUrl);
    return { id, from: bare, ...said, ...defined({ fetchAttachments }) };
  }

  async send(message: OutgoingMessage): Promise<void> {
    try {
      const stanza = await this.#stanzaOf(message);
      if (message.isGroup) {
        await this.#groupReader.send(message, stanza);
        return;
      }
      await this.#xmpp.send(stanza);
      // The server works in order: with the answer it has taken the message too.
      await this.#ping();
    } catch (error) {
      this.#end(errorText(error));
      throw channelFailed(this.#id, "could not send a message", error);
    }
  }

  /** A file is uploaded first; one that the service refuses is named instead. */
  async #stanzaOf(message: OutgoingMessage): Promise<XmppElement> {
    const { attachment } = message;
    if (!attachment) return messageStanza(message);
    try {
      return messageStanza(message, await this.#files.upload(attachment));
    } catch (error) {
      if (this.#xmpp.status !== "online") throw error;
      const reason = error instanceof Error ? error.message.replace(/\.$/, "") : String(error);
      const note = `(The file ${JSON.stringify(attachment.name)} was not sent: ${reason}.)`;
      return messageStanza({ ...message, text: note });
    }
  }

  typing(to: string, isGroup: boolean, isTyping: boolean): void {
    void this.#xmpp.send(typingStanza(to, isGroup, isTyping)).catch(() => undefined);
  }

  /** From the end back: messages are sent in order, so it is not there where the one before it is met first. */
  async #wasSent(message: OutgoingMessage): Promise<boolean> {
    const { id, to, createdAt, previousId } = message;
    if (!this.#hasArchive && !message.isGroup) {
      this.#port.missed(`The server has no archive: a message of the agent may not have arrived at ${to}.`);
      return true;
    }
    const since = createdAt - CLOCKS_MS;
    try {
      if (message.isGroup) return await this.#groupReader.wasSent(message, since);
      for await (const { message: found } of this.#archive.readBack({ with: to, since })) {
        if (found.attrs["id"] === id) return true;
        if (previousId !== undefined && found.attrs["id"] === previousId) return false;
      }
      return false;
    } catch (error) {
      this.#end(errorText(error));
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
