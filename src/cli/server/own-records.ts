import { resolveHome } from "../../config/config-paths.ts";
import { loadConfig } from "../../config/load-config.ts";
import { openServerDatabase } from "../../inbox/server-database.ts";
import type { Awaitable } from "../../inbox/inbox.ts";
import { openRecords, type ServerRecords } from "../../server/server-records.ts";
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
