/** A service and the host's side of a channel: a cursor that is kept, and what was received with it. */
import { setTimeout as pause } from "node:timers/promises";
import type {
  ChannelConnection,
  ChannelPort,
  Delivery,
  IncomingMessage,
  OutgoingMessage,
} from "@pagurus/contract/channel/channel";
import { isPagurusError, PagurusError } from "@pagurus/contract/errors";
import { must, onlyIf, shown, Violation } from "../conformance-check.ts";
import type { ChannelService, Peer } from "./channel-service.ts";
import { defined } from "@pagurus/core/data/defined";

const POLL_MS = 20;
const HOST_MS = 100;
/** A channel that cannot connect is tried again this often, while the service starts. */
const ATTEMPTS = 50;

export interface Received extends IncomingMessage {
  cursor: string | undefined;
}

/** The message with its content, which a host gets where the sender may speak. */
async function wholeOf(head: IncomingMessage | undefined): Promise<IncomingMessage | undefined> {
  if (!head?.fetchContent) return head;
  const { fetchContent, ...rest } = head;
  return { ...rest, ...(await fetchContent()) };
}

export class ChannelStage {
  readonly service: ChannelService;
  /** What was received and kept, in order. */
  readonly received: Received[] = [];
  readonly missed: string[] = [];
  /** Texts that the host cannot write; each is one failure. */
  readonly unwritable = new Set<string>();
  cursor: string | undefined;
  /** Violations that happened while no check waited. */
  readonly #wrong: string[] = [];
  readonly #connections: ChannelConnection[] = [];
  readonly #stopping = new AbortController();
  #isReceiving = false;
  #sent = 0;

  constructor(service: ChannelService) {
    this.service = service;
  }

  #portOf(): ChannelPort {
    const stage = this as { readonly cursor: string | undefined };
    return {
      get cursor() {
        return stage.cursor;
      },
      receive: (message, cursor) => this.#receive(message, cursor),
      missed: (sentence) => void this.missed.push(sentence),
    };
  }

  async #receive(head: IncomingMessage | undefined, cursor: string | undefined): Promise<void> {
    if (this.#isReceiving) this.#wrong.push("receive() is called while an earlier call has not resolved.");
    this.#isReceiving = true;
    let message: IncomingMessage | undefined;
    try {
      message = await wholeOf(head);
    } catch (error) {
      this.#isReceiving = false;
      throw error;
    }
    // A host writes to a disk; what does not wait for it is met here.
    await pause(message ? HOST_MS / 20 : 0);
    this.#isReceiving = false;
    if (message && this.unwritable.delete(message.text))
      throw new PagurusError("store_write_failed", "The test's disk is full; free some space.");
    if (message) this.received.push({ ...message, cursor });
    if (cursor !== undefined) this.cursor = cursor;
  }

  /** Connects once, as a host that has just started. Throws what the channel throws. */
  async connectOnce(signal: AbortSignal = this.#stopping.signal): Promise<ChannelConnection> {
    const channel = await this.service.channel();
    const connection = await channel.connect(this.#portOf(), signal);
    this.#connections.push(connection);
    return connection;
  }

  /** Connects, again and again while the service is not there. Throws `Violation` for an error of another code. */
  async connect(): Promise<ChannelConnection> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.connectOnce();
      } catch (error) {
        if (!isPagurusError(error) || error.code !== "channel_failed")
          throw new Violation(`connect() throws ${shown(error)} instead of channel_failed.`);
        if (attempt > ATTEMPTS || this.#stopping.signal.aborted)
          throw new Violation(`The channel does not connect: ${error.message}`);
        await pause(HOST_MS);
      }
    }
  }

  /** Throws `NotOffered` unless the channel promises one of these for what it receives. */
  onlyReceiving({ capabilities }: ChannelConnection, ...deliveries: readonly Delivery[]): void {
    const { inbound } = capabilities;
    onlyIf(deliveries.includes(inbound), `The channel receives ${inbound}.`);
  }

  /** Waits for a condition; the check's deadline ends the wait. */
  async until(isMet: () => boolean | Promise<boolean>): Promise<void> {
    while (!(await isMet())) await pause(POLL_MS, undefined, { signal: this.#stopping.signal });
    must(this.#wrong.length === 0, this.#wrong[0] ?? "");
  }

  /** Waits for a text; returns everything that was received up to there. */
  async untilReceived(text: string): Promise<readonly Received[]> {
    await this.until(() => this.received.some((message) => message.text === text));
    return this.received;
  }

  /** Waits until a person got these texts, white space aside, and a further message: so nothing else came between. */
  async mustArrive(
    connection: ChannelConnection,
    peer: Peer,
    texts: readonly string[],
    sentence: string,
  ): Promise<void> {
    const last = `end ${this.#sent}`;
    await connection.send(this.outgoing(peer, last));
    const bare = (all: readonly string[]): string => all.join("").replaceAll(/\s/g, "");
    const expected = bare([...texts, last]);
    let got = "";
    await this.until(async () => {
      got = bare(await this.service.got(peer));
      return got.endsWith(bare([last]));
    });
    if (got !== expected)
      throw new Violation(
        `${sentence}: ${got.length} characters arrived instead of ${expected.length}, or in another order.`,
      );
  }

  /** A message with an id of its own. */
  outgoing(peer: Peer, text: string, previousId?: string): OutgoingMessage {
    this.#sent += 1;
    const { group, ...thread } = this.service.placeOf?.(peer) ?? {};
    return {
      id: `${process.pid}-${Date.now()}-${this.#sent}`,
      to: group ?? this.service.addressOf(peer),
      isGroup: group !== undefined,
      ...thread,
      text,
      createdAt: Date.now(),
      ...defined({ previousId }),
    };
  }

  /** Throws `Violation` unless the work throws, or rejects with, `channel_failed`. */
  async mustFail(sentence: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (isPagurusError(error) && error.code === "channel_failed") return;
      throw new Violation(`${sentence} throws ${shown(error)} instead of channel_failed.`);
    }
    throw new Violation(`${sentence} does not throw channel_failed.`);
  }

  /** Texts that were received and kept. */
  get texts(): string[] {
    return this.received.map(({ text }) => text);
  }

  async end(): Promise<void> {
    this.#stopping.abort();
    await Promise.allSettled(this.#connections.map(async (connection) => connection.close()));
    await this.service.end();
  }
}
