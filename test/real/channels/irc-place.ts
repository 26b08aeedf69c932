/** Debian's ngircd as the service of the suite of channels. */
import { createIrcChannel } from "../../../packages/channels/src/irc/irc-channel.ts";
import type { ChannelService, Peer } from "../../../packages/testkit/src/index.ts";
import { Ngircd } from "../../servers/ngircd.ts";
import { CuttingRelay } from "./cutting-relay.ts";
import { IrcPerson } from "./irc-person.ts";

export class IrcPlace {
  readonly #ngircd: Ngircd;
  readonly #peers: readonly Peer[];

  private constructor(ngircd: Ngircd, peers: readonly Peer[]) {
    this.#ngircd = ngircd;
    this.#peers = peers;
  }

  static async start(peers: readonly Peer[]): Promise<IrcPlace> {
    return new IrcPlace(await Ngircd.start(), peers);
  }

  async end(): Promise<void> {
    await this.#ngircd.end();
  }

  async service(): Promise<ChannelService> {
    const ngircd = this.#ngircd;
    const relay = await CuttingRelay.to(ngircd.port);
    const config = { kind: "irc", nick: "crab", serverPassword: Ngircd.password, linesPerSecond: 100 };
    const people = new Map<Peer, IrcPerson>();
    const connect = async (): Promise<void> => {
      for (const peer of this.#peers) {
        const person = new IrcPerson(peer, ngircd);
        people.set(peer, person);
        await person.connect();
      }
    };
    await connect();
    let isUp = true;
    const goneFrom = async (nick: string): Promise<void> => {
      if (nick === "eve") await personOf("eve").end();
      await personOf("ann").sees(nick, false);
    };
    const personOf = (peer: Peer): IrcPerson => people.get(peer) ?? new IrcPerson(peer, ngircd);
    return {
      channel: () => createIrcChannel("harbour", { ...config, service: `irc://127.0.0.1:${relay.port}` }, {}),
      addressOf: (peer) => `${peer}!~${peer}@127.0.0.1`,
      say: async (peer, text) => {
        personOf(peer).say("crab", text);
        await personOf(peer).settled();
      },
      // Eve takes the nick of ann while she has another.
      pretend: async (text) => {
        for (const [peer, nick] of [
          ["ann", "anna"],
          ["eve", "ann"],
        ] as const) {
          personOf(peer).send(`NICK ${nick}`);
          await personOf(peer).settled();
        }
        personOf("eve").say("crab", text);
        await personOf("eve").settled();
        for (const [peer, nick] of [
          ["eve", "eve"],
          ["ann", "ann"],
        ] as const) {
          personOf(peer).send(`NICK ${nick}`);
          await personOf(peer).settled();
        }
      },
      got: (peer) => Promise.resolve(personOf(peer).got("crab")),
      cut: async () => void relay.cut(),
      stop: async () => {
        isUp = false;
        await ngircd.kill();
      },
      start: async () => {
        for (const person of people.values()) await person.end();
        await ngircd.begin();
        isUp = true;
        await connect();
      },
      end: async () => {
        relay.close();
        // The nicks are free for the next check.
        if (isUp) for (const nick of ["crab", "eve"]) await goneFrom(nick);
        for (const person of people.values()) await person.end();
        if (!isUp) await ngircd.begin();
      },
    };
  }
}
