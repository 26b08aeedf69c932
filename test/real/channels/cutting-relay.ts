/** A relay between a channel and its server, whose connections a test cuts. */
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";

export class CuttingRelay {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #downUntil = 0;

  private constructor(port: number) {
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
        from.pipe(to);
      }
    });
  }

  static async to(port: number): Promise<CuttingRelay> {
    const relay = new CuttingRelay(port);
    relay.#server.listen(0, "127.0.0.1");
    await once(relay.#server, "listening");
    return relay;
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
