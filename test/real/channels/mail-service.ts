/** Debian's postfix and dovecot as the service of the suite of channels. */
import { createEmailChannel } from "../../../packages/channels/src/email/email-channel.ts";
import type { ChannelService, Peer } from "../../../packages/testkit/src/index.ts";
import { AUTHSERV, MailServers } from "../../servers/mail.ts";
import { CuttingRelay } from "./cutting-relay.ts";
import { CRAB, MailPerson, textOf } from "./mail-person.ts";

/** How long the network is down after a cut, ms: a new connection works at once otherwise, as if there had been none. */
const CUT_MS = 500;

export class MailPlace {
  readonly #servers: MailServers;
  readonly #people: ReadonlyMap<Peer, MailPerson>;

  private constructor(servers: MailServers, people: ReadonlyMap<Peer, MailPerson>) {
    this.#servers = servers;
    this.#people = people;
  }

  static async start(peers: readonly Peer[]): Promise<MailPlace> {
    const servers = await MailServers.start(["crab", ...peers], { inOrder: true });
    servers.trust();
    return new MailPlace(servers, new Map(peers.map((peer) => [peer, new MailPerson(peer, servers)])));
  }

  async end(): Promise<void> {
    for (const person of this.#people.values()) person.end();
    await this.#servers.end();
  }

  #personOf(peer: Peer): MailPerson {
    const person = this.#people.get(peer);
    if (!person) throw new Error(`${peer} has no account`);
    return person;
  }

  async service(): Promise<ChannelService> {
    const servers = this.#servers;
    const { ports } = servers;
    const imap = await CuttingRelay.to(ports.imap);
    const smtp = await CuttingRelay.to(ports.inner);
    const config = {
      kind: "email",
      address: CRAB,
      user: "crab",
      password: "crab",
      imap: `imap://127.0.0.1:${imap.port}`,
      smtp: `smtp://127.0.0.1:${smtp.port}`,
      authserv: AUTHSERV,
      lookupSeconds: 5,
    };
    // Mails of the check before are not of this one.
    await servers.settled();
    const from = new Map<Peer, number>();
    for (const [peer, person] of this.#people) {
      await person.look();
      from.set(peer, person.got.length);
    }
    let isUp = true;
    return {
      channel: () => createEmailChannel("mail", config, {}),
      addressOf: (peer) => `${peer}@localhost`,
      say: async (peer, text) => {
        await this.#personOf(peer).send({ subject: "Buoys", text });
        await servers.settled();
      },
      pretend: async (text) => {
        const eve = this.#personOf("eve");
        await eve.send({ subject: "Buoys", text, from: { name: "ann@localhost", address: "eve@localhost" } });
        await eve.send({ subject: "Buoys", text, from: "ann@localhost", sender: "ann@localhost" }, "outer");
        await servers.settled();
      },
      got: async (peer) => {
        await this.#personOf(peer).look();
        return this.#personOf(peer).got.slice(from.get(peer)).map(textOf);
      },
      cut: async () => {
        for (const relay of [imap, smtp]) relay.cut(CUT_MS);
      },
      stop: async () => {
        isUp = false;
        await servers.kill();
      },
      start: async () => {
        await servers.begin();
        isUp = true;
      },
      end: async () => {
        for (const relay of [imap, smtp]) relay.close();
        if (!isUp) await servers.begin();
      },
    };
  }
}
