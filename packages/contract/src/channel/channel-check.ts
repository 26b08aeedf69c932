/** Result of checking a channel beyond its connection. */

/** Problems of a channel that can be connected, and notes for its owner; a sentence each. */
export interface ChannelCheck {
  problems: readonly string[];
  notes: readonly string[];
}
