import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, get, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { OpenByToken } from "../../packages/server/src/access/open-by-token.ts";
import { InFlight } from "../../packages/server/src/access/in-flight.ts";
import { RateLimits } from "../../packages/server/src/access/rate-limits.ts";
import { OpenStreams } from "../../packages/server/src/open-streams.ts";
import { OWNER } from "../../packages/contract/src/host/authority.ts";
import { until } from "../runner/until.ts";

const CALLER = { ...OWNER, tokenId: "t", scope: "read" } as const;

test("an event stream whose client left before it opened takes no slot and ends", async () => {
  const limits = new RateLimits({ perSecond: 1_000, burst: 1_000, openStreams: 2 });
  const opened = new OpenByToken({ valid: (ids) => new Set(ids) });
  const streams = new OpenStreams(limits, new InFlight(), opened);
  let ends = 0;
  let served = 0;
  /** The clients that leave before they are served. */
  const gone = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const server = createServer((_request, out) => {
    const serve = async (): Promise<void> => {
      // As long as a look into a slow database.
      await gone[served]?.promise;
      served += 1;
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
      const [, out] = (await once(server, "request")) as [unknown, ServerResponse];
      const closed = once(out, "close");
      asked.destroy();
      await closed;
      gone[count - 1]?.resolve();
      await until(() => ends === count);
      assert.equal(ends, count);
    }
    assert.deepEqual([streams.count, opened.count()], [0, 0]);
    const stayed = get({ port, path: "/" });
    const [answer] = (await once(stayed, "response")) as [{ statusCode: number }];
    assert.equal(answer.statusCode, 200);
    assert.equal(streams.count, 1);
    stayed.destroy();
    await until(() => streams.count <= 0);
  } finally {
    streams.close();
    opened.close();
    server.closeAllConnections();
    server.close();
  }
});
