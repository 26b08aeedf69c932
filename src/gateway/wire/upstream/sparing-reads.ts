/**
 * How connections to endpoints are read: all into one buffer, and each less often where many answers stream. A read costs what
 * the machine asks for it, and so does the write that it brings about, however few bytes there are.
 */
import type { OnReadOpts } from "node:net";
import { Duplex } from "node:stream";

/** Of one read. All connections share it, since what a read brought is copied before the next one. */
const BUFFER = Buffer.allocUnsafe(64 * 2 ** 10);
/** Answers at once; what fewer cost is nothing to save. */
const MANY = 50;
/** Between two reads of a connection where there are many, ms: a screen shows no more. */
const REST_MS = 16;
/** A connection that has brought more than this in its last two spans of a rest's length has much to bring, and does not rest. */
const LITTLE = 8 * 2 ** 10;

/** A connection that rests between two reads, and then reads on where somebody has asked for more. */
class Sparing {
  readonly onread: OnReadOpts;
  #socket: Duplex | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isResting = false;
  /** Its reader wants more. */
  #isWanted = false;
  /** Nothing has been read of an answer yet; what follows its head comes at once, too. */
  #isNew = true;
  /** Bytes since `#from`, and in the span before it. */
  #taken = 0;
  #takenBefore = 0;
  #from = 0;
  /** Has the system read on. */
  #start: () => void = () => undefined;

  constructor(isCrowded: () => boolean) {
    const callback = (length: number): boolean => {
      // Whoever hears of it may pause the connection at once.
      this.#isWanted = true;
      const takesMore = this.#socket?.push(Buffer.from(BUFFER.subarray(0, length))) ?? false;
      if (takesMore && !this.#isNew && isCrowded() && this.#bringsLittle(length)) this.#rest();
      this.#isNew = false;
      return takesMore && !this.#isResting;
    };
    this.onread = { buffer: BUFFER, callback };
  }

  /** Whoever reads, resumes or pauses the connection while it rests is heard at the end of that. */
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
    // A socket's own have the system read on at once; a stream's, which stand behind them, do not.
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

  #bringsLittle(length: number): boolean {
    const now = performance.now();
    if (now - this.#from >= REST_MS) {
      this.#takenBefore = this.#taken;
      this.#taken = 0;
      this.#from = now;
    }
    this.#taken += length;
    return this.#takenBefore + this.#taken <= LITTLE;
  }

  #rest(): void {
    this.#isResting = true;
    if (this.#timer === undefined) this.#timer = setTimeout(() => this.#wake(), REST_MS);
    else this.#timer.refresh();
  }

  /** It is asked for an answer. */
  renew(): void {
    this.#isNew = true;
    this.#wake();
  }

  #wake(): void {
    if (!this.#isResting) return;
    this.#isResting = false;
    if (this.#isWanted && this.#socket?.destroyed === false) this.#start();
  }
}

export class SparingReads {
  #answers = 0;
  readonly #all = new WeakMap<Duplex, Sparing>();

  /** An answer begins to stream. Returns what is to be called once, when it is over. */
  begin(): () => void {
    this.#answers += 1;
    return () => void (this.#answers -= 1);
  }

  /** A connection that reads so, as `connect` makes it. */
  open<T extends Duplex | null | undefined>(connect: (onread: OnReadOpts) => T): T {
    const sparing = new Sparing(() => this.#answers >= MANY);
    const socket = connect(sparing.onread);
    if (!socket) return socket;
    sparing.attach(socket);
    this.#all.set(socket, sparing);
    return socket;
  }

  /** A kept connection is asked for another answer, whose beginning is not to wait. */
  renew(socket: Duplex): void {
    this.#all.get(socket)?.renew();
  }
}
