/** A connection to an XMPP server, without the library's own reconnect: the host decides when to connect again. */
import { client, type Client, type xml } from "@xmpp/client";
import type { ChannelConfig } from "@pagurus/core/config/config-types";
import { channelFailed } from "../channel-failure.ts";
import { guardInput } from "./xmpp-input.ts";
import { scram, type SaslMechanism } from "./scram.ts";
import { PagurusError } from "@pagurus/contract/errors";
import { isLoopback } from "@pagurus/core/platform/loopback";

export type XmppClient = Client;
export type XmppElement = ReturnType<typeof xml>;

export interface XmppAccount {
  local: string;
  domain: string;
  password: string;
  /** `xmpp://host:port` or `xmpps://host:port`. */
  service: string;
  /** Name in groups. */
  nick: string;
  /** Addresses of groups. */
  groups: readonly string[];
}

/** Throws `config_invalid` for an address that is none. */
export function accountOf(id: string, config: ChannelConfig, password: string): XmppAccount {
  const { jid, service, nick, groups = {} } = config;
  const [, local, domain] = /^([^@/\s]+)@([^@/\s]+)$/.exec(jid ?? "") ?? [];
  if (local === undefined || domain === undefined)
    throw new PagurusError(
      "config_invalid",
      `channels.${id}.jid is ${JSON.stringify(jid ?? null)}, which is no address such as crab@example.org.`,
    );
  return {
    local,
    domain,
    password,
    service: service ?? `xmpp://${domain}`,
    nick: nick ?? local,
    groups: Object.keys(groups),
  };
}

export function isLocalService(service: string): boolean {
  return isLoopback(new URL(service).hostname);
}

/** Puts our mechanisms before those of the library. */
function preferScram(xmpp: XmppClient): void {
  interface Factory {
    _mechs: { name: string; mech: new () => SaslMechanism }[];
  }
  const { saslFactory } = xmpp as unknown as { saslFactory: Factory };
  const mechs = (["sha256", "sha1"] as const).map((hash) => {
    const { name } = scram(hash);
    // Called with `new`; a function that returns an object makes that object.
    const mech = function mechanism() {
      return scram(hash);
    } as unknown as new () => SaslMechanism;
    return { name, mech };
  });
  saslFactory._mechs.unshift(...mechs);
}

/** As the library's `start`, which ends the process where the server's first words are an error: no one waits for its second promise. */
async function logInToServer(xmpp: XmppClient, service: string, domain: string): Promise<void> {
  const online = new Promise<void>((resolve, reject) => {
    xmpp.once("online", () => resolve());
    xmpp.once("error", reject);
  });
  online.catch(() => undefined);
  await xmpp.connect(service);
  await xmpp.open({ domain });
  await online;
}

/** Connects and logs in. Throws `channel_failed`. */
export async function connectXmpp(
  id: string,
  { local, domain, password, service }: XmppAccount,
  timeoutMs: number,
): Promise<XmppClient> {
  const xmpp = client({ service, domain, username: local, password, timeout: timeoutMs });
  xmpp.reconnect.stop();
  preferScram(xmpp);
  guardInput(xmpp);
  // Without a listener an error would end the process; each also ends the start or the connection.
  xmpp.on("error", () => undefined);
  let failure: unknown;
  // The library waits for a server that has closed the connection before it answered.
  const cut = new Promise<never>((_resolve, reject) => {
    xmpp.once("disconnect", () => reject(new Error("the connection was cut")));
  });
  cut.catch(() => undefined);
  try {
    const timer = setTimeout(() => void xmpp.disconnect().catch(() => undefined), timeoutMs);
    await Promise.race([logInToServer(xmpp, service, domain), cut]).finally(() => clearTimeout(timer));
    if (xmpp.isSecure() || isLocalService(service)) return xmpp;
    failure = new Error("the server offers no encryption");
  } catch (error) {
    failure = error;
  }
  await endXmpp(xmpp);
  throw channelFailed(id, `cannot log in at ${service}`, failure);
}

/** Asks the server. Throws its error, and at once when the connection is cut: the library waits for the timeout. */
export async function ask(xmpp: XmppClient, request: XmppElement): Promise<XmppElement> {
  let onCut: () => void = () => undefined;
  const cut = new Promise<never>((_resolve, reject) => {
    onCut = () => reject(new Error("the connection was cut"));
    xmpp.once("disconnect", onCut);
    if (xmpp.status !== "online") onCut();
  });
  try {
    return await Promise.race([xmpp.iqCaller.request(request), cut]);
  } finally {
    xmpp.removeListener("disconnect", onCut);
  }
}

/** Never throws. */
export async function endXmpp(xmpp: XmppClient): Promise<void> {
  const isCut = xmpp.status === "disconnect" || xmpp.status === "offline";
  // Over a cut connection the library waits 20 s for the answer of a server that is gone.
  const cut = new Promise<void>((resolve) => void xmpp.once("disconnect", () => resolve()));
  const stopped = xmpp.stop().catch(() => undefined);
  if (!isCut) await Promise.race([stopped, cut]);
}
