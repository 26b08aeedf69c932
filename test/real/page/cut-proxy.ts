/** A way to a server that a test can cut: while it is cut no connection is made, and those that were open are lost. */
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

export interface CutProxy {
  url: string;
  cut(): void;
  join(): void;
  close(): Promise<void>;
}

/** `port`: of the server on 127.0.0.1, asked for at each connection. */
export async function startCutProxy(port: () => number): Promise<CutProxy> {
  const open = new Set<Socket>();
  let isCut = false;
  const keep = (socket: Socket): Socket => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    // A lost connection is what the test is about.
    socket.on("error", () => socket.destroy());
    return socket;
  };
  const proxy = createServer((client) => {
    keep(client);
    if (isCut) {
      client.destroy();
      return;
    }
    const server = keep(connect(port(), "127.0.0.1"));
    client.pipe(server).pipe(client);
    client.once("close", () => server.destroy());
    server.once("close", () => client.destroy());
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    cut() {
      isCut = true;
      for (const socket of open) socket.destroy();
    },
    join() {
      isCut = false;
    },
    async close() {
      isCut = true;
      for (const socket of open) socket.destroy();
      proxy.close();
      await once(proxy, "close");
    },
  };
}
