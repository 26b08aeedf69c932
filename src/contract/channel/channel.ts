/**
 * A channel connects a service where people talk. It parses and sends; the host decides who may speak, keeps what was received and
 * what is to be sent, and runs the turns. Source: the design's "Channels".
 */

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
  text: string;
}

export interface OutgoingMessage {
  /** Our id, the same at each attempt: letters, digits and dashes. */
  id: string;
  /** Address of a person or of a group. */
  to: string;
  isGroup: boolean;
  text: string;
  /** When it was made, ms since the epoch. */
  createdAt: number;
  /** The last message that was sent to the same address before it; absent where there is none that is known. */
  previousId?: string;
}

/** What a connection gets of the host. */
export interface ChannelPort {
  /** Place in the service's archive up to which all is received; undefined before the first connection. */
  readonly cursor: string | undefined;
  /**
   * Resolves when the message is on disk together with the new cursor. Without a message only the cursor moves. Throws
   * `store_write_failed`: then the message has to be received again.
   */
  receive(message: IncomingMessage | undefined, cursor: string | undefined): Promise<void>;
  /** Reports in one sentence what may have been missed. Never throws. */
  missed(sentence: string): void;
}

export interface ChannelConnection {
  readonly capabilities: ChannelCapabilities;
  /** Resolves when the connection has ended, with the reason. Never rejects. */
  readonly ended: Promise<string>;
  /** Resolves when the service has taken the message. Throws `channel_failed`: then the connection has ended. */
  send(message: OutgoingMessage): Promise<void>;
  /**
   * Whether the service has the message: asked before one is sent again. Absent where the service cannot know. Throws
   * `channel_failed`.
   */
  wasSent?(message: OutgoingMessage): Promise<boolean>;
  /** Never throws. */
  close(): Promise<void>;
}

export interface Channel {
  /** Its name in the configuration. */
  readonly id: string;
  readonly kind: string;
  /** Connects and receives what came meanwhile. Throws `channel_failed`. */
  connect(port: ChannelPort, signal: AbortSignal): Promise<ChannelConnection>;
}
