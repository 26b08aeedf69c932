/** A way to the database that loses the answer of a statement, which was done, or what comes after it; or that is cut. */
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import type { TestContext } from "node:test";

export interface CuttingProxy {
  /** The database's address through the proxy. */
  url: string;
  /** Cuts the connection in place of the answer to the next statement that has this text. */
  cutAfter(text: string): void;
  /** As `cutAfter`; then the database is away, with all its connections, until `comeBack`. */
  leaveAfter(text: string): void;
  comeBack(): void;
  /** Passes on nothing more of connections whose statements had this text; they stay open. */
  mute(text: string): void;
  /** Answers that were lost so far. */
  readonly lost: number;
}

export async function cuttingProxy(t: TestContext, url: string): Promise<CuttingProxy> {
  const at = new URL(url);
  const target = { host: at.hostname, port: Number(at.port) };
  let wanted: string | undefined;
  let leaves = false;
  let isAway = false;
  let muted: string | undefined;
  let lost = 0;
  const open = new Set<Socket>();
  const server = createServer((client) => {
    if (isAway) return void client.destroy();
    const upstream = connect(target);
    open.add(upstream).add(client);
    let isDoomed = false;
    let sent = "";
    client.on("data", (bytes: Buffer) => {
      sent += bytes.toString("latin1");
      if (wanted !== undefined && bytes.includes(wanted)) {
        isDoomed = true;
        wanted = undefined;
        isAway = leaves;
      }
      upstream.write(bytes);
    });
    upstream.on("data", (bytes: Buffer) => {
      if (muted !== undefined && sent.includes(muted)) return;
      if (!isDoomed) return void client.write(bytes);
      lost += 1;
      for (const each of isAway ? open : [upstream]) each.destroy();
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
    leaveAfter: (text) => {
      wanted = text;
      leaves = true;
    },
    comeBack: () => (isAway = leaves = false),
    mute: (text) => (muted = text),
    get lost() {
      return lost;
    },
  };
}
