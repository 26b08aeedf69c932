/** The part of the configuration's schema about channels. */
import { PERMISSION_MODES } from "@pagurus/contract/host/permission-modes";
import { BUNDLED_CHANNELS } from "./bundled.ts";
import { key } from "./described-key.ts";
import type { Zod } from "./load-schema-library.ts";

function group(z: Zod) {
  const name = z.string().min(1);
  return z.strictObject({
    answer: key(
      z.enum(["mention", "always"]),
      "which messages of the group are answered: `mention`, `always`",
      "`mention`",
    ),
    from: key(
      z.enum(["known", "all"]),
      "whose messages are answered: `known` (people who may speak), `all` (every member)",
      "`known`",
    ),
    session: key(name, "session of the group", "one of its own"),
  });
}

/** Keys of chat services. */
function services(z: Zod) {
  const names = z.array(z.string().min(1));
  const name = z.string().min(1);
  return {
    jid: key(name, "XMPP: address of the account, such as `crab@example.org`"),
    nick: key(name, "name in groups, to speak to it; IRC: needed", "XMPP: as the address begins"),
    password: key(name, "a password, or `${VARIABLE}`"),
    service: key(
      z.url({ protocol: /^(?:xmpps?|ircs?)$/ }),
      "XMPP: `xmpp://host:port` or `xmpps://host:port`; IRC: `ircs://host:port`, or `irc://` where no password is sent",
      "XMPP: the address's domain",
    ),
    token: key(name, "Telegram, Slack, Discord, GitHub: token of the bot, or `${VARIABLE}`"),
    secret: key(name, "webhooks, Slack, GitHub: what signs requests, or `${VARIABLE}`; GitHub: optional"),
    url: key(
      z.url({ protocol: /^https?$/ }),
      "webhooks: where answers are sent; kinds with a token: another server",
      "none",
    ),
    account: key(name, "IRC: account to log in to (SASL), with `password`"),
    serverPassword: key(name, "IRC: password of the server, or `${VARIABLE}`"),
    join: key(names, "IRC: channels to join"),
    linesPerSecond: key(
      z.number().min(0.1).max(100),
      "IRC: lines sent in a second, after the first five",
      "0.5",
    ),
    pollSeconds: key(
      z.int().min(1).max(3_600),
      "GitHub: seconds between two looks for what its webhook did not bring",
      "60",
    ),
    settings: key(
      z.record(z.string(), z.unknown()),
      "settings of a plugin's kind; `${VARIABLE}` is replaced in every text",
    ),
  };
}

/** Keys of e-mail. */
function mail(z: Zod) {
  const name = z.string().min(1);
  return {
    address: key(name, "e-mail: address of the account, such as `crab@example.org`"),
    user: key(name, "e-mail: name of the login", "the address"),
    imap: key(
      z.url({ protocol: /^imaps?$/ }),
      "e-mail: `imaps://host:port`, or `imap://host:port` with STARTTLS",
    ),
    smtp: key(
      z.url({ protocol: /^smtps?$/ }),
      "e-mail: `smtps://host:port`, or `smtp://host:port` with STARTTLS",
    ),
    authserv: key(name, "e-mail: name that the receiving server writes in `Authentication-Results`"),
    authservHops: key(
      z.int().min(0).max(20),
      "e-mail: `Received` fields above the results of `authserv`, LMTP not counted; `pagurus channels test` says which number fits",
      "0",
    ),
    unverified: key(
      z.enum(["drop", "stranger", "trust"]),
      "e-mail whose sender the server has not verified: `drop`, `stranger` (an address `unverified:…` of its own) or `trust`",
      "`drop`",
    ),
    maxBytes: key(
      z.int().min(10_000).max(100_000_000),
      "e-mail: largest mail that is read, bytes",
      "10,485,760",
    ),
  };
}

export function channel(z: Zod) {
  const names = z.array(z.string().min(1));
  const name = z.string().min(1);
  const count = z.int().min(1);
  return z.strictObject({
    kind: key(
      name,
      `the kind of service: ${BUNDLED_CHANNELS.map((kind) => `\`${kind}\``).join(", ")}, or one that a plugin adds`,
    ),
    enabled: key(z.boolean(), "whether `pagurus serve` connects it", "true"),
    agent: key(name, "agent that answers", "`main`"),
    session: key(name, "one session for all direct messages", "one for each person"),
    scope: key(
      z.enum(["group", "peer"]),
      "in a group: one session for it (`group`), or one for each person of it (`peer`)",
      "`group`",
    ),
    groups: z.record(z.string().min(1), group(z)).optional(),
    workspace: key(name, "folder of the turns", "where the server was started"),
    permission: key(z.enum(PERMISSION_MODES), "permission mode of the turns", "`deny`"),
    allow: key(names, "addresses that may speak without a code"),
    ...services(z),
    ...mail(z),
    answersPerHour: key(
      count,
      "answers in one thread and hour, and half of those to one person; more are taken for a loop",
      "30",
    ),
    waitingPerPerson: key(
      count,
      "messages of one person that may wait for their answers; further ones are not accepted",
      "100",
    ),
    waitingPerSession: key(count, "messages that may wait for their answers in one session", "300"),
    lookupSeconds: key(
      z.int().min(1).max(3_600),
      "e-mail: seconds in which the copy of a mail is looked for, after a crash, before it is sent again",
      "30",
    ),
  });
}
