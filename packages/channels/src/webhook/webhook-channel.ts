/**
 * Webhooks: a signed POST to `/hooks/<channel>` is a message, an answer is a signed POST to the configured address. A sender repeats
 * until it gets a 2xx, and the inbox takes an id once; an answer is repeated in the same way, with an id by which its receiver knows it.
 */
import { defined } from "@pagurus/core/data/defined";
import type { ChannelParts } from "../channel-parts.ts";
import type { ChannelConfig } from "@pagurus/core/config/config-types";
import type {
  Channel,
  ChannelCapabilities,
  ChannelConnection,
  ChannelPort,
  OutgoingMessage,
} from "@pagurus/contract/channel/channel";
import { PagurusError } from "@pagurus/contract/errors";
import { channelFailure, channelRefusal } from "../channel-failure.ts";
import { withVariables } from "@pagurus/core/platform/configured-secret";
import { isLoopback } from "@pagurus/core/platform/loopback";
import { messageIn, signedHeaders, verifiedId, type WebhookRoutes } from "./webhook-routes.ts";

const ANSWER_MS = 20_000;
/** Statuses that a repeat does not change. */
const REFUSALS = new Set([400, 410, 413, 422]);
const SHORTEST_SECRET = 16;

interface Settings {
  id: string;
  secret: string;
  url?: string;
}

/** Throws `config_invalid`, `credential_missing`. */
export function createWebhookChannel(
  id: string,
  config: ChannelConfig,
  env: Readonly<Record<string, string | undefined>>,
  { webhooks: routes }: ChannelParts = {},
): Channel {
  const secret = withVariables(config.secret ?? "", `channels.${id}.secret`, env);
  if (secret.length < SHORTEST_SECRET)
    throw new PagurusError(
      "config_invalid",
      `channels.${id}.secret is shorter than ${SHORTEST_SECRET} characters; use a random one, such as that of openssl rand -hex 32.`,
    );
  const url = config.url === undefined ? undefined : URL.parse(config.url);
  if (url === null || (url && url.protocol !== "https:" && !isLoopback(url.hostname)))
    throw new PagurusError(
      "config_invalid",
      `channels.${id}.url is ${JSON.stringify(config.url)}, which is no https address.`,
    );
  const settings: Settings = { id, secret, ...defined({ url: url?.href }) };
  return {
    id,
    kind: "webhook",
    connect: (port, signal) => Promise.resolve(new WebhookConnection(settings, port, { signal, routes })),
  };
}

class WebhookConnection implements ChannelConnection {
  readonly capabilities: ChannelCapabilities = {
    inbound: "at-least-once",
    outbound: "at-least-once",
    maxChars: 100_000,
  };
  readonly ended: Promise<string>;
  readonly #settings: Settings;
  readonly #port: ChannelPort;
  readonly #gone = new AbortController();
  #end: (reason: string) => void = () => undefined;
  #receiving: Promise<unknown> = Promise.resolve();

  constructor(
    settings: Settings,
    port: ChannelPort,
    { signal, routes }: { signal: AbortSignal; routes: WebhookRoutes | undefined },
  ) {
    this.#settings = settings;
    this.#port = port;
    const remove = routes?.add(settings.id, (headers, body) => this.#take(headers, body));
    this.ended = new Promise((resolve) => {
      this.#end = (reason) => {
        remove?.();
        this.#gone.abort(new Error(reason));
        resolve(reason);
      };
    });
    signal.addEventListener("abort", () => this.#end("the host stops"), { once: true });
    if (signal.aborted) this.#end("the host stops");
  }

  /** Status of the answer. */
  async #take(headers: Parameters<typeof verifiedId>[1], body: Buffer): Promise<number> {
    const id = verifiedId(this.#settings.secret, headers, body, Date.now());
    if (id === undefined) return 401;
    const message = messageIn(body);
    if (!message) return 400;
    const taken = this.#receiving.then(() => this.#port.receive({ id, ...message }, undefined));
    this.#receiving = taken.catch(() => undefined);
    return taken.then(
      () => 202,
      () => 503,
    );
  }

  async send({ id, to, text, createdAt }: OutgoingMessage): Promise<void> {
    const { id: channel, secret, url } = this.#settings;
    if (url === undefined) throw channelRefusal(channel, "it has no url to send to");
    const body = JSON.stringify({ id, to, text, createdAt });
    let status: number;
    try {
      const signal = AbortSignal.any([this.#gone.signal, AbortSignal.timeout(ANSWER_MS)]);
      const headers = signedHeaders(secret, id, body, Date.now());
      const response = await fetch(url, { method: "POST", headers, body, redirect: "manual", signal });
      ({ status } = response);
      await response.body?.cancel();
    } catch (error) {
      this.#end("its address cannot be reached");
      throw channelFailure(channel, "could not send a message", error);
    }
    if (status >= 200 && status < 300) return;
    if (REFUSALS.has(status)) throw channelRefusal(channel, `its address answers ${status}`);
    this.#end(`its address answers ${status}`);
    throw channelFailure(channel, "could not send a message", new Error(`its address answers ${status}`));
  }

  async close(): Promise<void> {
    this.#end("it was closed");
    await this.#receiving;
  }
}
