import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { after, before, test } from "node:test";
import pg from "pg";
import { startPostgres, type PostgresServer } from "../../servers/postgres.ts";

let server: PostgresServer;
before(async () => {
  server = await startPostgres();
});
after(async () => await server.end());

async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

test("the cluster syncs its writes, and pgbouncer lends connections by transaction", async () => {
  assert.deepEqual(await server.query("show fsync"), [{ fsync: "on" }]);
  // Two clients at a time are served by one connection to the server after the other.
  const pids = await withClient(server.pooledUrl, async (one) => {
    const pid = async (client: pg.Client) =>
      (await client.query<{ pid: number }>("select pg_backend_pid() pid")).rows[0]?.pid;
    return await withClient(server.pooledUrl, async (other) => [await pid(one), await pid(other)]);
  });
  assert.equal(pids[0], pids[1]);
});

test("what was committed is there after kill -9 and a start, and through pgbouncer again", async () => {
  await server.query("create table kept (word text)");
  await server.query("insert into kept values ('whole')");
  await server.stop("kill");
  await assert.rejects(server.query("select 1"), /ECONNREFUSED/);
  await server.start();
  assert.deepEqual(await server.query("select word from kept"), [{ word: "whole" }]);
  await server.stop();
  await server.start();
  const rows = await withClient(
    server.pooledUrl,
    async (client) => (await client.query("select * from kept")).rows,
  );
  assert.deepEqual(rows, [{ word: "whole" }]);
});

test("a role of its own logs in directly and through pgbouncer", async () => {
  const { url, pooledUrl } = await server.createRole("tenant_a");
  for (const place of [url, pooledUrl]) {
    const rows = await withClient(
      place,
      async (client) => (await client.query("select current_user me")).rows,
    );
    assert.deepEqual(rows, [{ me: "tenant_a" }]);
  }
});

test("an end removes the folder and every process", async () => {
  const other = await startPostgres();
  const [row] = await other.query<{ folder: string; pid: number }>(
    "select current_setting('data_directory') folder, pg_backend_pid() pid",
  );
  assert.ok(row && existsSync(row.folder));
  await other.end();
  assert.equal(existsSync(row.folder), false);
  assert.throws(() => process.kill(row.pid, 0), { code: "ESRCH" });
});
