/**
 * The cooldowns of models among hosts that share a database: what this host's file gained or lost since the last exchange is written there,
 * then the file gets what the others wrote. The file stays what turns read, so a turn never waits for the database.
 */
import { toPagurusError } from "@pagurus/contract/errors";
import { sleep } from "@pagurus/core/platform/deadline";
import type { Logger } from "@pagurus/core/platform/log";
import { ModelCooldowns, type KeptCooldown } from "@pagurus/host/stores/files/model-cooldowns";
import type { Database } from "@pagurus/postgres/connections";

/** Interval of exchanges, ms. */
const EXCHANGE_MS = 1_000;

interface CooldownRow {
  target: string;
  reason: string;
  failures: number;
  failed_at: number;
  until: number;
}

const FAILED = `INSERT INTO {s}.cooldowns AS c (target, reason, failures, failed_at, until)
 SELECT target, reason, failures, failed_at, until FROM json_populate_recordset(null::{s}.cooldowns, $1)
 ON CONFLICT (tenant, target) DO UPDATE SET reason = excluded.reason, failures = excluded.failures,
   failed_at = excluded.failed_at, until = excluded.until WHERE excluded.failed_at > c.failed_at`;
/** A failure that another host noted since stays. */
const ANSWERED = `DELETE FROM {s}.cooldowns AS c USING json_populate_recordset(null::{s}.cooldowns, $1) AS gone
 WHERE c.tenant = current_user AND c.target = gone.target AND c.failed_at <= gone.failed_at`;
const ALL_COOLDOWNS = `SELECT target, reason, failures, failed_at::float8 AS failed_at, until::float8 AS until FROM {s}.cooldowns
 WHERE tenant = current_user`;

export interface SharedCooldownsParts {
  database: Database;
  home: string;
  logger: Logger;
}

export class SharedCooldowns {
  readonly #database: Database;
  readonly #cooldowns: ModelCooldowns;
  readonly #logger: Logger;
  readonly #closing = new AbortController();
  readonly #running: Promise<void>;
  /** The last failures that both the file and the database had, ms since the epoch. */
  #known = new Map<string, number>();

  constructor({ database, home, logger }: SharedCooldownsParts) {
    this.#database = database;
    this.#logger = logger;
    this.#cooldowns = new ModelCooldowns({ home, logger });
    this.#running = this.#run();
  }

  async #run(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      // What was not exchanged is in the next exchange.
      await this.#exchange().catch((error: unknown) => {
        this.#logger.warn("model cooldowns not shared", { code: toPagurusError(error).code });
      });
      await sleep(EXCHANGE_MS, this.#closing.signal).catch(() => undefined);
    }
  }

  async #exchange(): Promise<void> {
    const own = this.#cooldowns.kept();
    await this.#report(own);
    const rows = await this.#database.rows<CooldownRow>("store_read_failed", ALL_COOLDOWNS, []);
    const shared = new Map(rows.map((row) => [row.target, keptOf(row)]));
    const failed = [...shared].filter(
      ([target, { failedAt }]) => failedAt > (own.get(target)?.failedAt ?? 0),
    );
    const answered = [...own].filter(([target]) => !shared.has(target));
    this.#cooldowns.take(
      new Map(failed),
      new Map(answered.map(([target, { failedAt }]) => [target, failedAt])),
    );
    this.#known = new Map([...shared].map(([target, { failedAt }]) => [target, failedAt]));
  }

  /** Failures and answers of this host since the last exchange. */
  async #report(own: ReadonlyMap<string, KeptCooldown>): Promise<void> {
    const failed = [...own].filter(([target, { failedAt }]) => this.#known.get(target) !== failedAt);
    const answered = [...this.#known].filter(([target]) => !own.has(target));
    const rows = failed.map(([target, kept]) => cooldownRow(target, kept));
    const gone = answered.map(([target, failed_at]) => ({ target, failed_at }));
    if (rows.length > 0) await this.#database.rows("store_write_failed", FAILED, [JSON.stringify(rows)]);
    if (gone.length > 0) await this.#database.rows("store_write_failed", ANSWERED, [JSON.stringify(gone)]);
  }

  async stop(): Promise<void> {
    this.#closing.abort();
    await this.#running;
  }
}

function keptOf({ reason, failures, failed_at, until }: CooldownRow): KeptCooldown {
  return { reason, failures, failedAt: failed_at, until };
}

function cooldownRow(target: string, { reason, failures, failedAt, until }: KeptCooldown): CooldownRow {
  return { target, reason, failures, failed_at: failedAt, until };
}
