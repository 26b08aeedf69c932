import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, get } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { test } from "node:test";
import { OpenByToken } from "../../packages/server/src/access/open-by-token.ts";
import { InFlight } from "../../packages/server/src/access/in-flight.ts";
import { RateLimits } from "../../packages/server/src/access/rate-limits.ts";
import { OpenStreams } from "../../packages/server/src/open-streams.ts";
import { OWNER } from "../../packages/contract/src/host/authority.ts";

const CALLER = { ...OWNER, tokenId: "t", scope: "read" } as const;

test("an event stream whose client left before it opened takes no slot and ends", async () => {
  const limits = new RateLimits({ perSecond: 1_000, burst: 1_000, openStreams: 2 });
  const opened = new OpenByToken({ valid: (ids) => new Set(ids) });
  const streams = new OpenStreams(limits, new InFlight(), opened);
  let ends = 0;
  const server = createServer((_request, out) => {
    const serve = async (): Promise<void> => {
      // As long as a look into a slow database.
      const left = once(out, "close");
      await Promise.race([left, pause(300)]);
      await pause(10);
      await streams.serve(CALLER, out, async function* source(signal) {
        yield { id: 1, type: "x", data: {} };
        await once(signal, "abort");
      });
      ends += 1;
    };
    void serve();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  try {
    for (let count = 1; count <= 2; count += 1) {
      const asked = get({ port, path: "/" });
      asked.on("error", () => undefined);
      await once(server, "request");
      asked.destroy();
      for (let tries = 0; tries < 200 && ends < count; tries += 1) await pause(10);
      assert.equal(ends, count);
    }
    assert.deepEqual([streams.count, opened.count()], [0, 0]);
    const stayed = get({ port, path: "/" });
    const [answer] = (await once(stayed, "response")) as [{ statusCode: number }];
    assert.equal(answer.statusCode, 200);
    assert.equal(streams.count, 1);
    stayed.destroy();
    while (streams.count > 0) await pause(10);
  } finally {
    streams.close();
    opened.close();
    server.closeAllConnections();
    server.close();
  }
});
