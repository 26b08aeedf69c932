/** Keeps one channel connected, with growing pauses after each end, and sends what is queued for it. */
import { backOffMs } from "@pagurus/core/data/back-off";
import { SYSTEM_CLOCK, type Clock } from "@pagurus/core/data/clock";
import { randomUUID } from "node:crypto";
import type {
  Channel,
  ChannelConnection,
  ChannelPort,
  IncomingMessage,
  OutgoingMessage,
} from "@pagurus/contract/channel/channel";
import { toPagurusError } from "@pagurus/contract/errors";
import { sleep, withOwnSignal } from "@pagurus/core/platform/deadline";
import type { Logger } from "@pagurus/core/platform/log";
import type { ChannelEvents } from "./channel-events.ts";
import type { ChannelStore, Place } from "./channel-store.ts";
import { Drafts } from "./drafts.ts";
import type { Incoming } from "./incoming.ts";

const PAUSES = { firstMs: 500, longestMs: 60_000 };
/** A connection that lasted so long ends the growth of the pauses, ms. */
const LASTED_MS = 30_000;
/** Pause after an error of the host itself, such as a full disk, ms. */
const RETRY_MS = 2_000;

/**
 * Sends what is queued, in order. A message whose attempt was cut off is looked up before it is sent again; where the service cannot
 * know, the channel's promise decides.
 */
class Outgoing {
  readonly #store: ChannelStore;
  readonly #events: ChannelEvents;
  readonly #channel: string;
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly drafts: Drafts;
  #connection: ChannelConnection | undefined;
  #sending: Promise<void> | undefined;
  #isWoken = false;
  #retry: (() => void) | undefined;

  constructor({ store, events, channel, logger, clock = SYSTEM_CLOCK }: Omit<LinkParts, "incoming">) {
    this.#store = store;
    this.#events = events;
    this.#channel = channel.id;
    this.#logger = logger;
    this.#clock = clock;
    this.drafts = new Drafts(() => this.wake(), clock);
  }

  /** Shows whether an answer is being written, where the service can. */
  typing({ address, isGroup, thread }: Place, isTyping: boolean): void {
    this.#connection?.typing?.(address, isGroup, isTyping, thread);
  }

  /** Sends over this connection from now on; undefined: nothing can be sent. */
  use(connection: ChannelConnection | undefined): void {
    this.#connection = connection;
    this.#retry?.();
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
        this.#wakeLater();
      })
      .finally(() => {
        this.#sending = undefined;
        if (this.#isWoken && this.#connection) this.wake();
      });
  }

  /** Nothing else may wake this after an error that leaves the connection. */
  #wakeLater(): void {
    this.#retry?.();
    if (!this.#connection) return;
    this.#retry = this.#clock.after(RETRY_MS, () => this.wake(), { ref: false });
  }

  async #run(): Promise<void> {
    this.#isWoken = false;
    for (let connection = this.#connection; connection; connection = this.#connection) {
      const next = this.#store.nextOutgoing(this.#channel);
      const isDone = next
        ? await this.#send(connection, next.message, next.isRepeat)
        : await this.#sendDraft(connection);
      // Nothing is left; or the link connects again, and then wakes this.
      if (!isDone) return;
    }
  }

  /** Sends the newest state of an answer that grows; false where there is none, or the connection ended. */
  async #sendDraft(connection: ChannelConnection): Promise<boolean> {
    const { edits, maxChars } = connection.capabilities;
    const draft = edits === true ? this.drafts.take(maxChars) : undefined;
    if (!draft) return false;
    const { workId, place, text } = draft;
    const { drafts } = this.#store;
    // Its answer is sent by now: no older state may replace it.
    if (this.#store.isAnswered(workId)) return true;
    const { address: to, channel: _channel, ...where } = place;
    try {
      const known = drafts.find(workId);
      if (known && !known.isSent && isNeverRepeated(connection)) {
        // The whole answer is sent once it is there.
        this.drafts.end(workId);
        return true;
      }
      const { id, createdAt } = known ?? drafts.begin(workId);
      const first: OutgoingMessage = { id, to, ...where, text, createdAt };
      const isThere = known !== undefined && (known.isSent || (await connection.wasSent?.(first)) === true);
      if (isThere) await connection.send({ ...first, id: `${id}-${randomUUID()}`, replaces: id });
      else await connection.send(first);
      drafts.sent(workId);
      // A message ends the mark.
      this.typing(place, true);
      return true;
    } catch (error) {
      if (toPagurusError(error).code !== "channel_refused") return this.#cut(connection, error);
      // The whole answer is sent once it is there.
      this.drafts.end(workId);
      this.#logger.warn("growing answer of a channel refused", { channel: this.#channel, work: workId });
      return true;
    }
  }

  /** Id of the message that shows the answer so far, which the final one replaces. */
  async #draftOf(connection: ChannelConnection, message: OutgoingMessage): Promise<string | undefined> {
    const { id, attachment } = message;
    if (connection.capabilities.edits !== true || attachment || !id.endsWith("-0")) return undefined;
    const draft = this.#store.drafts.find(id.slice(0, -2));
    if (!draft || draft.isSent) return draft?.id;
    const { previousId: _none, ...asked } = message;
    const isThere = await connection.wasSent?.({ ...asked, id: draft.id, createdAt: draft.createdAt });
    return isThere === true ? draft.id : undefined;
  }

  /** False where the service refuses, such as for a message that a person has deleted: then the text is sent as a new one. */
  async #replace(connection: ChannelConnection, message: OutgoingMessage): Promise<boolean> {
    try {
      await connection.send(message);
      return true;
    } catch (error) {
      if (toPagurusError(error).code !== "channel_refused") throw error;
      this.#logger.warn("message of a channel not replaced", { channel: this.#channel, id: message.id });
      return false;
    }
  }

  /** Ends a connection that failed: what was begun stays so. Throws any other error. */
  async #cut(connection: ChannelConnection, error: unknown): Promise<false> {
    if (toPagurusError(error).code !== "channel_failed") throw error;
    if (this.#connection === connection) this.#connection = undefined;
    await connection.close();
    return false;
  }

  /** False where the connection ended meanwhile: the message stays as begun. */
  async #send(connection: ChannelConnection, message: OutgoingMessage, isRepeat: boolean): Promise<boolean> {
    const { id } = message;
    try {
      if (isRepeat && isNeverRepeated(connection)) {
        this.#store.setOutgoing(id, "lost");
        this.#events.note(this.#channel, "lost", id);
        this.#logger.warn("message of a channel may not have arrived", { channel: this.#channel, id });
        return true;
      }
      const isThere = isRepeat && (await connection.wasSent?.(message)) === true;
      if (!isThere) {
        this.#store.setOutgoing(id, "sending");
        const replaces = await this.#draftOf(connection, message);
        const isShown = replaces !== undefined && (await this.#replace(connection, { ...message, replaces }));
        if (!isShown) await connection.send(sendable(message, connection));
      }
      this.#store.setOutgoing(id, "sent");
      this.#events.note(this.#channel, "sent", id);
      return true;
    } catch (error) {
      const { code, message: why } = toPagurusError(error);
      if (code !== "channel_refused") return this.#cut(connection, error);
      this.#store.setOutgoing(id, "lost");
      this.#events.note(this.#channel, "refused", `${id}: ${why}`);
      this.#logger.warn("message of a channel refused", { channel: this.#channel, id });
      return true;
    }
  }
}

