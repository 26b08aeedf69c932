/**
 * A channel connects a service where people talk. It parses and sends; the host decides who may speak, keeps received and
 * outgoing messages, and runs the turns. Source: the design's "Channels".
 */

import type { ChannelCheck } from "./channel-check.ts";
import type { Attachment, MessageContent } from "./message-content.ts";

export type { Attachment, MessageContent };
export type { ChannelCheck };

/**
 * How often a message arrives: `exactly-once` where the service has an archive with ids, `at-least-once` where a repeat cannot be
 * excluded, `at-most-once` where a message of a bad moment is lost.
 */
export type Delivery = "exactly-once" | "at-least-once" | "at-most-once";

export interface ChannelCapabilities {
  inbound: Delivery;
  outbound: Delivery;
  /** Longest text of one message, characters. */
  maxChars: number;
  /** Largest file that can be sent, bytes. Absent: files cannot be sent, and their names are sent instead. */
  maxFileBytes?: number;
  /** Whether a sent message can be replaced: then answers are shown while they grow. */
  edits?: boolean;
}

export interface IncomingMessage {
  /** The service's own id: the same at each delivery of the message. */
  id: string;
  /** Address of the sender, as the service has checked it. */
  from: string;
  /** The name that the sender shows; anyone can take any. */
  name?: string;
  /** Address of the group where it was written; absent for a direct message. */
  group?: string;
  /** In a group: whether it speaks to this host. */
  isMention?: boolean;
  /** In a service with threads: the same for all messages of a thread, which has a session of its own, also in a group. */
  thread?: string;
  /** Data of the channel for an answer in the thread; the host stores it and hands it back. */
  reply?: string;
  /** Of a message that begins a thread; in a group of any message of one. */
  subject?: string;
  /** Without an address of this host before it ("crab: "). May be empty if there are attachments. */
  text: string;
  /**
   * Id (`OutgoingMessage.id`) of the sent message that it replies to, if the service marks replies. A reply to any other message
   * has another text here, such as the service's id of that one. Absent if it is no reply, or the service has no marks for it.
   */
  replyTo?: string;
  /**
   * `correction`: a later form of an earlier message. `forwarded`: words of someone else that its sender passed on. Neither answers a
   * permission question. Absent for words that the sender wrote now.
   */
  form?: "correction" | "forwarded";
  /** When the service got it, ms since the epoch; absent where the service does not say. */
  writtenAt?: number;
  /** Files that came with it. The host takes a limited number and size, and names the others. */
  attachments?: readonly Attachment[];
  /** Gets further files that the message only refers to. Called where the sender may speak. A throw is named in the turn. */
  fetchAttachments?: (signal: AbortSignal) => Promise<readonly Attachment[]>;
  /**
   * Gets text and files of a message of which only the head was received; `text` is empty then. Called where the sender may speak, so that
   * nothing of a stranger is downloaded or parsed. Throws `channel_failed`: the message has to be received again.
   */
  fetchContent?: () => Promise<MessageContent>;
  /** Why the message cannot be read, such as by its encryption: a sentence that the sender gets, once. */
  unreadable?: string;
}

export interface OutgoingMessage {
  /** Our id, the same at each attempt: letters, digits and dashes. */
  id: string;
  /** Address of a person or of a group. */
  to: string;
  isGroup: boolean;
  /** Thread of the message that is answered. */
  thread?: string;
  /** `reply` of the message that is answered. */
  reply?: string;
  /** Empty where the message is a file alone. */
  text: string;
  attachment?: Attachment;
  /** Id of an earlier message that shows this text from now on. Only where `edits` is set. */
  replaces?: string;
  /** When it was made, ms since the epoch. */
  createdAt: number;
  /** The last message that was sent to the same address before it; absent if there is none that is known. */
  previousId?: string;
  /** When its last attempt began, ms since the epoch; absent before the first one. */
  triedAt?: number;
}

/** The host's side of a connection. */
export interface ChannelPort {
  /** Place in the service's archive up to which all is received; undefined before the first connection. */
  readonly cursor: string | undefined;
  /**
   * Resolves when the message is on disk together with the new cursor. Without a message only the cursor moves. Throws
   * `store_write_failed`: then the message has to be received again.
   */
  receive(message: IncomingMessage | undefined, cursor: string | undefined): Promise<void>;
  /** Reports a possible loss in one sentence. Never throws. */
  missed(sentence: string): void;
}

export interface ChannelConnection {
  readonly capabilities: ChannelCapabilities;
  /** Resolves when the connection has ended, with the reason. Never rejects. */
  readonly ended: Promise<string>;
  /**
   * Resolves when the service has taken the message. Throws `channel_failed`: then the connection has ended; `channel_refused` where
   * the service will never take this one: then it is not sent again, and the connection is used on.
   */
  send(message: OutgoingMessage): Promise<void>;
  /**
   * Whether the service has the message: asked before one is sent again. Absent where the service cannot know. Throws
   * `channel_failed`.
   */
  wasSent?(message: OutgoingMessage): Promise<boolean>;
  /** Shows whether an answer is being written to an address. Never throws. */
  typing?(to: string, isGroup: boolean, isTyping: boolean, thread?: string): void;
  /** Resolves when nothing more is received over it. Never throws. */
  close(): Promise<void>;
}

export interface Channel {
  /** Its name in the configuration. */
  readonly id: string;
  readonly kind: string;
  /** Whether it can send files, where the server allows it; the model gets the instruction for it then. */
  readonly sendsFiles?: boolean;
  /** Whether a message can have a text and a file; else each file is a message of its own. */
  readonly joinsFile?: boolean;
  /** Longest text of one message, characters. Default 4,000. */
  readonly maxChars?: number;
  /**
   * Connects and receives the messages since the cursor. `signal` fires when the host stops, and when this connection has ended or failed to start.
   * Throws `channel_failed`.
   */
  connect(port: ChannelPort, signal: AbortSignal): Promise<ChannelConnection>;
  /**
   * Checks facts that a connection does not show, such as whether messages can be sent. Called by `pagurus channels test`, and by `doctor` with
   * `isThorough` false: then it sends nothing. Throws `channel_failed`.
   */
  check?(options: { isThorough: boolean; signal: AbortSignal }): Promise<ChannelCheck>;
}
