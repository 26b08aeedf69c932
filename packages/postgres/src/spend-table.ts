/** What each source has spent in a scope. A sum only grows, so one that arrives twice, or late, changes nothing. */
import { isCut, type Database } from "./connections.ts";

const REPORT = `INSERT INTO {s}.spend AS p (agent, scope, source, cost)
 SELECT $1, $2, source, cost FROM unnest($3::text[], $4::float8[]) AS sums(source, cost)
 ON CONFLICT (tenant, agent, scope, source) DO UPDATE SET cost = excluded.cost WHERE excluded.cost > p.cost`;

const SUMS = `SELECT source, cost FROM {s}.spend WHERE tenant = current_user AND agent = $1 AND scope = $2`;

export interface SpendPlace {
  agent: string;
  scope: string;
}

/** US dollars, by source. */
export type SpendSums = [source: string, cost: number][];

export class SpendTable {
  readonly #database: Database;
  readonly #writing = new Set<Promise<void>>();

  constructor(database: Database) {
    this.#database = database;
  }

  /** Throws `store_write_failed`; a later report has all of it. */
  async report({ agent, scope, sums }: SpendPlace & { sums: SpendSums }): Promise<void> {
    const values = [agent, scope, sums.map(([source]) => source), sums.map(([, cost]) => cost)];
    const written = this.#database.rows("store_write_failed", REPORT, values).then(() => undefined);
    this.#writing.add(written);
    try {
      await written;
    } finally {
      this.#writing.delete(written);
    }
  }

  /** Throws `store_read_failed` at the second cut connection: the caller waits, and has its own sums. */
  async sums({ agent, scope }: SpendPlace): Promise<SpendSums> {
    for (let attempt = 1; ; attempt += 1)
      try {
        const rows = await this.#database.once<{ source: string; cost: number }>(SUMS, [agent, scope]);
        return rows.map(({ source, cost }) => [source, cost]);
      } catch (error) {
        if (attempt > 1 || !isCut(error)) throw this.#database.failure("store_read_failed", error);
      }
  }

  /** Resolves when no report is on its way. */
  async settle(): Promise<void> {
    await Promise.allSettled(this.#writing);
  }
}
