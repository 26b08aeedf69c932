/** A relay between a channel and its server, whose connections a test cuts. */
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { Transform } from "node:stream";

export class CuttingRelay {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #downUntil = 0;
  /** Pieces from the channel that fit this are swallowed. */
  swallows: RegExp | undefined;

  private constructor(port: number, delayMs: number) {
    this.#server = createServer((near) => {
      if (performance.now() < this.#downUntil) {
        near.on("error", () => undefined);
        near.destroy();
        return;
      }
      const far = connect(port, "127.0.0.1");
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.add(from);
        from.on("error", () => to.destroy());
        from.on("close", () => {
          this.#sockets.delete(from);
          to.destroy();
        });
        const source = from === near ? near.pipe(this.#filter()) : from;
        if (delayMs > 0) source.pipe(late(delayMs)).pipe(to);
        else source.pipe(to);
      }
    });
  }

  /** `delayMs`: what is sent arrives later, in either direction; a cut loses what is on its way. */
  static async to(port: number, delayMs = 0): Promise<CuttingRelay> {
    const relay = new CuttingRelay(port, delayMs);
    relay.#server.listen(0, "127.0.0.1");
    await once(relay.#server, "listening");
    return relay;
  }

  #filter(): Transform {
    return new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        done(null, this.swallows?.test(chunk.toString()) === true ? undefined : chunk);
      },
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Cuts all connections, and those that are made in so many milliseconds; returns how many there were. */
  cut(downMs = 0): number {
    this.#downUntil = performance.now() + downMs;
    const sockets = [...this.#sockets];
    for (const socket of sockets) socket.destroy();
    // Each has two ends.
    return Math.ceil(sockets.length / 2);
  }

  close(): void {
    this.cut();
    this.#server.close();
  }
}

function late(ms: number): Transform {
  return new Transform({
    // Each piece waits from when it came.
    readableHighWaterMark: 1 << 20,
    transform(chunk: Buffer, _encoding, done) {
      setTimeout(() => this.push(chunk), ms);
      done();
    },
    flush(done) {
      setTimeout(done, ms);
    },
  });
}
