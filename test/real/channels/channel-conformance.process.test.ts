/** The suite of channels at the real servers: XMPP at prosody, e-mail at postfix and dovecot, IRC at ngircd. */
import { after, before } from "node:test";
import { testChannel, type Peer } from "../../../packages/testkit/src/index.ts";
import { IrcPlace } from "./irc-place.ts";
import { MailPlace } from "./mail-service.ts";
import { XmppPlace } from "./xmpp-service.ts";

const PEERS: readonly Peer[] = ["ann", "eve"];
/** Time of one check: a restart of a server and new logins take long on a busy machine. */
const DEADLINE_MS = 180_000;

let xmpp: XmppPlace;
let mail: MailPlace;
let irc: IrcPlace;
before(async () => {
  xmpp = await XmppPlace.start(PEERS);
  mail = await MailPlace.start(PEERS);
  irc = await IrcPlace.start(PEERS);
});
after(async () => {
  await xmpp.end();
  await mail.end();
  await irc.end();
});

testChannel("XMPP", { open: () => xmpp.service(), deadlineMs: DEADLINE_MS });
testChannel("e-mail", { open: () => mail.service(), deadlineMs: DEADLINE_MS });
testChannel("IRC", { open: () => irc.service(), deadlineMs: DEADLINE_MS });
