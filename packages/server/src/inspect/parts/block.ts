/** A piece of a request's body that can have a source of its own, and the keys by which its content is found. */
import type { Span } from "@pagurus/gateway/json/scan";

export interface Block extends Span {
  kind: "settings" | "tools" | "system" | "content";
  /** Place in the body. */
  at: string;
  role?: string;
  /** The parsed value; undefined for settings. */
  value?: unknown;
  /** The element of the list that it belongs to. */
  item?: Item;
  /** Kept by `keysIn`. */
  keys?: ContentKeys;
}

/** An element of the conversation. */
export interface Item extends Span {
  at: string;
  role: string;
  /** Its other members, such as the id of the call that a result answers. */
  fields: Readonly<Record<string, unknown>>;
}

export interface ContentKeys {
  /** From the most to the least exact. */
  keys: string[];
  /** Role of words: with it they have the digest that a receipt has of a whole message. */
  role?: string;
  /** Plain text of the block. */
  text?: string;
  /** Of the message in the receipt, where that consists of these words alone. */
  digest?: string;
  /** The provider's id of a call or of the call that a result answers. */
  callId?: string;
  /** Belongs to what follows it: thinking, encrypted reasoning. */
  isMute?: boolean;
}
