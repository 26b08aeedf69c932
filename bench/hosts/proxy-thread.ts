/** The thread of a delaying proxy: each byte arrives later, in its order. Sends its port. */
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { parentPort, workerData } from "node:worker_threads";
import type { ProxyTarget } from "./delaying-proxy.ts";

const { host, port, delayMs } = workerData as ProxyTarget;

function pass(from: Socket, to: Socket): void {
  from.on("data", (bytes: Buffer) => setTimeout(() => to.writable && to.write(bytes), delayMs));
  from.on("close", () => setTimeout(() => to.destroy(), delayMs));
  from.on("error", () => from.destroy());
}

const server = createServer({ noDelay: true }, (client) => {
  const database = connect({ host, port, noDelay: true });
  pass(client, database);
  pass(database, client);
});
server.listen(0, "127.0.0.1", () => parentPort?.postMessage((server.address() as AddressInfo).port));
