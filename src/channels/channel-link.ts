/** Keeps one channel connected, with growing pauses after each end, and sends what is queued for it. */
import type {
  Channel,
  ChannelConnection,
  ChannelPort,
  IncomingMessage,
  OutgoingMessage,
} from "../contract/channel/channel.ts";
import { toPagurusError } from "../contract/errors.ts";
import { sleep } from "../platform/deadline.ts";
import type { Logger } from "../platform/log.ts";
import type { ChannelStore } from "./channel-store.ts";
import type { Incoming } from "./incoming.ts";

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 60_000;
/** A connection that lasted so long ends the growth of the pauses, ms. */
const LASTED_MS = 30_000;

/**
 * Sends what is queued, in order. A message whose attempt was cut off is looked up before it is sent again; where the service cannot
 * know, the channel's promise decides.
 */
class Outgoing {
  readonly #store: ChannelStore;
  readonly #channel: string;
  readonly #logger: Logger;
  #connection: ChannelConnection | undefined;
  #sending: Promise<void> | undefined;
  #isWoken = false;

  constructor(store: ChannelStore, channel: string, logger: Logger) {
    this.#store = store;
    this.#channel = channel;
    this.#logger = logger;
  }

  /** Sends over this connection from now on; undefined: nothing can be sent. */
  use(connection: ChannelConnection | undefined): void {
    this.#connection = connection;
    this.wake();
  }

  /** Something was queued. */
  wake(): void {
    this.#isWoken = true;
    if (this.#sending) return;
    this.#sending = this.#run()
      .catch((error: unknown) => {
        this.#logger.error("message of a channel not sent", {
          channel: this.#channel,
          code: toPagurusError(error).code,
        });
      })
      .finally(() => {
        this.#sending = undefined;
        if (this.#isWoken && this.#connection) this.wake();
      });
  }

  async #run(): Promise<void> {
    this.#isWoken = false;
    for (let connection = this.#connection; connection; connection = this.#connection) {
      const next = this.#store.nextOutgoing(this.#channel);
      if (!next) return;
      const isDone = await this.#send(connection, next.message, next.isRepeat);
      // The link connects again, and then wakes this.
      if (!isDone) return;
    }
  }

  /** False where the connection ended meanwhile: the message stays as begun. */
  async #send(connection: ChannelConnection, message: OutgoingMessage, isRepeat: boolean): Promise<boolean> {
    const { id } = message;
    try {
      if (isRepeat && !connection.wasSent && connection.capabilities.outbound === "at-most-once") {
        this.#store.setOutgoing(id, "lost");
        this.#logger.warn("message of a channel may not have arrived", { channel: this.#channel, id });
        return true;
      }
      const isThere = isRepeat && (await connection.wasSent?.(message)) === true;
      if (!isThere) {
        this.#store.setOutgoing(id, "sending");
        await connection.send(message);
      }
      this.#store.setOutgoing(id, "sent");
      return true;
    } catch (error) {
      if (toPagurusError(error).code !== "channel_failed") throw error;
      if (this.#connection === connection) this.#connection = undefined;
      await connection.close();
      return false;
    }
  }
}

export interface LinkParts {
  channel: Channel;
  store: ChannelStore;
  incoming: Incoming;
  logger: Logger;
}

export class ChannelLink {
  readonly outgoing: Outgoing;
  readonly #parts: LinkParts;
  readonly #stopping = new AbortController();
  #done: Promise<void> | undefined;

  constructor(parts: LinkParts) {
    this.#parts = parts;
    this.outgoing = new Outgoing(parts.store, parts.channel.id, parts.logger);
  }

  start(): void {
    this.#done = this.#run();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    let pause = FIRST_PAUSE_MS;
    while (!signal.aborted) {
      const from = performance.now();
      const reason = await this.#once(signal);
      this.#state(`not connected: ${reason}`);
      pause = performance.now() - from > LASTED_MS ? FIRST_PAUSE_MS : Math.min(pause * 2, LONGEST_PAUSE_MS);
      await sleep(pause, signal).catch(() => undefined);
    }
  }

  /** One connection to its end; returns why it ended. */
  async #once(signal: AbortSignal): Promise<string> {
    const { channel } = this.#parts;
    let connection: ChannelConnection | undefined;
    try {
      connection = await channel.connect(this.#port(), signal);
      const { inbound, outbound } = connection.capabilities;
      this.#state(`connected (receives ${inbound}, sends ${outbound})`);
      this.outgoing.use(connection);
      return await connection.ended;
    } catch (error) {
      const { message, code } = toPagurusError(error);
      if (!signal.aborted) this.#parts.logger.warn("channel not connected", { channel: channel.id, code });
      return message;
    } finally {
      this.outgoing.use(undefined);
      await connection?.close();
    }
  }

  #port(): ChannelPort {
    const { channel, store, incoming } = this.#parts;
    return {
      get cursor() {
        return store.cursor(channel.id);
      },
      receive: (message: IncomingMessage | undefined, cursor: string | undefined) =>
        incoming.receive(message, cursor),
      missed: (sentence) => store.setMissed(channel.id, sentence),
    };
  }

  #state(state: string): void {
    try {
      this.#parts.store.setState(this.#parts.channel.id, state);
    } catch (error) {
      this.#parts.logger.error("state of a channel not written", { code: toPagurusError(error).code });
    }
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#done;
  }
}
