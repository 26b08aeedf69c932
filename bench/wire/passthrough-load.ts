/** Requests streams in its own process: so many at once, each slot in sequence, on a keep-alive connection. */
import { connect, type Socket } from "node:net";

export interface LoadJob {
  baseUrl: string;
  /** Of the slots, in turn. */
  headers: readonly Record<string, string>[];
  way: "paced" | "full";
  /** Of each stream. */
  events: number;
  slots: number;
  /** Streams of each slot. */
  rounds: number;
  /** Slots begin spread over this time, ms. */
  spreadMs: number;
  bodyBytes: number;
}

export interface LoadResult {
  /** To the first byte of each answer, ms; of paced streams only of those that began while all slots had one. */
  firstMs: number[];
  /** To the first event of each, ms; it follows the head. */
  firstEventMs: number[];
  /** From the request to the end of the answer, ms. */
  totalMs: number[];
  wallMs: number;
  bytes: number;
}

const END = Buffer.from("\r\n0\r\n\r\n");

/** Reads land in one buffer: the load is to use as little of the machine as possible. */
const READS = Buffer.allocUnsafe(2 ** 16);

const WORDS = "The keeper of the quay wrote down which ships had come, and when they were to leave again. ";

/** A turn of a conversation as long as `bytes`. */
function requestBody(bytes: number): Buffer {
  const message = (role: string, text: string): string =>
    `{"type":"message","role":"${role}","content":[{"type":"input_text","text":"${text}"}]}`;
  const items = [message("developer", "Answer in one line.")];
  for (let turn = 0; items.join().length < bytes * 0.9; turn++)
    items.push(message(turn % 2 === 0 ? "user" : "assistant", WORDS.repeat(8)));
  items.push(message("user", "And now?"));
  const body = `{"model":"bench","stream":true,"input":[${items.join()}],"instructions":"`;
  return Buffer.from(`${body.padEnd(bytes - 2, "x")}"}`);
}

const EVENT = Buffer.from("event: ");

/** In the newest part of `READS`. */
function hasEvent(length: number): boolean {
  const at = READS.indexOf(EVENT);
  return at !== -1 && at < length;
}

class Slot {
  readonly #socket: Socket;
  readonly #request: Buffer;
  readonly #job: LoadJob;
  readonly #result: LoadResult;
  /** The newest bytes. Reads allocate nothing: a pause of the load's own would count for both ways. */
  readonly #tail = Buffer.alloc(END.length);
  /** Of the newest part of `READS`. */
  #take: (length: number) => void = () => undefined;

  constructor(job: LoadJob, index: number, result: LoadResult) {
    this.#job = job;
    this.#result = result;
    const url = new URL(job.baseUrl);
    const onread = {
      buffer: READS,
      callback: (length: number): boolean => {
        this.#take(length);
        return true;
      },
    };
    this.#socket = connect({ port: Number(url.port), host: url.hostname, noDelay: true, onread });
    const own = Object.entries(job.headers[index % job.headers.length] ?? {}).map(
      ([name, value]) => `${name}: ${value}\r\n`,
    );
    const head =
      `POST /v1/responses?${job.way}=${job.events} HTTP/1.1\r\nhost: ${url.host}\r\n${own.join("")}` +
      `content-type: application/json\r\ncontent-length: ${job.bodyBytes}\r\n\r\n`;
    this.#request = Buffer.concat([Buffer.from(head), requestBody(job.bodyBytes)]);
  }

  async run(delayMs: number): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#socket.once("connect", () => resolve()).once("error", reject);
    });
    await new Promise((resolve) => setTimeout(resolve, delayMs));
    for (let round = 0; round < this.#job.rounds; round++) await this.#stream(round > 0);
    this.#socket.destroy();
  }

  #stream(counts: boolean): Promise<void> {
    const begun = performance.now();
    let first = 0;
    let firstEvent = 0;
    return new Promise((resolve, reject) => {
      const onCut = (): void => reject(new Error("A stream of the load was cut."));
      this.#take = (length) => {
        if (first === 0) {
          first = performance.now() - begun;
          if (!READS.toString("latin1", 0, 12).endsWith("200")) reject(new Error("A request was refused."));
        }
        if (firstEvent === 0 && hasEvent(length)) firstEvent = performance.now() - begun;
        this.#result.bytes += length;
        if (!this.#ends(length)) return;
        this.#socket.off("close", onCut);
        if (counts) this.#result.firstMs.push(first);
        if (counts) this.#result.firstEventMs.push(firstEvent);
        if (counts) this.#result.totalMs.push(performance.now() - begun);
        resolve();
      };
      this.#socket.once("close", onCut);
      this.#socket.write(this.#request);
    });
  }

  /** An answer's last bytes have come, in one read or in several. */
  #ends(length: number): boolean {
    const kept = Math.max(0, END.length - length);
    this.#tail.copyWithin(0, END.length - kept);
    READS.copy(this.#tail, kept, Math.max(0, length - END.length), length);
    return this.#tail.equals(END);
  }
}

async function load(job: LoadJob): Promise<LoadResult> {
  const result: LoadResult = { firstMs: [], firstEventMs: [], totalMs: [], wallMs: 0, bytes: 0 };
  const slots = Array.from({ length: job.slots }, (_, index) => new Slot(job, index, result));
  const begun = performance.now();
  await Promise.all(slots.map((slot, index) => slot.run((index * job.spreadMs) / job.slots)));
  result.wallMs = performance.now() - begun;
  return result;
}

process.on("message", (job: LoadJob) => {
  load(job).then(
    (result) => process.send?.(result),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
process.on("disconnect", () => process.exit());
