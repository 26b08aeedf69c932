/**
 * A connection over an adapter of the Chat SDK. The adapter parses and sends; its queue, locks and state are not used: what is received is
 * on the host's disk before the service gets a yes, and each answer has an id of ours before it is sent.
 */
import type {
  ChannelCapabilities,
  ChannelConnection,
  ChannelPort,
  IncomingMessage,
  OutgoingMessage,
} from "@pagurus/contract/channel/channel";
import type { Clock } from "@pagurus/core/data/clock";
import { sleep, withDeadline } from "@pagurus/core/platform/deadline";
import { channelFailure } from "../channel-failure.ts";
import { LONGEST_WAIT_S, sendFailure, waitOf } from "./chat-failure.ts";
import type { ChatPlace } from "./chat-place.ts";

/** Timeout of one request, ms. */
const REQUEST_MS = 30_000;

/** What a service does for a connection. Each call throws the adapter's errors. */
export interface ChatService {
  readonly id: string;
  readonly capabilities: ChannelCapabilities;
  readonly clock: Clock;
  /** Returns the service's id of the message. */
  post(message: OutgoingMessage): Promise<string>;
  edit?(ref: string, message: OutgoingMessage): Promise<void>;
  typing?(to: string, thread: string | undefined, isGroup: boolean): Promise<void>;
  /** The service's id of a message; undefined where it has none. */
  find?(message: OutgoingMessage): Promise<string | undefined>;
}

export class ChatConnection implements ChannelConnection {
  readonly capabilities: ChannelCapabilities;
  readonly ended: Promise<string>;
  readonly wasSent?: (message: OutgoingMessage) => Promise<boolean>;
  readonly place: ChatPlace;
  readonly #service: ChatService;
  readonly #port: ChannelPort;
  readonly #gone = new AbortController();
  #end: (reason: string) => void = () => undefined;
  #writing: Promise<unknown> = Promise.resolve();

  constructor(service: ChatService, port: ChannelPort, place: ChatPlace, signal: AbortSignal) {
    this.#service = service;
    this.#port = port;
    this.place = place;
    this.capabilities = service.capabilities;
    this.ended = new Promise((resolve) => {
      this.#end = (reason) => {
        this.#gone.abort(new Error(reason));
        // What arrived is written before the next connection reads the cursor.
        void this.#writing.then(() => resolve(reason));
      };
    });
    signal.addEventListener("abort", () => this.end("the host stops"), { once: true, signal: this.signal });
    if (signal.aborted) this.end("the host stops");
    const { find } = service;
    if (find) this.wasSent = (message) => this.#wasSent(message);
  }

  /** Aborts when the connection has ended. */
  get signal(): AbortSignal {
    return this.#gone.signal;
  }

  end(reason: string): void {
    if (!this.signal.aborted) this.#end(reason);
  }

  /**
   * Ends the connection where the host could not write. With `writtenAt` a message is received once, by the ids that the place keeps.
   * `session`: by which a connection is continued after this message. Throws `store_write_failed`.
   */
  async receive(
    message: IncomingMessage | undefined,
    at?: number,
    writtenAt?: number,
    session?: unknown,
  ): Promise<void> {
    const written = this.#writing.then(async () => {
      this.signal.throwIfAborted();
      const { at: before, session: sessionBefore } = this.place;
      try {
        if (session !== undefined) this.place.session = session;
        if (message && writtenAt !== undefined) {
          if (this.place.isTaken(message.id)) return;
          this.place.take(message.id, writtenAt);
        }
        if (at !== undefined) this.place.at = at;
        await this.#port.receive(message, this.place.cursor());
      } catch (error) {
        this.place.at = before;
        this.place.session = sessionBefore;
        this.end("a message could not be written");
        throw error;
      }
    });
    this.#writing = written.catch(() => undefined);
    await written;
  }

  async send(message: OutgoingMessage): Promise<void> {
    const { replaces, id } = message;
    const text = message.text.toWellFormed();
    const ref = replaces === undefined ? undefined : this.place.refOf(replaces);
    // A message whose id was lost in a crash is not replaced: the text is sent as a new one.
    if (ref === undefined || !this.#service.edit) {
      const posted = await this.#request("send a message", () => this.#service.post({ ...message, text }));
      // Further states replace the new one.
      this.place.keep(replaces ?? id, posted);
      // The message is sent, whether or not its id could be written.
      await this.receive(undefined).catch(() => undefined);
    } else {
      await this.#request("replace a message", () => this.#service.edit?.(ref, { ...message, text }));
    }
  }

  async #wasSent(message: OutgoingMessage): Promise<boolean> {
    const ref = await this.#request("look up a message", () => this.#service.find?.(message));
    if (ref !== undefined) this.place.keep(message.id, ref);
    return ref !== undefined;
  }

  /** Throws `channel_refused`, and `channel_failed`, which has ended the connection. */
  async #request<T>(what: string, work: () => Promise<T> | undefined): Promise<T> {
    const { id } = this.#service;
    try {
      this.signal.throwIfAborted();
      return await withDeadline(async () => (await work()) as T, {
        ms: REQUEST_MS,
        label: `The request to ${what}`,
        signal: this.signal,
        clock: this.#service.clock,
      });
    } catch (error) {
      const failure = sendFailure(id, error);
      if (failure.code === "channel_refused" && what !== "look up a message") throw failure;
      const wait = waitOf(error);
      if (wait !== undefined)
        await sleep(Math.min(wait, LONGEST_WAIT_S) * 1_000, this.signal, this.#service.clock).catch(
          () => undefined,
        );
      this.end(failure.message);
      throw channelFailure(id, `could not ${what}`, error);
    }
  }

  typing(to: string, isGroup: boolean, isTyping: boolean, thread?: string): void {
    if (isTyping && !this.signal.aborted)
      void this.#service.typing?.(to, thread, isGroup).catch(() => undefined);
  }

  async close(): Promise<void> {
    this.end("it was closed");
    await this.#writing;
  }
}
