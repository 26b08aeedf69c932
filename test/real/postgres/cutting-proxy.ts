/** A way to the database that loses the answer of a statement: it was done, and its host cannot know that. */
import { once } from "node:events";
import { connect, createServer, type AddressInfo } from "node:net";
import type { TestContext } from "node:test";

export interface CuttingProxy {
  /** The database's address through the proxy. */
  url: string;
  /** Cuts the connection in place of the answer to the next statement that has this text. */
  cutAfter(text: string): void;
  /** Answers that were lost so far. */
  readonly lost: number;
}

export async function cuttingProxy(t: TestContext, url: string): Promise<CuttingProxy> {
  const at = new URL(url);
  const target = { host: at.hostname, port: Number(at.port) };
  let wanted: string | undefined;
  let lost = 0;
  const server = createServer((client) => {
    const upstream = connect(target);
    let isDoomed = false;
    client.on("data", (bytes: Buffer) => {
      if (wanted !== undefined && bytes.includes(wanted)) {
        isDoomed = true;
        wanted = undefined;
      }
      upstream.write(bytes);
    });
    upstream.on("data", (bytes: Buffer) => {
      if (!isDoomed) return void client.write(bytes);
      lost += 1;
      upstream.destroy();
    });
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on("error", () => one.destroy());
      one.on("close", () => other.destroy());
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  at.port = String((server.address() as AddressInfo).port);
  return {
    url: at.href,
    cutAfter: (text) => (wanted = text),
    get lost() {
      return lost;
    },
  };
}
