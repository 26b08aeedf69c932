/** The claims of channels, and the steps that prove each. XMPP is the only kind so far. */
import { tests, type Proof } from "./proof.ts";

export const CHANNELS: Record<string, Proof> = {
  "channels.1": {
    claim:
      "1,000 messages over XMPP have one turn and one answer each, in order, while the host is killed and the service restarted.",
    steps: [tests("prosody, kill -9", "test/real/channels/xmpp-kills")],
  },
  "channels.2": {
    claim:
      "A person over XMPP has a conversation, a tool after a yes, commands, and what was written meanwhile is answered; a stranger is not.",
    steps: [tests("a scripted person at prosody", "test/real/channels/xmpp.process")],
  },
};
