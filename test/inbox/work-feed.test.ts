/** What a host that listens for the others' work keeps while the database is away. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import pg from "pg";
import { PagurusError } from "../../packages/contract/src/errors.ts";
import { WorkFeed } from "../../packages/postgres/src/inbox/work-feed.ts";
import { silentLogger } from "../../packages/core/src/platform/log.ts";
import type { Database } from "../../packages/postgres/src/connections.ts";
import { freePort } from "../server/serve-setting.ts";
import { until } from "../runner/until.ts";
import { turns } from "../runner/loop-turns.ts";

const TRIES = 4;

function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
}

async function awayDatabase(): Promise<Database> {
  const url = `postgres://127.0.0.1:${await freePort()}/none`;
  const rows = (): Promise<never> =>
    Promise.reject(new PagurusError("store_read_failed", "The database does not answer."));
  return { target: { url, schema: "s", leaseMs: 3_000 }, rows } as unknown as Database;
}

test("a host that tries to reach its database again and again keeps nothing of a failed try", async (t) => {
  const clients: WeakRef<object>[] = [];
  // Not a mock, which keeps what it is called on.
  const { connect } = pg.Client.prototype;
  pg.Client.prototype.connect = function (this: pg.Client, ...values: unknown[]): Promise<pg.Client> {
    clients.push(new WeakRef(this));
    return Reflect.apply(connect, this, values) as Promise<pg.Client>;
  } as typeof connect;
  t.after(() => (pg.Client.prototype.connect = connect));
  const nothing = (): void => undefined;
  const listener = { look: nothing, left: nothing, lost: nothing, events: nothing, stored: nothing };
  const feed = new WorkFeed({
    database: await awayDatabase(),
    host: "u1",
    held: new Set(),
    logger: silentLogger,
  });
  feed.start({ ...listener, answers: nothing });
  t.after(() => feed.close());
  await until(() => clients.length >= TRIES);
  await turns();
  collectGarbage();
  const kept = clients.filter((client) => client.deref() !== undefined).length;
  assert.ok(kept <= 1, `${kept} of ${clients.length} connections are kept`);
});
