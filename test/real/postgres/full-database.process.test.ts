/** A database whose disk is full: each write is refused with the state that PostgreSQL reports then. */
import assert from "node:assert/strict";
import { after, before, test, type TestContext } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { Launcher } from "../../cli/launch.ts";
import { ServeProcess } from "../../server/serve-setting.ts";
import { startPostgres, type PostgresServer } from "../../servers/postgres.ts";
import { startServer, type ModelServer } from "../../servers/server.ts";
import { makeSetting, modelConfig } from "../../turn/setting.ts";
import { configureHome, newTables } from "./hosts.ts";

const FULL_DISK =
  /the disk of the database's server is full; free space there\. Nothing is lost that was acknowledged/;

const FURTHER_REFUSALS = 4;

let database: PostgresServer;
before(async () => {
  database = await startPostgres();
});
after(async () => await database.end());

interface FullDisk {
  /** Writes that were refused so far. */
  refusals(): Promise<number>;
  free(): Promise<void>;
}

/** Refuses all rows of the tables until `free`. */
async function fill(schema: string, tables: readonly string[]): Promise<FullDisk> {
  // A sequence counts on when the transaction is rolled back.
  await database.query(`create sequence ${schema}.refusals minvalue 0 start 0`);
  await database.query(`create function ${schema}.full() returns trigger language plpgsql as $$
    begin perform nextval('${schema}.refusals'); raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$`);
  for (const table of tables)
    await database.query(`create trigger full_disk before insert or update on ${schema}.${table}
      for each statement execute function ${schema}.full()`);
  return {
    refusals: async () => {
      const rows = await database.query<{ last_value: string }>(`select last_value from ${schema}.refusals`);
      return Number(rows[0]?.last_value);
    },
    free: async () => {
      await database.query(`drop function ${schema}.full() cascade`);
    },
  };
}

async function served(
  t: TestContext,
): Promise<{ host: ServeProcess; model: ModelServer; schema: string; answer(): void }> {
  const wait = Promise.withResolvers<void>();
  const model = await startServer({
    protocol: "openai-completions",
    script: async () => {
      await wait.promise;
      return { text: "the answer" };
    },
  });
  const settings = await newTables(database.url);
  const config = modelConfig("openai-completions", model.url);
  const setting = makeSetting({ ...config, store: { kind: "postgres", ...settings } });
  const host = await ServeProcess.start(setting);
  t.after(async () => {
    await host.kill();
    await model.close();
    setting.remove();
  });
  return { host, model, schema: settings.schema ?? "", answer: wait.resolve };
}

test("a turn during which the disk became full is continued when there is space, and its input is there once", async (t) => {
  const { host, model, schema, answer } = await served(t);
  const { body } = await host.call("POST", "/api/v1/sessions/work/turns", { prompt: "the question" });
  const id = String(body["id"]);
  while (model.requests.length === 0) await pause(10);
  const disk = await fill(schema, ["chunks", "sessions", "work", "events"]);
  answer();
  const refused = await host.call("POST", "/api/v1/sessions/other/turns", { prompt: "another question" });
  assert.equal(refused.status, 507);
  assert.match(JSON.stringify(refused.body), FULL_DISK);
  assert.match(JSON.stringify(refused.body), /store_full/);
  const refusals = await disk.refusals();
  // The turn fails, and is tried again several times.
  while ((await disk.refusals()) < refusals + FURTHER_REFUSALS) await pause(50);
  await disk.free();
  const ended = await host.ended(id);
  assert.deepEqual([ended["outcome"], ended["error"]], ["completed", undefined]);
  const entries = await host.call("GET", "/api/v1/sessions/work/entries?limit=50");
  const texts = JSON.stringify(entries.body);
  assert.equal(texts.split("the question").length - 1, 1);
  assert.equal(texts.split("the answer").length - 1, 1);
});

test("a command names the full disk and what to do", async (t) => {
  const settings = await newTables(database.url);
  const user = new Launcher();
  t.after(() => user.remove());
  configureHome(user.env.PAGURUS_HOME, settings);
  const disk = await fill(settings.schema ?? "", ["chunks", "sessions"]);
  const refused = await user.run(["run", "hello"]);
  assert.notEqual(refused.code, 0);
  assert.match(refused.err, FULL_DISK);
  await disk.free();
  assert.equal((await user.run(["run", "hello"])).code, 0);
});
