/**
 * Sends what is queued for a channel, in order. A message whose attempt was cut off is looked up before it is sent again; where the
 * service cannot know, the channel's promise decides.
 */
import type { ChannelConnection, OutgoingMessage } from "../contract/channel/channel.ts";
import { toPagurusError } from "../contract/errors.ts";
import type { Logger } from "../platform/log.ts";
import type { ChannelStore } from "./channel-store.ts";

export class Outgoing {
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
