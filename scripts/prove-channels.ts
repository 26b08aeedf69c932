/** The claims of channels, and the steps that prove each. */
import { bench, tests, type Proof } from "./proof.ts";

export const CHANNELS: Record<string, Proof> = {
  "channels.1": {
    claim:
      "1,000 messages each over XMPP and e-mail have one turn and one answer each, in order, while the host is killed, the service restarted and the network cut; what IRC lost was written in a time that was reported.",
    steps: [
      tests("prosody, kill -9", "test/real/channels/xmpp-kills"),
      tests("postfix and dovecot, kill -9", "test/real/channels/email-kills"),
      tests("ngircd, kill -9", "test/real/channels/irc-kills"),
    ],
  },
  "channels.2": {
    claim:
      "A person over XMPP, one with a mail program and one over IRC has a conversation, a tool after a yes, long answers, commands, files each way where the service has them, a group with mentions or a thread of several, and what was written meanwhile is answered; a stranger has none of it; the terminal and Codex continue the same session, with each message once at the wire.",
    steps: [
      tests("a scripted person at prosody", "test/real/channels/xmpp.process"),
      tests("groups, files, clients, Codex", "test/real/channels/xmpp-whole"),
      tests("a scripted person at postfix and dovecot", "test/real/channels/email.process"),
      tests("a scripted person at ngircd", "test/real/channels/irc.process", "test/real/channels/irc-whole"),
      tests("mail, IRC, terminal and Codex", "test/real/channels/one-conversation"),
      tests("who is answered in a group", "test/channels/groups"),
      tests("a growing answer whose every send fails once", "test/channels/growing-answers"),
    ],
  },
  "channels.3": {
    claim:
      "Spoofed senders, strangers, floods, programs that answer, mails of 50 MB and of hundreds of parts, XML bombs and servers that send without an end reach no turn, or are refused; no word of a conversation is sent to whom it does not belong.",
    steps: [
      tests("the parsing of mails", "test/channels/email/"),
      tests("hostile mails at postfix and dovecot", "test/real/channels/email-hostile"),
      tests("hostile accounts at prosody", "test/real/channels/xmpp-hostile"),
      tests("hostile people at ngircd", "test/real/channels/irc-hostile"),
      tests("hostile servers of XMPP and IRC", "test/channels/hostile-servers"),
      tests("who gets which words (property)", "test/channels/strangers", "test/channels/plain-text"),
    ],
  },
  "channels.4": {
    claim:
      "The conformance suite passes for the bundled channels, at real servers where Debian has them, and each of its checks fails for a planted mistake.",
    steps: [
      tests(
        "prosody, postfix and dovecot, ngircd",
        "test/real/channels/channel-conformance",
        "test/real/channels/irc.process",
      ),
      tests(
        "Telegram, Slack, Discord and GitHub at local servers of their interfaces, webhooks",
        "test/channels/chat-sdk/chat-conformance",
        "test/channels/webhook-conformance",
      ),
      tests(
        "planted mistakes",
        "test/testkit/channel-mutants.test.ts",
        "test/real/channels/channel-mistakes",
      ),
    ],
  },
  "channels.5": {
    claim:
      "A message reaches the model within 15 ms of its arrival (p50), and 1,000 sessions with a channel each are idle in 200 MB.",
    steps: [bench("channels")],
  },
};
