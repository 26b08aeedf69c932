/** Debian's prosody as the service of the suite of channels. */
import { createXmppChannel } from "../../../packages/channels/src/xmpp/xmpp-channel.ts";
import type { ChannelService, Peer } from "../../../packages/testkit/src/index.ts";
import { Prosody } from "../../servers/prosody.ts";
import { CuttingRelay } from "./cutting-relay.ts";
import { XmppPerson } from "./xmpp-person.ts";

export class XmppPlace {
  readonly #prosody: Prosody;
  /** Connected for all checks: a login of the library takes seconds. */
  readonly #people: ReadonlyMap<Peer, XmppPerson>;

  private constructor(prosody: Prosody, people: ReadonlyMap<Peer, XmppPerson>) {
    this.#prosody = prosody;
    this.#people = people;
  }

  static async start(peers: readonly Peer[]): Promise<XmppPlace> {
    const prosody = await Prosody.start(["crab", ...peers]);
    const people = new Map(peers.map((peer) => [peer, new XmppPerson(peer, prosody.service)]));
    const place = new XmppPlace(prosody, people);
    await place.#connect();
    return place;
  }

  async #connect(): Promise<void> {
    for (const person of this.#people.values()) await person.connect();
  }

  async end(): Promise<void> {
    for (const person of this.#people.values()) await person.end();
    await this.#prosody.end();
  }

  async service(): Promise<ChannelService> {
    const prosody = this.#prosody;
    const people = this.#people;
    const relay = await CuttingRelay.to(prosody.port);
    const config = { kind: "xmpp", jid: "crab@localhost", password: "crab" };
    const from = new Map([...people].map(([peer, { got }]) => [peer, got.length]));
    let said = 0;
    let isUp = true;
    return {
      channel: () => createXmppChannel("home", { ...config, service: `xmpp://127.0.0.1:${relay.port}` }, {}),
      addressOf: (peer) => `${peer}@localhost`,
      say: async (peer, text) => {
        said += 1;
        await people.get(peer)?.say(text, `said-${said}`);
      },
      got: (peer) =>
        Promise.resolve(
          people
            .get(peer)
            ?.got.slice(from.get(peer))
            .map(({ text }) => text) ?? [],
        ),
      cut: async () => void relay.cut(),
      stop: async () => {
        isUp = false;
        await prosody.kill("SIGTERM");
      },
      start: async () => {
        await prosody.begin();
        isUp = true;
        await this.#connect();
      },
      end: async () => {
        relay.close();
        if (isUp) return;
        await prosody.begin();
        await this.#connect();
      },
    };
  }
}
