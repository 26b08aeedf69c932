/** A proxy that cuts connections: after a number of bytes of an answer, or before any of it. */
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";

export class CuttingProxy {
  readonly #server: Server;
  readonly #open = new Set<Socket>();
  /** How many bytes of answers each connection gets, in order; then all. */
  readonly cuts: number[];
  connections = 0;

  private constructor(target: number, cuts: number[]) {
    this.cuts = cuts;
    this.#server = createServer((client) => this.#pass(client, target));
  }

  static async start(target: number, cuts: number[]): Promise<CuttingProxy> {
    const proxy = new CuttingProxy(target, cuts);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  #pass(client: Socket, target: number): void {
    this.connections += 1;
    let left = this.cuts.shift() ?? Infinity;
    const server = connect(target, "127.0.0.1");
    this.#open.add(client);
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      one.on("error", () => other.destroy());
      one.on("close", () => other.destroy());
    }
    client.on("data", (chunk) => server.write(chunk));
    server.on("data", (chunk) => {
      client.write(chunk.subarray(0, Math.min(left, chunk.length)), () => {
        if (left <= 0) client.destroy();
      });
      left -= chunk.length;
    });
    client.on("close", () => this.#open.delete(client));
  }

  close(): void {
    for (const socket of this.#open) socket.destroy();
    this.#server.close();
  }
}
