/** What the suite of channels needs of the service: people who write, and ways to break the connection. */
import type { Channel, OutgoingMessage } from "@pagurus/contract/channel/channel";

/** Two people; the channel can write to both. */
export type Peer = "ann" | "eve";

/** A service with an account of the channel and two people. */
export interface ChannelService {
  /** The channel as after a start of the host: it remembers nothing but what the port gives it. */
  channel(): Channel | Promise<Channel>;
  /** The address that the channel has to give for a person. */
  addressOf(peer: Peer): string;
  /**
   * Where a person writes in a service without direct messages: a group, and what the channel needs for a thread in it that is theirs
   * alone. A service without it has direct messages.
   */
  placeOf?(peer: Peer): { group: string } & Pick<OutgoingMessage, "thread" | "reply">;
  /** Writes to the channel as a person; resolves when the service has it. Over a lost connection of that person it connects again. */
  say(peer: Peer, text: string): Promise<void>;
  /** Texts that a person got of the channel, in order, each as often as it arrived. A text that is split is several. */
  got(peer: Peer): Promise<readonly string[]>;
  /** Cuts the channel's connection, as a broken network does; the service works on. */
  cut(): Promise<void>;
  /** Stops the service; its connections end. */
  stop(): Promise<void>;
  /** Starts it again, with what it keeps. */
  start(): Promise<void>;
  /**
   * Writes as `eve` with everything that she can choose (names, nicks, headers) set to what `ann` has. May write nothing where the
   * service refuses that. A service without it skips the check.
   */
  pretend?(text: string): Promise<void>;
  /** Called after the check, whatever happened; removes everything. */
  end(): Promise<void>;
}

export interface ChannelUnderTest {
  /** Opens a service for one check. Nothing is connected, and no one has written since the last check. */
  open(): Promise<ChannelService>;
}
