/** A reverse proxy that has a server below a path of its own, and removes that path before it passes a request on. */
import { once } from "node:events";
import { createServer, request as send } from "node:http";
import type { AddressInfo } from "node:net";

export interface PrefixProxy {
  /** With the path, for example `http://127.0.0.1:40123/tools/pagurus`. */
  url: string;
  /** Paths that were asked for and do not begin with the prefix. */
  outside: string[];
  close(): Promise<void>;
}

export async function startPrefixProxy(target: string, prefix: string): Promise<PrefixProxy> {
  const outside: string[] = [];
  const { hostname, port } = new URL(target);
  const proxy = createServer((request, response) => {
    const path = request.url ?? "";
    if (!path.startsWith(`${prefix}/`)) {
      outside.push(path);
      response.writeHead(404).end();
      return;
    }
    const { method, headers } = request;
    const passed = send({ hostname, port, method, path: path.slice(prefix.length), headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
      answer.on("error", () => response.destroy());
    });
    passed.on("error", () => response.destroy());
    response.on("close", () => passed.destroy());
    request.on("error", () => passed.destroy());
    request.pipe(passed);
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}${prefix}`,
    outside,
    close: async () => {
      proxy.closeAllConnections();
      proxy.close();
      await once(proxy, "close");
    },
  };
}
