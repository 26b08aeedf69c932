/** Keeps one channel connected: connects again after each end, with growing pauses. */
import type {
  Channel,
  ChannelConnection,
  ChannelPort,
  IncomingMessage,
} from "../contract/channel/channel.ts";
import { toPagurusError } from "../contract/errors.ts";
import { sleep } from "../platform/deadline.ts";
import type { Logger } from "../platform/log.ts";
import type { ChannelStore } from "./channel-store.ts";
import type { Incoming } from "./incoming.ts";
import { Outgoing } from "./outgoing.ts";

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 60_000;
/** A connection that lasted so long ends the growth of the pauses, ms. */
const LASTED_MS = 30_000;

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
