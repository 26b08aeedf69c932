/** What the host sends to people. */
import { xml } from "@xmpp/client";
import type { OutgoingMessage } from "@pagurus/contract/channel/channel";
import type { XmppElement } from "./xmpp-client.ts";

const CHAT_STATES = "http://jabber.org/protocol/chatstates";

/** Without characters that XML cannot have, for which a server ends the connection. */
function xmlText(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, "\uFFFD");
}

function typeOf(isGroup: boolean): string {
  return isGroup ? "groupchat" : "chat";
}

/** A message with our id; a correction (XEP-0308) where it replaces another one; a file by its address (XEP-0066). */
export function messageStanza(
  { id, to, isGroup, text, replaces }: OutgoingMessage,
  fileUrl?: string,
): XmppElement {
  return xml(
    "message",
    { to, type: typeOf(isGroup), id },
    xml("body", {}, [xmlText(text), fileUrl ?? ""].filter((part) => part !== "").join("\n")),
    xml("origin-id", { xmlns: "urn:xmpp:sid:0", id }),
    xml("active", { xmlns: CHAT_STATES }),
    ...(replaces === undefined
      ? []
      : [xml("replace", { xmlns: "urn:xmpp:message-correct:0", id: replaces })]),
    ...(fileUrl === undefined ? [] : [xml("x", { xmlns: "jabber:x:oob" }, xml("url", {}, fileUrl))]),
  );
}

/** A chat state (XEP-0085), which no archive keeps. */
export function typingStanza(to: string, isGroup: boolean, isTyping: boolean): XmppElement {
  return xml(
    "message",
    { to, type: typeOf(isGroup) },
    xml(isTyping ? "composing" : "active", { xmlns: CHAT_STATES }),
    xml("no-store", { xmlns: "urn:xmpp:hints" }),
  );
}
