/** The server's archive of the account's messages, or of a group's (XEP-0313), read in pages by its own ids. */
import { xml } from "@xmpp/client";
import { ask, type XmppClient, type XmppElement } from "./xmpp-client.ts";
import { defined } from "@pagurus/core/data/defined";

const NS = "urn:xmpp:mam:2";
const FORWARDED = "urn:xmpp:forward:0";
const DELAY = "urn:xmpp:delay";
const RSM = "http://jabber.org/protocol/rsm";
const PAGE = 50;

export interface ArchivedMessage {
  /** Id in the archive. */
  id: string;
  /** The archive's time of it, ms since the epoch; undefined where there is none. */
  at: number | undefined;
  message: XmppElement;
}

export interface ArchivePage {
  messages: ArchivedMessage[];
  /** Whether nothing follows. */
  isComplete: boolean;
}

export interface ArchiveQuery {
  /** Id of the message before the page; absent: from the beginning. */
  after?: string;
  /** Id of the message after the page, which is the last one before it; empty: the end of the archive. */
  before?: string;
  /** Messages of a page. */
  max?: number;
  /** Messages with this address alone. */
  with?: string;
  /** Messages since then, ms since the epoch. */
  since?: number;
}

/** The archive no longer has the message after which to read. */
export class CursorGone extends Error {}

const DISCO = "http://jabber.org/protocol/disco#info";
const NO_ARCHIVE: readonly unknown[] = [
  "service-unavailable",
  "feature-not-implemented",
  "forbidden",
  "not-allowed",
];

/** The condition of an error that a server or group has answered with; undefined for any other error. */
export function conditionOf(error: unknown): string | undefined {
  if (error instanceof CursorGone) return "item-not-found";
  const { condition } = error as { condition?: unknown };
  return typeof condition === "string" ? condition : undefined;
}

/** Whether an error shows that there is no archive for us; any other may pass. */
export function hasNoArchive(error: unknown): boolean {
  return NO_ARCHIVE.includes(conditionOf(error));
}

export class XmppArchive {
  readonly #xmpp: XmppClient;
  readonly #group: string | undefined;
  #count = 0;

  /** `group`: address of the group that has the archive; absent: the account's own. */
  constructor(xmpp: XmppClient, group?: string) {
    this.#xmpp = xmpp;
    this.#group = group;
  }

  #isFromArchive(stanza: XmppElement): boolean {
    return this.#group === undefined ? isOwn(this.#xmpp, stanza) : stanza.attrs["from"] === this.#group;
  }

  /** Whether it is among the features of the account or group; true where these are not known. */
  async isOffered(): Promise<boolean> {
    const to = this.#group ?? this.#xmpp.jid?.bare().toString();
    const request = xml("iq", { type: "get", ...defined({ to }) }, xml("query", { xmlns: DISCO }));
    try {
      const info = (await ask(this.#xmpp, request)).getChild("query", DISCO);
      return !info || info.getChildren("feature").some(({ attrs }) => attrs["var"] === NS);
    } catch {
      return true;
    }
  }

  get #to(): { to?: string } {
    return this.#group === undefined ? {} : { to: this.#group };
  }

  /** Throws `CursorGone`, and the server's errors. */
  async page(query: ArchiveQuery): Promise<ArchivePage> {
    const queryid = `q${(this.#count += 1)}`;
    const messages: ArchivedMessage[] = [];
    const onStanza = (stanza: XmppElement): void => {
      const result = stanza.getChild("result", NS);
      if (!this.#isFromArchive(stanza) || result?.attrs["queryid"] !== queryid) return;
      const forwarded = result.getChild("forwarded", FORWARDED);
      const message = forwarded?.getChild("message");
      const { id } = result.attrs;
      const isAsked = messages.length < (query.max ?? PAGE);
      if (isAsked && message && typeof id === "string") messages.push({ id, at: timeOf(forwarded), message });
    };
    this.#xmpp.on("stanza", onStanza);
    try {
      const answer = await ask(
        this.#xmpp,
        xml(
          "iq",
          { type: "set", ...this.#to },
          xml("query", { xmlns: NS, queryid }, form(query), paging(query)),
        ),
      );
      return { messages, isComplete: answer.getChild("fin", NS)?.attrs["complete"] === "true" };
    } catch (error) {
      if ((error as { condition?: unknown }).condition === "item-not-found") throw new CursorGone();
      throw error;
    } finally {
      this.#xmpp.removeListener("stanza", onStanza);
    }
  }

  /** All messages that the query finds, newest first. Throws as `page`. */
  async *readBack(query: ArchiveQuery): AsyncGenerator<ArchivedMessage> {
    for (let before = ""; ;) {
      const page = await this.page({ ...query, before });
      yield* page.messages.toReversed();
      const [first] = page.messages;
      if (page.isComplete || !first) return;
      before = first.id;
    }
  }

  /** All messages that the query finds, oldest first. Throws as `page`. */
  async *read(query: ArchiveQuery): AsyncGenerator<ArchivedMessage> {
    for (let { after } = query; ;) {
      const page = await this.page({ ...query, ...defined({ after }) });
      yield* page.messages;
      const last = page.messages.at(-1);
      if (page.isComplete || !last) return;
      after = last.id;
    }
  }
}

function timeOf(forwarded: XmppElement | undefined): number | undefined {
  const at = Date.parse(String(forwarded?.getChild("delay", DELAY)?.attrs["stamp"]));
  return Number.isNaN(at) ? undefined : at;
}

/** Answers of the account's own archive come from it, or have no sender. */
export function isOwn(xmpp: XmppClient, stanza: XmppElement): boolean {
  const from = stanza.attrs["from"];
  return from === undefined || from === xmpp.jid?.bare().toString();
}

function form({ with: other, since }: ArchiveQuery): XmppElement {
  const fields: [string, string][] = [["FORM_TYPE", NS]];
  if (other !== undefined) fields.push(["with", other]);
  if (since !== undefined) fields.push(["start", new Date(since).toISOString()]);
  return xml(
    "x",
    { xmlns: "jabber:x:data", type: "submit" },
    ...fields.map(([name, value]) => xml("field", { var: name }, xml("value", {}, value))),
  );
}

function paging({ after, before, max = PAGE }: ArchiveQuery): XmppElement {
  const place = [
    ...(before === undefined ? [] : [xml("before", {}, before)]),
    ...(after === undefined ? [] : [xml("after", {}, after)]),
  ];
  return xml("set", { xmlns: RSM }, xml("max", {}, String(max)), ...place);
}