/** Whether a message whose attempt was cut off may be there already, and no one knows. */
function isNeverRepeated({ wasSent, capabilities }: ChannelConnection): boolean {
  return !wasSent && capabilities.outbound === "at-most-once";
}

/** The message as the service can take it: a file that it cannot is named. */
function sendable(
  { attachment, ...message }: OutgoingMessage,
  { capabilities }: ChannelConnection,
): OutgoingMessage {
  if (!attachment) return message;
  const { maxFileBytes } = capabilities;
  const { name, bytes } = attachment;
  if (maxFileBytes !== undefined && bytes.byteLength <= maxFileBytes) return { ...message, attachment };
  const reason =
    maxFileBytes === undefined
      ? "this service takes no files"
      : `it has ${bytes.byteLength} bytes, and ${maxFileBytes} is the most here`;
  const note = `(The file ${JSON.stringify(name)} was not sent: ${reason}.)`;
  return { ...message, text: message.text === "" ? note : `${message.text}\n\n${note}` };
}

export interface LinkParts {
  channel: Channel;
  store: ChannelStore;
  events: ChannelEvents;
  incoming: Incoming;
  logger: Logger;
  /** Default: the machine's. */
  clock?: Clock;
}

export class ChannelLink {
  readonly outgoing: Outgoing;
  readonly #parts: LinkParts;
  readonly #stopping = new AbortController();
  #done: Promise<void> | undefined;

  constructor(parts: LinkParts) {
    this.#parts = parts;
    this.outgoing = new Outgoing(parts);
  }

  /** Longest text of one message, characters; undefined where the channel does not say. */
  get maxChars(): number | undefined {
    return this.#parts.channel.maxChars;
  }

  get joinsFile(): boolean {
    return this.#parts.channel.joinsFile === true;
  }

  start(): void {
    this.#done = this.#run();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    const { clock = SYSTEM_CLOCK } = this.#parts;
    let failures = 0;
    while (!signal.aborted) {
      const from = clock.ticks();
      const reason = await withOwnSignal(signal, (own) => this.#once(own));
      this.#state("cut", reason, `not connected: ${reason}`);
      failures = clock.ticks() - from > LASTED_MS ? 1 : failures + 1;
      await sleep(backOffMs(failures, PAUSES), signal, clock).catch(() => undefined);
    }
  }

  /** One connection to its end; returns why it ended. */
  async #once(signal: AbortSignal): Promise<string> {
    const { channel } = this.#parts;
    let connection: ChannelConnection | undefined;
    try {
      connection = await channel.connect(this.#port(), signal);
      const { inbound, outbound } = connection.capabilities;
      const promise = `receives ${inbound}, sends ${outbound}`;
      this.#state("connected", promise, `connected (${promise})`);
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
      missed: (sentence) => {
        store.setMissed(channel.id, sentence);
        this.#parts.events.note(channel.id, "missed", sentence);
      },
    };
  }

  #state(what: "connected" | "cut", detail: string, state: string): void {
    const { store, events, channel } = this.#parts;
    try {
      store.setState(channel.id, state);
      events.note(channel.id, what, detail);
    } catch (error) {
      this.#parts.logger.error("state of a channel not written", { code: toPagurusError(error).code });
    }
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#done;
  }
}
