/** Groups of an XMPP account (XEP-0045): joins them, joins again after an end, and knows which show real addresses. */
import { xml } from "@xmpp/client";
import type { Clock } from "@pagurus/core/data/clock";
import { addressKey } from "../address-key.ts";
import { addressOf, occupantOf } from "./received-stanza.ts";
import type { XmppClient, XmppElement } from "./xmpp-client.ts";

const MUC = "http://jabber.org/protocol/muc";
const MUC_USER = `${MUC}#user`;
const OWN_PRESENCE = "110";
const SHOWS_ADDRESSES = "100";
const IS_NEW = "201";
const JOIN_MS = 15_000;
const JOIN_RETRY_MS = 30_000;

interface Group {
  address: string;
  isJoined: boolean;
  showsAddresses: boolean;
  /** Id of this account there, where the group has such ids. */
  occupant: string | undefined;
  /** Ends the wait for an answer to a join. */
  settle: () => void;
}

export interface GroupEvents {
  /** After each join. */
  joined(address: string): void;
  /** A sentence about a group in which the account does not take part. */
  problem(sentence: string): void;
}

export interface GroupParts {
  xmpp: XmppClient;
  clock: Clock;
}

export class XmppGroups {
  readonly nick: string;
  readonly #xmpp: XmppClient;
  readonly #events: GroupEvents;
  readonly #groups: ReadonlyMap<string, Group>;
  readonly #clock: Clock;
  readonly #timers = new Set<() => void>();
  #isClosed = false;

  constructor({ xmpp, clock }: GroupParts, nick: string, addresses: readonly string[], events: GroupEvents) {
    this.#xmpp = xmpp;
    this.#clock = clock;
    this.nick = nick;
    this.#events = events;
    // As the server writes them, which the cursor and the archive are found by.
    const made = addresses.map((written): [string, Group] => {
      const address = addressKey(written);
      const settle = (): void => undefined;
      return [address, { address, isJoined: false, showsAddresses: false, occupant: undefined, settle }];
    });
    this.#groups = new Map(made);
  }

  has(address: string): boolean {
    return this.#groups.has(addressKey(address));
  }

  showsAddresses(address: string): boolean {
    return this.#groups.get(addressKey(address))?.showsAddresses === true;
  }

  /** Id of this account in a group, of the stanzas that it wrote there; undefined where the group has none. */
  occupant(address: string): string | undefined {
    return this.#groups.get(addressKey(address))?.occupant;
  }

  /** Resolves when each group has answered, a deadline has passed, or after `close`. Throws what sending throws. */
  async joinAll(): Promise<void> {
    await Promise.all([...this.#groups.values()].map((group) => this.#join(group)));
  }

  async #join(group: Group): Promise<void> {
    const answered = new Promise<void>((resolve) => {
      group.settle = resolve;
      this.#after(JOIN_MS, resolve);
      if (this.#isClosed) resolve();
    });
    const join = xml("x", { xmlns: MUC }, xml("history", { maxstanzas: "0" }));
    await this.#xmpp.send(xml("presence", { to: `${group.address}/${this.nick}` }, join));
    await answered;
    if (this.#isClosed) return;
    if (group.isJoined) this.#events.joined(group.address);
    else this.#again(group);
  }

  #again(group: Group): void {
    this.later(() => void this.#join(group).catch(() => undefined));
  }

  /** After the pause between two attempts; never after `close`. */
  later(work: () => void): void {
    this.#after(JOIN_RETRY_MS, work);
  }

  #after(ms: number, work: () => void): void {
    if (this.#isClosed) return;
    const timed = (): void => {
      this.#timers.delete(cancel);
      work();
    };
    const cancel = this.#clock.after(ms, timed, { ref: false });
    this.#timers.add(cancel);
  }

  /** A presence that arrived. */
  presence(stanza: XmppElement): void {
    const { bare, resource } = addressOf(stanza);
    const group = this.#groups.get(addressKey(bare));
    if (!group) return;
    const { type } = stanza.attrs as { type?: string };
    if (type === "error") {
      const reason = stanza.getChild("error")?.children.find((child) => typeof child !== "string");
      const name = typeof reason === "object" ? reason.name : "no reason";
      this.#events.problem(`The group ${group.address} does not let this account in (${name}).`);
      group.settle();
      return;
    }
    const codes =
      stanza
        .getChild("x", MUC_USER)
        ?.getChildren("status")
        .map(({ attrs }) => String(attrs["code"])) ?? [];
    if (!codes.includes(OWN_PRESENCE) && resource !== this.nick) return;
    if (type === "unavailable") this.#ended(group);
    else if (codes.includes(OWN_PRESENCE)) {
      group.isJoined = true;
      group.occupant = occupantOf(stanza);
      group.showsAddresses ||= codes.includes(SHOWS_ADDRESSES);
      if (codes.includes(IS_NEW)) this.#unlock(group);
      group.settle();
    }
  }

  #ended(group: Group): void {
    if (!group.isJoined) return;
    group.isJoined = false;
    this.#events.problem(`The group ${group.address} ended this account's part in it.`);
    this.#again(group);
  }

  /** A group that the join has made is closed to others until its settings are confirmed. */
  #unlock({ address }: Group): void {
    const settings = xml("x", { xmlns: "jabber:x:data", type: "submit" });
    const request = xml(
      "iq",
      { type: "set", to: address },
      xml("query", { xmlns: `${MUC}#owner` }, settings),
    );
    void this.#xmpp.iqCaller.request(request).catch(() => undefined);
  }

  /** Ends all waits: nothing is joined or reported any more. */
  close(): void {
    this.#isClosed = true;
    for (const cancel of this.#timers) cancel();
    for (const { settle } of this.#groups.values()) settle();
  }
}
