/** A request that was answered since its token ended, while its body was still on its way, keeps no connection open. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { test } from "node:test";
import { OpenByToken } from "../../packages/server/src/access/open-by-token.ts";
import { openRequest } from "../../packages/server/src/access/open-requests.ts";

test("a connection is closed with its token, though the request was answered and its body never ends", async () => {
  const valid = new Set<string>();
  const opened = new OpenByToken({ valid: () => valid });
  const tokenId = "0123456789ab";
  const server = createServer({ keepAliveTimeout: 0, requestTimeout: 0 }, (_request, response) => {
    openRequest(opened, tokenId, response).addEventListener("abort", () => response.writeHead(401).end());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  try {
    let text = "";
    socket.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
    socket.on("error", () => undefined);
    socket.write('POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 40\r\n\r\n{"prompt":');
    await once(socket, "close");
    assert.match(text, /^HTTP\/1\.1 401 /);
  } finally {
    socket.destroy();
    opened.close();
    server.close();
  }
});
