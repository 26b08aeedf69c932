/**
 * Reads connections to endpoints into one shared buffer, and each less often when many answers stream. A read has a fixed cost, and
 * so has the write that it causes, however few bytes there are.
 */
import { SYSTEM_CLOCK, type Clock } from "@pagurus/core/data/clock";
import type { OnReadOpts } from "node:net";
import { Duplex } from "node:stream";

/** Buffer of a read. All connections share it, since a read's bytes are copied before the next one. */
const READ_BUFFER = Buffer.allocUnsafe(64 * 2 ** 10);
/** Concurrent answers from which on reads are delayed; with fewer there is little to save. */
const MANY = 50;
/** Least interval between two reads of a connection while there are many, ms: a screen shows no more. */
const READ_INTERVAL_MS = 16;
/** Reads in a millisecond of all connections together, which lengthens the interval, and its limit, ms. */
const READS_EACH_MS = 6;
const MOST_REST_MS = 50;
/** Connections that read again in one iteration of the event loop: what has arrived meanwhile must not wait for all of them. */
const AT_ONCE = 2;
/** A connection with more than this in its last two intervals, bytes, is not delayed. */
const LITTLE = 8 * 2 ** 10;

/** Connections between two reads, in the order in which they read again. */
class Rests {
  readonly #waiting = new Map<Sparing, number>();
  readonly #clock: Clock;
  #isScheduled = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(one: Sparing, restMs: number): void {
    this.#waiting.set(one, this.#clock.ticks() + restMs);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#clock.after(restMs, this.#wakeDue);
  }

  delete(one: Sparing): void {
    this.#waiting.delete(one);
  }

  readonly #wakeDue = (): void => {
    const now = this.#clock.ticks();
    let woken = 0;
    for (const [one, due] of this.#waiting) {
      if (due > now) return void this.#clock.after(Math.ceil(due - now), this.#wakeDue);
      // The event loop looks for new requests between two immediates.
      if (woken === AT_ONCE) return void setImmediate(this.#wakeDue);
      this.#waiting.delete(one);
      one.wake();
      woken += 1;
    }
    this.#isScheduled = false;
  };
}

/** A connection that pauses between two reads, and continues only if its reader wants more. */
class Sparing {
  readonly onread: OnReadOpts;
  #socket: Duplex | undefined;
  #isResting = false;
  readonly #rests: Rests;
  readonly #clock: Clock;
  /** Interval before the next read, ms; 0 if there are few answers. */
  readonly #restMs: () => number;
  /** Its reader wants more. */
  #isWanted = false;
  /** Nothing of an answer has been read yet; the data after its head is read at once, too. */
  #isNew = true;
  /** Bytes since `#from`, and in the interval before it. */
  #taken = 0;
  #takenBefore = 0;
  #from = 0;
  /** Resumes reading in the system. */
  #start: () => void = () => undefined;

  constructor(rests: Rests, clock: Clock, restMs: () => number) {
    this.#rests = rests;
    this.#clock = clock;
    this.#restMs = restMs;
    const callback = (length: number): boolean => {
      // The callback may pause the connection at once.
      this.#isWanted = true;
      const takesMore = this.#socket?.push(Buffer.from(READ_BUFFER.subarray(0, length))) ?? false;
      const rest = this.#isNew ? 0 : this.#restMs();
      if (takesMore && rest > 0 && this.#bringsLittle(length, rest)) this.#rest(rest);
      this.#isNew = false;
      return takesMore && !this.#isResting;
    };
    this.onread = { buffer: READ_BUFFER, callback };
  }

  /** Intercepts reads, resumes and pauses of the connection; during a delay they take effect at its end. */
  attach(socket: Duplex): void {
    this.#socket = socket;
    const start = socket._read.bind(socket);
    const read = socket.read.bind(socket);
    const resume = socket.resume.bind(socket);
    const pause = socket.pause.bind(socket);
    this.#start = () => start(0);
    socket._read = (size) => {
      this.#isWanted = true;
      if (!this.#isResting) start(size);
    };
    // The socket's own methods start reading at once; those of the underlying stream class do not.
    socket.read = (size): unknown => {
      this.#isWanted = true;
      return this.#isResting ? Duplex.prototype.read.call(socket, size) : read(size);
    };
    socket.resume = () => {
      this.#isWanted = true;
      return this.#isResting ? (Duplex.prototype.resume.call(socket) as Duplex) : resume();
    };
    socket.pause = () => {
      this.#isWanted = false;
      return pause();
    };
  }

  #bringsLittle(length: number, restMs: number): boolean {
    const now = this.#clock.ticks();
    if (now - this.#from >= restMs) {
      this.#takenBefore = this.#taken;
      this.#taken = 0;
      this.#from = now;
    }
    this.#taken += length;
    return this.#takenBefore + this.#taken <= LITTLE;
  }

  #rest(restMs: number): void {
    this.#isResting = true;
    this.#rests.add(this, restMs);
  }

  /** Called when a new answer is requested. */
  renew(): void {
    this.#isNew = true;
    this.#rests.delete(this);
    this.wake();
  }

  /** Ends the pause. */
  wake(): void {
    if (!this.#isResting) return;
    this.#isResting = false;
    if (this.#isWanted && this.#socket?.destroyed === false) this.#start();
  }
}

export class SparingReads {
  #answers = 0;
  readonly #clock: Clock;
  readonly #rests: Rests;
  readonly #all = new WeakMap<Duplex, Sparing>();

  constructor(clock: Clock = SYSTEM_CLOCK) {
    this.#clock = clock;
    this.#rests = new Rests(clock);
  }

  /** An answer begins to stream. Returns a callback for its end, to be called once. */
  begin(): () => void {
    this.#answers += 1;
    return () => void (this.#answers -= 1);
  }

  /** Opens a connection with these reads, by means of `connect`. */
  open<T extends Duplex | null | undefined>(connect: (onread: OnReadOpts) => T): T {
    const sparing = new Sparing(this.#rests, this.#clock, () => this.#restMs());
    const socket = connect(sparing.onread);
    if (!socket) return socket;
    sparing.attach(socket);
    this.#all.set(socket, sparing);
    return socket;
  }

  #restMs(): number {
    if (this.#answers < MANY) return 0;
    return Math.min(MOST_REST_MS, Math.max(READ_INTERVAL_MS, this.#answers / READS_EACH_MS));
  }

  /** Called when a kept connection is reused, as the beginning of its next answer must not be delayed. */
  renew(socket: Duplex): void {
    this.#all.get(socket)?.renew();
  }
}
