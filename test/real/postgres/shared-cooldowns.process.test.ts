/** Cooldowns of models at hosts that share one database. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test, type TestContext } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { openServerDatabase } from "../../../packages/inbox/src/server-database.ts";
import { silentLogger } from "../../../packages/core/src/platform/log.ts";
import { openRecords } from "../../../packages/server/src/server-records.ts";
import { ModelCooldowns } from "../../../packages/host/src/stores/files/model-cooldowns.ts";
import { startPostgres, type PostgresServer } from "../../servers/postgres.ts";
import { newTables } from "./hosts.ts";

let database: PostgresServer;
before(async () => {
  database = await startPostgres();
});
after(async () => await database.end());

const MODEL = { ref: "test/model", provider: "test" };

/** The cooldowns of a host's folder, exchanged with the others as its server does. */
async function host(t: TestContext, schema: string): Promise<ModelCooldowns> {
  const home = mkdtempSync(join(tmpdir(), "pagurus-cooling-"));
  const db = openServerDatabase(home);
  const records = await openRecords(db, { store: { kind: "postgres", url: database.url, schema }, env: {} });
  await records.shareCooldowns?.({ home, logger: silentLogger });
  t.after(async () => {
    await records.close();
    db.close();
    rmSync(home, { recursive: true, force: true });
  });
  return new ModelCooldowns({ home, logger: silentLogger });
}

test("a model that failed at one host is cooling at the others, until it answers one of them", async (t) => {
  const { schema = "" } = await newTables(database.url);
  const [one, other] = [await host(t, schema), await host(t, schema)];
  one.failed(MODEL.ref, "rate_limit", 300_000);
  while (other.of(MODEL) === undefined) await pause(20);
  assert.deepEqual(other.list(), one.list());
  const third = await host(t, schema);
  while (third.of(MODEL) === undefined) await pause(20);
  third.failed(MODEL.provider, "overloaded", undefined);
  while (one.list().length < 2) await pause(20);
  other.succeeded(MODEL);
  for (const each of [one, other, third])
    while (each.list().some(({ target }) => target === MODEL.ref)) await pause(20);
});
