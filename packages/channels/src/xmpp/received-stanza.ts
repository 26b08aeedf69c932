/** Messages of people, as the host takes them. */
import type { IncomingMessage } from "@pagurus/contract/channel/channel";
import type { XmppElement } from "./xmpp-client.ts";
import { defined } from "@pagurus/core/data/defined";

const OMEMO = ["eu.siacs.conversations.axolotl", "urn:xmpp:omemo:1", "urn:xmpp:omemo:2"];
const ENCRYPTED =
  "This message is encrypted, which is not supported here: switch the encryption (OMEMO, OpenPGP) off for this conversation, and write it again.";
const MUC_USER = "http://jabber.org/protocol/muc#user";

const REPLY = "urn:xmpp:reply:0";
const FALLBACK = "urn:xmpp:fallback:0";
const CORRECTION = "urn:xmpp:message-correct:0";
const FORWARD = "urn:xmpp:forward:0";

/** What a message says, whoever wrote it; `fileUrl`: address of a file that it refers to. `replyTo`: as the stanza names it. */
export interface Content extends Pick<IncomingMessage, "text" | "unreadable" | "replyTo" | "form"> {
  fileUrl?: string;
}

/** The text without the quote that a reply (XEP-0461) has for programs that do not know replies. */
function withoutQuote(stanza: XmppElement, body: string): string {
  const quote = stanza.getChildren("fallback", FALLBACK).find(({ attrs }) => attrs["for"] === REPLY);
  const { start, end } = (quote?.getChild("body")?.attrs ?? {}) as { start?: string; end?: string };
  if (start === undefined || end === undefined || !/^\d{1,6}$/.test(start) || !/^\d{1,6}$/.test(end))
    return body;
  const characters = [...body];
  return [...characters.slice(0, Number(start)), ...characters.slice(Number(end))].join("");
}

/** Which message it replies to, and whether its words are of now. */
function stanzaRelation(stanza: XmppElement): Pick<Content, "replyTo" | "form"> {
  const reply = stanza.getChild("reply", REPLY);
  const form =
    stanza.getChild("replace", CORRECTION) !== undefined
      ? "correction"
      : stanza.getChild("forwarded", FORWARD) === undefined
        ? undefined
        : "forwarded";
  return {
    ...(reply === undefined ? {} : { replyTo: String(reply.attrs["id"] ?? "") }),
    ...defined({ form }),
  };
}

/** Undefined for what is no message of a person: marks, subjects, errors. */
export function contentOf(stanza: XmppElement): Content | undefined {
  const isOmemo = OMEMO.some((ns) => stanza.getChild("encrypted", ns)?.getChild("payload") !== undefined);
  if (isOmemo || stanza.getChild("x", "jabber:x:encrypted")) return { text: "", unreadable: ENCRYPTED };
  if (OMEMO.some((ns) => stanza.getChild("encrypted", ns))) return undefined;
  const relation = stanzaRelation(stanza);
  const whole = stanza.getChildText("body") ?? "";
  const body = relation.replyTo === undefined ? whole : withoutQuote(stanza, whole);
  const fileUrl = stanza.getChild("x", "jabber:x:oob")?.getChildText("url") ?? "";
  if (body === "" && fileUrl === "") return undefined;
  // By convention the body repeats the address of a file.
  return { text: body === fileUrl ? "" : body, ...relation, ...(fileUrl === "" ? {} : { fileUrl }) };
}

/** Bare address and the part after the slash. */
export function addressOf(stanza: XmppElement): { bare: string; resource: string } {
  const { from = "" } = stanza.attrs as { from?: string };
  const slash = from.indexOf("/");
  return slash < 0
    ? { bare: from, resource: "" }
    : { bare: from.slice(0, slash), resource: from.slice(slash + 1) };
}

const OCCUPANT = "urn:xmpp:occupant-id:0";

/** Id of a member that a group gives to each of its stanzas (XEP-0421), whatever the member's name is; undefined where it gives none. */
export function occupantOf(stanza: XmppElement): string | undefined {
  const marks = stanza.getChildren("occupant-id", OCCUPANT);
  const { id } = (marks.length === 1 ? (marks[0]?.attrs ?? {}) : {}) as { id?: string };
  return id;
}

/** Whether this account wrote a message of a group. Ids prove nothing, since members choose them, and a name can be taken meanwhile. */
export function isOwnInGroup(
  stanza: XmppElement,
  { nick, occupant }: { nick: string; occupant: string | undefined },
): boolean {
  if (addressOf(stanza).resource !== nick) return false;
  return occupant === undefined || occupantOf(stanza) === occupant;
}

export function isFromGroupMember(stanza: XmppElement): boolean {
  return stanza.getChild("x", MUC_USER) !== undefined;
}

/**
 * Real address of the writer of an archived message of a group. Only of a group that shows addresses; where the message has two, one
 * may be the writer's own invention, and none counts.
 */
function realAddress(stanza: XmppElement): string | undefined {
  const marks = stanza.getChildren("x", MUC_USER);
  const jid =
    marks.length === 1 ? (marks[0]?.getChild("item")?.attrs["jid"] as string | undefined) : undefined;
  return jid?.split("/")[0];
}

/** Whether a text speaks to `nick`, and the text without the address before it. */
function spokenTo(text: string, nick: string): { isMention: boolean; text: string } {
  const name = nick.replaceAll(/[.*+?^${}()|[\]\\/]/g, "\\$&");
  const end = "(?![\\p{L}\\p{N}_-])";
  const isMention = new RegExp(`(?<![\\p{L}\\p{N}_-])@?${name}${end}`, "iu").test(text);
  const rest = text.replace(new RegExp(`^\\s*@?${name}(?:[:,]|${end})\\s*`, "iu"), "");
  return { isMention, text: isMention && rest !== "" ? rest : text };
}

export type GroupStanza = Pick<IncomingMessage, "from" | "name" | "group" | "isMention"> & Content;

/** A message that another member wrote in a group; `showsAddresses`: the group does. Undefined for all else. */
export function groupMessage(
  stanza: XmppElement,
  { nick, showsAddresses }: { nick: string; showsAddresses: boolean },
): GroupStanza | undefined {
  const { bare, resource } = addressOf(stanza);
  if (stanza.attrs["type"] !== "groupchat" || resource === "" || resource === nick) return undefined;
  const content = contentOf(stanza);
  if (!content) return undefined;
  const from = (showsAddresses ? realAddress(stanza) : undefined) ?? `${bare}/${resource}`;
  return { from, name: resource, group: bare, ...content, ...spokenTo(content.text, nick) };
}
