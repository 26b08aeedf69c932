/** Tables that a newer program has made: an older one refuses in one sentence, by every entry, before it writes. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Launcher } from "../../cli/launch.ts";
import { startPostgres, type PostgresServer } from "../../servers/postgres.ts";
import { SCHEMA_VERSION } from "../../../packages/postgres/src/schema/tables.ts";
import { configureHome, newTables } from "./hosts.ts";

const NEWER = SCHEMA_VERSION + 1;
const REFUSED = new RegExp(
  `^pagurus: The tables in the schema \\w+ are of version ${NEWER}, and this program knows ${SCHEMA_VERSION}; update pagurus\\. \\[store_write_failed\\]\\n$`,
);

let server: PostgresServer;
let user: Launcher;
let schema = "";
before(async () => {
  server = await startPostgres();
  const settings = await newTables(server.url);
  schema = settings.schema ?? "";
  user = new Launcher();
  configureHome(user.env.PAGURUS_HOME, settings);
  Object.assign(user.env, { PAGURUS_STORE_URL: server.url });
  assert.equal((await user.run(["run", "hello"])).code, 0);
});
after(async () => {
  user.remove();
  await server.end();
});

async function rows(): Promise<unknown> {
  const tables = [
    "sessions",
    "chunks",
    "receipts",
    "bindings",
    "spend",
    "work",
    "events",
    "jobs",
    "tokens",
    "holds",
  ];
  const counts = tables.map(
    (table) => `(select count(*) || ' ' || coalesce(sum(hashtext(t::text)), 0) from ${schema}.${table} t)`,
  );
  return server.query(`select ${counts.join(", ")}`);
}

async function marked(needs: number | null, work: () => Promise<void>): Promise<void> {
  await server.query(`insert into ${schema}.migrations (version, needs) values ($1, $2)`, [NEWER, needs]);
  try {
    await work();
  } finally {
    await server.query(`delete from ${schema}.migrations where version = $1`, [NEWER]);
  }
}

test("every entry refuses tables that need a newer program, and writes nothing", async () => {
  const before = await rows();
  await marked(null, async () => {
    for (const args of [
      ["run", "hello again"],
      ["sessions", "list"],
      ["sessions", "delete", "main", "--yes"],
      ["store", "init", "--schema", schema],
      ["store", "status", "--schema", schema],
      ["store", "copy", "--from", server.url, "--schema", schema],
      ["store", "copy", "--to", server.url, "--schema", schema],
      ["jobs", "list"],
      ["token", "list"],
      ["serve", "--port", "0"],
    ]) {
      const { code, err, out } = await user.run(args);
      assert.notEqual(code, 0, `${args.join(" ")}: ${out}`);
      assert.match(err, REFUSED, args.join(" "));
    }
  });
  assert.deepEqual(await rows(), before);
});

test("newer tables that this program may use are used, and not changed by it", async () => {
  await marked(SCHEMA_VERSION, async () => {
    const run = await user.run(["run", "hello again"]);
    assert.equal(run.code, 0, run.err);
    assert.match((await user.run(["store", "init", "--schema", schema])).err, REFUSED);
  });
});

test("a long-lived program refuses from its next connection on", async () => {
  const { createPagurus } = await import("../../../packages/app/src/app.ts");
  const pagurus = await createPagurus({ home: user.env.PAGURUS_HOME, env: user.env });
  try {
    assert.ok(pagurus.sessions().find("main") ?? pagurus.sessions().list().length > 0);
    await marked(null, async () => {
      await server.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'pagurus'",
      );
      assert.throws(() => pagurus.sessions().list(), { code: "store_write_failed" });
    });
  } finally {
    await pagurus.close();
  }
});
