/** The suite of channels finds mistakes that are planted into the bundled ones, at the real servers: eight and more in each. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { runChannelSuite, type ChannelService, type Peer } from "../../../packages/testkit/src/index.ts";
import { IrcPlace } from "./irc-place.ts";
import { MailPlace } from "./mail-service.ts";
import { BELIEVES_A_NICK, MISTAKES, withMistake, type Mistake } from "./planted-mistakes.ts";
import { XmppPlace } from "./xmpp-service.ts";

const PEERS: readonly Peer[] = ["ann", "eve"];

interface ServicePlace {
  service(): Promise<ChannelService>;
  end(): Promise<void>;
}

interface Planted {
  start(): Promise<ServicePlace>;
  mistakes: Readonly<Record<string, Mistake>>;
}

/** Without the mistakes of these checks, which are about what the service does not have. */
function without(...checks: readonly string[]): Record<string, Mistake> {
  return Object.fromEntries(Object.entries(MISTAKES).filter(([, { check }]) => !checks.includes(check)));
}

const CHANNELS: Readonly<Record<string, Planted>> = {
  "e-mail": { start: () => MailPlace.start(PEERS), mistakes: MISTAKES },
  XMPP: { start: () => XmppPlace.start(PEERS), mistakes: without("receive.pretended") },
  IRC: {
    start: () => IrcPlace.start(PEERS),
    mistakes: {
      ...without("receive.pretended", "receive.failed", "send.known", "send.unknown"),
      "believes a nick": BELIEVES_A_NICK,
    },
  },
};

for (const [kind, { start, mistakes }] of Object.entries(CHANNELS))
  describe(`a channel of ${kind} with a mistake`, () => {
    let place: ServicePlace;
    before(async () => {
      place = await start();
    });
    after(async () => {
      await place.end();
    });

    it("has eight of them", () => {
      assert.ok(Object.keys(mistakes).length >= 8);
    });

    for (const [name, mistake] of Object.entries(mistakes))
      it(`that ${name} fails ${mistake.check}`, async () => {
        const open = async (): Promise<ChannelService> => {
          const service = await place.service();
          return { ...service, channel: async () => withMistake(await service.channel(), mistake) };
        };
        const { results } = await runChannelSuite({ open, only: [mistake.check] });
        const [result] = results;
        assert.equal(result?.status, "failed", `${result?.status}: ${result?.reason}`);
      });
  });
