/** The way to the worker that has the events for all tabs. Absent where the browser has none such, or cannot load it. */
import type { ServerEvent } from "@pagurus/api/types";
import { ClientError } from "@pagurus/client/index";
import type { FromWorker, ToWorker } from "./event-worker.ts";
import type { WantedEvents } from "./shared-stream.ts";
import { workerAddress } from "./worker-addresses.ts";

/** A worker without a word for this long is lost, ms: a browser that needs memory ends it without a report. */
const SILENT_MS = 45_000;

/** There is no worker to follow with: the page follows by itself. */
export class NoWorker extends Error {}

/** Events of one follower, in the order in which they come. */
class Feed {
  readonly begins = Promise.withResolvers<number>();
  readonly #came: ServerEvent[] = [];
  #failure: { reason: unknown } | undefined;
  #wake: () => void = () => undefined;

  constructor() {
    // It may fail before anyone waits for its beginning.
    this.begins.promise.catch(() => undefined);
  }

  push(event: ServerEvent): void {
    this.#came.push(event);
    this.#wake();
  }

  /** Ends it, after the events that came. */
  fail(reason: unknown): void {
    this.#failure ??= { reason };
    this.begins.reject(reason);
    this.#wake();
  }

  /** Throws what it failed with. */
  async *events(): AsyncGenerator<ServerEvent> {
    for (;;) {
      const event = this.#came.shift();
      if (event) yield event;
      else if (this.#failure) throw this.#failure.reason;
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
  }
}

class Door {
  readonly #port: MessagePort;
  readonly #feeds = new Map<number, Feed>();
  readonly #onLost: (isMissing: boolean) => void;
  #last = 0;
  #hasSpoken = false;
  #timer: number | undefined;

  /** `onLost`: no longer of use; `isMissing`: it never was. */
  constructor(onLost: (isMissing: boolean) => void) {
    this.#onLost = onLost;
    const worker = new SharedWorker(workerAddress("events"), { type: "module", name: "events" });
    worker.addEventListener("error", () => this.#hasSpoken || this.#lose());
    this.#port = worker.port;
    this.#port.addEventListener("message", ({ data }: MessageEvent<FromWorker>) => this.#take(data));
    this.#port.start();
    this.#wind();
  }

  open(login: string, wanted: WantedEvents): { feed: Feed; close(): void } {
    const [id, feed] = [(this.#last += 1), new Feed()];
    this.#feeds.set(id, feed);
    this.#send({ id, login, wanted });
    return {
      feed,
      close: () => {
        if (this.#feeds.delete(id)) this.#send({ id, ends: true });
      },
    };
  }

  #send(message: ToWorker): void {
    this.#port.postMessage(message);
  }

  #wind(): void {
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => this.#lose(), SILENT_MS);
  }

  #lose(): void {
    clearTimeout(this.#timer);
    const error = this.#hasSpoken
      ? new ClientError("server_failed", "The browser has ended the page's worker; it is started again.")
      : new NoWorker();
    this.#onLost(!this.#hasSpoken);
    for (const feed of this.#feeds.values()) feed.fail(error);
    this.#feeds.clear();
    this.#port.close();
  }

  #take(message: FromWorker): void {
    this.#hasSpoken = true;
    this.#wind();
    if ("lives" in message) return;
    const feed = this.#feeds.get(message.id);
    if ("begins" in message) feed?.begins.resolve(message.begins);
    else if ("event" in message) feed?.push(message.event);
    else {
      this.#feeds.delete(message.id);
      const { code, message: text, status } = message.error;
      feed?.fail(new ClientError(code, text, { status }));
    }
  }
}

let isMissing = typeof SharedWorker === "undefined";
let door: Door | undefined;

/** Undefined where the page follows by itself. */
export function openFeed(login: string, wanted: WantedEvents): ReturnType<Door["open"]> | undefined {
  if (isMissing) return undefined;
  door ??= new Door((never) => {
    door = undefined;
    isMissing = never;
  });
  return door.open(login, wanted);
}
