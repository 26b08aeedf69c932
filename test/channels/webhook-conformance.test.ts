/** The suite of channels for webhooks, at a sender that posts a message again until it is taken and a receiver of the answers. */
import { createWebhookChannel } from "../../packages/channels/src/webhook/webhook-channel.ts";
import { signedHeaders, WebhookRoutes } from "../../packages/channels/src/webhook/webhook-routes.ts";
import { testChannel, type ChannelService } from "../../packages/testkit/src/index.ts";
import { HookServer } from "./chat-sdk/hook-server.ts";
import { LocalService, type Call, type Reply } from "./chat-sdk/local-service.ts";
import { until } from "../runner/until.ts";

const SECRET = "a secret of many characters";

class Partner extends LocalService {
  readonly #hooks: HookServer;
  readonly #answers: { to: string; text: string }[] = [];
  #posting: Promise<void> = Promise.resolve();
  #posted = 0;
  #isEnded = false;

  constructor(hooks: HookServer) {
    super();
    this.#hooks = hooks;
  }

  say(from: string, text: string): void {
    const id = `msg_${this.#posted++}`;
    const body = JSON.stringify({ from, text });
    this.#posting = this.#posting.then(async () => {
      await until(async () => {
        if (this.#isEnded) return true;
        return (await this.#hooks.post("ci", signedHeaders(SECRET, id, body, Date.now()), body)) === 202;
      });
    });
  }

  got(person: string): string[] {
    return this.#answers.filter(({ to }) => to === person).map(({ text }) => text);
  }

  protected override answer({ body }: Call): Reply {
    this.#answers.push(JSON.parse(body.toString()) as { to: string; text: string });
    return { status: 200, body: {} };
  }

  async end(): Promise<void> {
    this.#isEnded = true;
    await this.stop();
    await this.#hooks.close();
  }
}

async function open(): Promise<ChannelService> {
  const routes = new WebhookRoutes();
  const partner = new Partner(await HookServer.open(routes));
  await partner.start();
  return {
    channel: () => {
      partner.connectAgain();
      const config = { kind: "webhook", secret: SECRET, url: partner.url };
      return createWebhookChannel("ci", config, {}, { webhooks: routes });
    },
    addressOf: (peer) => peer,
    say: (peer, text) => Promise.resolve(partner.say(peer, text)),
    got: (peer) => Promise.resolve(partner.got(peer)),
    cut: () => Promise.resolve(partner.cut()),
    stop: () => partner.stop(),
    start: () => partner.start(),
    end: () => partner.end(),
  };
}

testChannel("Webhooks", {
  open,
  gaps: {
    "connect.first": "A sender posts again what the host has not taken, also from before.",
    "connect.refused": "There is nothing to connect to: each message is a request of its own.",
    "end.stopped": "There is no connection that the end of the service would end.",
    "receive.cursor": "A sender keeps nothing that was taken.",
    "receive.cut": "What is posted does not come over what is cut.",
  },
  deadlineMs: 60_000,
  gapDeadlineMs: 1_000,
});
