/** Stores of several hosts on one database. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { SessionStore } from "../../../packages/contract/src/session/store.ts";
import { withDatabase } from "../../../packages/postgres/src/connections.ts";
import { postgresStores } from "../../../packages/postgres/src/postgres-store.ts";
import { createTables } from "../../../packages/postgres/src/schema/create-tables.ts";
import { targetOf, type PostgresSettings } from "../../../packages/postgres/src/settings.ts";

/** Opens the store of one host. */
export function openHost(agentDir: string, settings: PostgresSettings): SessionStore {
  const loadImporter = () => import("../../../packages/importers/src/sessions/import-file.ts");
  return postgresStores(settings)({ agentDir, agentId: "main", loadImporter });
}

let schemas = 0;

/** Settings of new tables. */
export async function newTables(url: string, lease?: number): Promise<PostgresSettings> {
  const schema = `test_${(schemas += 1)}`;
  await withDatabase(targetOf({ url, schema }), "store_write_failed", async (db) =>
    createTables(db, { schema }),
  );
  return { url, schema, lease };
}

/** A host with a folder of its own, which ends with the test. */
export function newHost(t: TestContext, settings: PostgresSettings): SessionStore & { folder: string } {
  const folder = mkdtempSync(join(tmpdir(), "pagurus-host-"));
  const store = openHost(folder, settings);
  t.after(() => {
    store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return Object.assign(store, { folder });
}

/** Writes the configuration of a home whose sessions are in these tables. */
export function configureHome(home: string, settings: PostgresSettings): void {
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const config = { session: { scope: "main" }, store: { kind: "postgres", ...settings } };
  writeFileSync(join(home, "pagurus.json"), JSON.stringify(config), { mode: 0o600 });
}
