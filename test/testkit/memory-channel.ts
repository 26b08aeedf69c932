/** A service in memory with an archive, and its channel, which has the planted mistake of one check. */
import type {
  Channel,
  ChannelConnection,
  ChannelPort,
  IncomingMessage,
  OutgoingMessage,
} from "../../packages/contract/src/channel/channel.ts";
import { PagurusError } from "../../packages/contract/src/errors.ts";
import type { ChannelService, Peer } from "../../packages/testkit/src/index.ts";

interface Archived {
  id: string;
  from: string;
  to: string;
  text: string;
}

const CHANNEL = "crab@memory";
const addressOf = (peer: string): string => `${peer}@memory`;
const failed = (): PagurusError =>
  new PagurusError("channel_failed", "The channel memory is not connected; it is tried again.");

export class MemoryService implements ChannelService {
  readonly archive: Archived[] = [];
  readonly connections = new Set<MemoryConnection>();
  isUp = true;
  readonly #mistake: string | undefined;
  #ids = 0;

  /** `mistake`: id of the check that has to fail. */
  constructor(mistake?: string) {
    this.#mistake = mistake;
  }

  channel(): Channel {
    return {
      id: "memory",
      kind: "memory",
      connect: async (port, signal) => {
        if (this.#mistake === "connect.refused" && !this.isUp) throw new Error("ECONNREFUSED");
        if (!this.isUp) throw failed();
        const connection = new MemoryConnection(this, port, this.#mistake);
        await connection.begin(signal);
        return connection;
      },
    };
  }

  addressOf(peer: Peer): string {
    return addressOf(peer);
  }

  put(from: string, to: string, text: string, id?: string): void {
    this.#ids += 1;
    this.archive.push({ id: id ?? `s-${this.#ids}`, from, to, text });
    for (const connection of this.connections) connection.wake();
  }

  say(peer: Peer, text: string): Promise<void> {
    this.put(addressOf(peer), CHANNEL, text);
    return Promise.resolve();
  }

  pretend(text: string): Promise<void> {
    this.put(`${addressOf("eve")}/ann`, CHANNEL, text);
    return Promise.resolve();
  }

  got(peer: Peer): Promise<string[]> {
    return Promise.resolve(this.archive.flatMap(({ to, text }) => (to === addressOf(peer) ? [text] : [])));
  }

  cut(): Promise<void> {
    for (const connection of this.connections) connection.lose("the connection was cut");
    return Promise.resolve();
  }

  stop(): Promise<void> {
    this.isUp = false;
    if (this.#mistake !== "end.stopped") return this.cut();
    for (const connection of this.connections) connection.isOpen = false;
    return Promise.resolve();
  }

  start(): Promise<void> {
    this.isUp = true;
    if (this.#mistake === "receive.restart") this.archive.length = 0;
    return Promise.resolve();
  }

  end(): Promise<void> {
    return this.stop();
  }
}

class MemoryConnection implements ChannelConnection {
  readonly capabilities: ChannelConnection["capabilities"];
  readonly ended: Promise<string>;
  isOpen = true;
  readonly #service: MemoryService;
  readonly #port: ChannelPort;
  readonly #mistake: string | undefined;
  #end: (reason: string) => void = () => undefined;
  #reading: Promise<void> = Promise.resolve();
  #at: string | undefined;

  constructor(service: MemoryService, port: ChannelPort, mistake: string | undefined) {
    this.#service = service;
    this.#port = port;
    this.#mistake = mistake;
    const maxChars = mistake === "connect.capabilities" ? Number.POSITIVE_INFINITY : 2_000;
    this.capabilities = { inbound: "exactly-once", outbound: "exactly-once", maxChars };
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  async begin(signal: AbortSignal): Promise<void> {
    const { archive } = this.#service;
    const isFirst = this.#port.cursor === undefined;
    if (isFirst && this.#mistake !== "connect.first")
      await this.#port.receive(undefined, archive.at(-1)?.id ?? "beginning");
    this.#at = this.#port.cursor;
    if (this.#mistake === "receive.away" || this.#mistake === "receive.cut") this.#at = archive.at(-1)?.id;
    this.#service.connections.add(this);
    if (this.#mistake !== "connect.aborted")
      signal.addEventListener("abort", () => this.lose("the host stops"), { once: true });
    if (signal.aborted) this.lose("the host stops");
    this.wake();
  }

  wake(): void {
    if (this.#mistake === "receive.order") {
      void this.#read();
      return;
    }
    this.#reading = this.#reading.then(() => this.#read()).catch(() => this.lose("the host cannot write"));
  }

  async #read(): Promise<void> {
    const { archive } = this.#service;
    const start = archive.findIndex(({ id }) => id === this.#at) + 1;
    for (const one of archive.slice(start)) {
      if (!this.isOpen) return;
      if (one.to !== CHANNEL) continue;
      this.#at = one.id;
      const message = this.#incoming(one);
      const wait = this.#port.receive(
        message,
        this.#mistake === "receive.cursor" ? archive.at(-1)?.id : one.id,
      );
      if (this.#mistake === "receive.failed") await wait.catch(() => undefined);
      else await wait;
    }
  }

  #incoming({ id, from, text }: Archived): IncomingMessage {
    const [bare = "", resource] = from.split("/");
    const isNamed = this.#mistake === "receive.pretended" && resource !== undefined;
    const address = isNamed ? addressOf(resource) : bare;
    return {
      id: this.#mistake === "receive.id" ? text : id,
      from: this.#mistake === "receive.sender" ? addressOf("ann") : address,
      text,
    };
  }

  send({ id, to, text }: OutgoingMessage): Promise<void> {
    if (!this.isOpen && this.#mistake === "end.cut") return Promise.resolve();
    if (!this.isOpen) return Promise.reject(failed());
    const target = this.#mistake === "send.address" ? addressOf("ann") : to;
    const whole = this.#mistake === "send.longest" ? text.slice(0, 1_000) : text;
    if (this.#mistake === "send.odd" && text.includes("\0")) this.lose("the service refuses it");
    else this.#service.put(CHANNEL, target, whole, id);
    if (this.#mistake === "send.order" && text === "two")
      this.#service.put(CHANNEL, target, whole, `${id}-again`);
    return Promise.resolve();
  }

  wasSent({ id, to, text, previousId }: OutgoingMessage): Promise<boolean> {
    if (!this.isOpen && this.#mistake !== "send.lookup-dead") return Promise.reject(failed());
    const sent = this.#service.archive.filter((one) => one.from === CHANNEL && one.to === to);
    if (this.#mistake === "send.unknown") return Promise.resolve(sent.some((one) => one.text === text));
    if (this.#mistake === "send.known" && previousId !== undefined) return Promise.resolve(false);
    return Promise.resolve(sent.some((one) => one.id === id));
  }

  lose(reason: string): void {
    this.isOpen = false;
    this.#service.connections.delete(this);
    this.#end(reason);
  }

  close(): Promise<void> {
    if (this.#mistake === "end.close" && !this.isOpen) return Promise.reject(new Error("it is closed"));
    this.lose("it was closed");
    // What is being received belongs to this connection, not to the next one.
    return this.#reading;
  }
}
