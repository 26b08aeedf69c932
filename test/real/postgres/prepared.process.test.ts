import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Database } from "../../../packages/postgres/src/connections.ts";
import { targetOf } from "../../../packages/postgres/src/settings.ts";
import { newTables } from "./hosts.ts";
import { startPostgres, type PostgresServer } from "../../servers/postgres.ts";

let server: PostgresServer;
before(async () => {
  server = await startPostgres();
});
after(async () => await server.end());

/** How many statements the server keeps for the connection, after some that were repeated. */
async function keptBy(url: string): Promise<number> {
  const database = new Database(targetOf({ url }), { connections: 1 });
  try {
    for (let at = 0; at < 3; at += 1)
      assert.deepEqual(await database.once("SELECT $1::int AS n", [at]), [{ n: at }]);
    const [row] = await database.once<{ kept: number }>(
      "SELECT count(*)::int AS kept FROM pg_prepared_statements",
      [],
    );
    return row?.kept ?? -1;
  } finally {
    await database.end();
  }
}

test("a statement is prepared once for a connection to the server, and never through a pooler", async () => {
  assert.equal(await keptBy(server.url), 2);
  assert.equal(await keptBy(server.pooledUrl), 0);
});

test("a statement that the server has forgotten is sent again as a whole", async () => {
  const database = new Database(targetOf({ url: server.url }), { connections: 1 });
  try {
    await database.once("SELECT $1::int AS n", [1]);
    await database.once("SELECT $1::int AS n", [2]);
    await database.once("DEALLOCATE ALL", []);
    assert.deepEqual(await database.once("SELECT $1::int AS n", [3]), [{ n: 3 }]);
  } finally {
    await database.end();
  }
});

test("the rows of a tenant are found by the indexes, which begin with it", async () => {
  const { schema } = await newTables(server.url);
  const url = `${server.url}?options=${encodeURIComponent("-c enable_seqscan=off")}`;
  const database = new Database(targetOf({ url, schema }), { connections: 1 });
  try {
    const plan = await database.once<{ "QUERY PLAN": string }>(
      "EXPLAIN SELECT bytes FROM {s}.sessions WHERE tenant = current_user AND agent = $1 AND key = $2",
      ["main", "talk"],
    );
    assert.match(plan.map((row) => row["QUERY PLAN"]).join("\n"), /Index Cond: \(\(tenant = .*key = /);
  } finally {
    await database.end();
  }
});
