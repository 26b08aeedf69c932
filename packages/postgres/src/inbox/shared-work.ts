/** Opens the inbox that several hosts share. */
import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { attempt } from "@pagurus/core/data/attempt";
import type { Logger } from "@pagurus/core/platform/log";
import { Database } from "../connections.ts";
import { targetOf, type PostgresSettings } from "../settings.ts";
import type { WorkStore } from "@pagurus/inbox/work-store";
import { hostName } from "./dead-hosts.ts";
import { SharedApprovals } from "./shared-approvals.ts";
import { SharedEvents } from "./shared-events.ts";
import { SharedInbox } from "./shared-inbox.ts";
import { WorkFeed } from "./work-feed.ts";

/** How long events may take to be stored when the server stops, ms. */
const CLOSE_MS = 5_000;

const CONNECTIONS = 5;
const STATEMENT_MS = 30_000;

export interface SharedPlace {
  /** Stays open when the work is closed. */
  database: Database;
  home: string;
}

/** The connections for what a server keeps beside its sessions: work, jobs, tokens. Throws `config_invalid`, `credential_missing`. */
export function serverDatabase(
  settings: PostgresSettings,
  env: Readonly<Record<string, string | undefined>>,
): Database {
  return new Database(targetOf(settings, env), { connections: CONNECTIONS, statementMs: STATEMENT_MS });
}

/** Names the host's folder, so that a restarted server takes up its own work at once. */
function homeId(home: string): string {
  const file = join(home, "server", "host-id");
  const known = attempt(() => readFileSync(file, "utf8").trim());
  if (known !== undefined && /^[0-9a-f]{32}$/.test(known)) return known;
  const id = randomBytes(16).toString("hex");
  mkdirSync(join(home, "server"), { recursive: true, mode: 0o700 });
  writeFileSync(file, `${id}\n`, { mode: 0o600 });
  return id;
}

/** Throws `store_read_failed`, `store_write_failed`. */
export async function openSharedWork(place: SharedPlace, logger: Logger): Promise<WorkStore> {
  const { database } = place;
  const home = homeId(place.home);
  const host = await hostName(database);
  const held = new Set<string>();
  const feed = new WorkFeed({ database, host, held, logger });
  await feed.prepare();
  await database.rows(
    "store_write_failed",
    "INSERT INTO {s}.counters (events) VALUES (0) ON CONFLICT DO NOTHING",
    [],
  );
  // One server works in a folder at a time: an earlier one has ended.
  await database.rows(
    "store_write_failed",
    "UPDATE {s}.work SET claim_until = NULL, host = NULL WHERE tenant = current_user AND home = $1 AND state <> 'ended'",
    [home],
  );
  const now = Date.now;
  const events = new SharedEvents({ database, feed, host });
  const inbox = new SharedInbox({ database, feed, events, host, home, held, now });
  const approvals = new SharedApprovals({ database, feed, events, host, now });
  const close = async (): Promise<void> => {
    await events.close(CLOSE_MS);
    await inbox.close();
    feed.close();
  };
  return { inbox, events, approvals, close };
}
