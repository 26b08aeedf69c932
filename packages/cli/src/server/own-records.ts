import { resolveHome } from "@pagurus/core/config/config-paths";
import { loadConfig } from "@pagurus/core/config/load-config";
import { openServerDatabase } from "@pagurus/inbox/server-database";
import type { Awaitable } from "@pagurus/inbox/inbox";
import { openRecords, type ServerRecords } from "@pagurus/server/server-records";
import type { Cli } from "../cli.ts";

/** Works with the jobs and tokens of this home's server, whether it runs or not. Throws the errors of `openRecords`, `config_invalid`. */
export async function withRecords<T>(cli: Cli, work: (records: ServerRecords) => Awaitable<T>): Promise<T> {
  const { env } = cli;
  const home = resolveHome(env);
  const { store } = loadConfig({ home }).config;
  const db = openServerDatabase(home);
  try {
    const records = await openRecords(db, { store, env });
    try {
      return await work(records);
    } finally {
      await records.close();
    }
  } finally {
    db.close();
  }
}
