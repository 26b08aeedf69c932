/** Hooks that change or hold an answer before a channel delivers it. */

export interface OutgoingAnswer {
  /** Id of the channel in the configuration. */
  channel: string;
  /** Address of the person or group. */
  to: string;
  thread?: string;
  content: string;
}

export interface DeliveryHooks {
  /** A plugin has the hook `message_sending`: nothing of an answer may be shown before `deliver`. Never throws. */
  isDeliveryWatched(): boolean;
  /** Runs `message_sending`: the text to deliver, or why there is none. Never throws. */
  deliver(
    answer: OutgoingAnswer,
    of: { sessionKey: string; agentId: string; turnId: string },
  ): Promise<{ content: string } | { cancelled: string }>;
}
