/** The prober of `/health` asks nothing between its pause and its resumption, so that what is measured then counts as no answer's time. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { until } from "../runner/until.ts";
import { probeHealth } from "./fuzz-clients.ts";

test("a paused prober has no open question, and counts those after its resumption on their own", async (context) => {
  let asked = 0;
  let open = 0;
  const server = createServer((_, answer) => {
    asked += 1;
    open += 1;
    answer.on("close", () => (open -= 1));
    answer.end("ok\n");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const probe = await probeHealth({ url, child: process }, context.signal);
  try {
    await until(() => asked >= 2);
    const first = await probe.pause();
    assert.equal(first.asked, asked);
    assert.equal(first.failed, 0);
    await until(() => open === 0);
    const before = asked;
    probe.resume();
    await until(() => asked > before);
    const second = await probe.pause();
    assert.equal(second.asked, asked - before);
  } finally {
    await probe.end();
    server.closeAllConnections();
    server.close();
  }
});
