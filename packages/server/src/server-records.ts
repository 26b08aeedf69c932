/** Where a server keeps its jobs and tokens: in its own database, or in the one that several hosts share. */
import type { StoreConfig } from "@pagurus/core/config/config-types";
import type { Database } from "@pagurus/core/data/sqlite";
import type { Logger } from "@pagurus/core/platform/log";
import { HANDED_OVER, HANDING_OVER, type JobRow, type Jobs } from "@pagurus/inbox/schedule/jobs";
import { JobStore } from "@pagurus/inbox/schedule/job-store";
import { SharedJobs } from "@pagurus/postgres/shared-jobs";
import type { Database as SharedDatabase } from "@pagurus/postgres/connections";
import type { PostgresSettings } from "@pagurus/postgres/settings";
import { BrowserLogins } from "./access/browser-logins.ts";
import { SharedTokens } from "./access/shared-tokens.ts";
import { TokenStore } from "./access/token-store.ts";
import { TokensAndLogins } from "./access/tokens-and-logins.ts";
import type { TokenRow, Tokens } from "./access/tokens.ts";
import type { SharedCooldowns } from "./shared-cooldowns.ts";

export interface ServerRecords {
  jobs: Jobs;
  /** Also the logins of browsers. */
  tokens: Tokens;
  /** Those of this server, also if its tokens are shared. */
  logins: BrowserLogins;
  /** Connections to the database that several hosts share; absent where there is none. */
  database?: SharedDatabase;
  /** Begins to exchange the cooldowns of models with the other hosts; absent where there are none. Ends with `close`. */
  shareCooldowns?(host: { home: string; logger: Logger }): Promise<void>;
  close(): Promise<void>;
}

export interface RecordsPlace {
  store: StoreConfig | undefined;
  env: Readonly<Record<string, string | undefined>>;
}

/** `db` is the server's own. Throws `store_read_failed`, `store_write_failed`, `config_invalid`, `credential_missing`. */
export async function openRecords(db: Database, { store, env }: RecordsPlace): Promise<ServerRecords> {
  if (store?.kind === "postgres") return sharedRecords(db, store, env);
  const logins = new BrowserLogins(db);
  const tokens = new TokensAndLogins(new TokenStore(db), logins);
  return { jobs: new JobStore(db), tokens, logins, close: async () => undefined };
}

async function sharedRecords(
  db: Database,
  settings: PostgresSettings,
  env: RecordsPlace["env"],
): Promise<ServerRecords> {
  const { serverDatabase } = await import("@pagurus/postgres/inbox/shared-work");
  const database = serverDatabase(settings, env);
  const records = { jobs: new SharedJobs(database), tokens: new SharedTokens(database) };
  try {
    await moveOwn(db, records);
  } catch (error) {
    await database.end();
    throw error;
  }
  let cooldowns: SharedCooldowns | undefined;
  const shareCooldowns = async (host: { home: string; logger: Logger }): Promise<void> => {
    const { SharedCooldowns: Cooldowns } = await import("./shared-cooldowns.ts");
    cooldowns = new Cooldowns({ ...host, database });
  };
  const close = async (): Promise<void> => {
    await cooldowns?.stop();
    await database.end();
  };
  const logins = new BrowserLogins(db);
  const tokens = new TokensAndLogins(records.tokens, logins);
  return { jobs: records.jobs, tokens, logins, database, shareCooldowns, close };
}

/** What the host had before it shared its store; what is revoked or removed for all hosts must not come back with the embedded store. */
async function moveOwn(
  db: Database,
  { jobs, tokens }: { jobs: SharedJobs; tokens: SharedTokens },
): Promise<void> {
  const ownTokens = db.all<TokenRow>("SELECT * FROM tokens");
  const ownJobs = db.all<JobRow>("SELECT * FROM jobs");
  if (ownTokens.length > 0) await tokens.adopt(ownTokens);
  // One that a copy took along is there already, or was removed there.
  const missing = ownJobs.filter(({ paused }) => paused !== HANDED_OVER);
  const active = missing.map((row) => (row.paused === HANDING_OVER ? { ...row, paused: 0 } : row));
  if (active.length > 0) await jobs.adopt(active);
  db.transaction(() => {
    for (const { id } of ownTokens) db.run("DELETE FROM tokens WHERE id = ?", id);
    for (const { id } of ownJobs) db.run("DELETE FROM jobs WHERE id = ?", id);
  });
}
