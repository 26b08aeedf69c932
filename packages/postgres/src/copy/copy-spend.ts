/** Costs of an agent: sums by source, of which each side takes the greater ones. Nothing is counted twice, however often it is copied. */
import { SESSION } from "@pagurus/host/stores/files/spend/spend-scopes";
import { SpendLedger } from "@pagurus/host/stores/files/spend/spend-ledger";
import { quoted, type Queries } from "../connections.ts";

export interface SpendCopy {
  db: Queries;
  schema: string;
  agent: string;
  agentDir: string;
}

/** Days, and these sessions. Throws what the database throws, `store_read_failed`. */
export async function spendTo(
  { db, schema, agent, agentDir }: SpendCopy,
  ids: readonly string[],
): Promise<void> {
  for (const [scope, sums] of new SpendLedger(agentDir).sums(ids))
    for (const [source, cost] of sums)
      await db.query(
        `insert into ${quoted(schema)}.spend as p (agent, scope, source, cost) values ($1, $2, $3, $4)
         on conflict (tenant, agent, scope, source) do update set cost = excluded.cost where excluded.cost > p.cost`,
        [agent, scope, source, cost],
      );
}

/** The same into the ledger of this machine. Throws what the database throws, `store_read_failed`, `store_write_failed`. */
export async function spendFrom(
  { db, schema, agent, agentDir }: SpendCopy,
  ids: readonly string[],
): Promise<void> {
  const { rows } = await db.query<{ scope: string; source: string; cost: number }>(
    `select scope, source, cost from ${quoted(schema)}.spend
      where tenant = current_user and agent = $1 and (scope ~ '^day [0-9]{4}-[0-9]{2}-[0-9]{2}$' or scope = any($2)) order by scope, source`,
    [agent, ids.map((id) => `${SESSION}${id}`)],
  );
  const ledger = new SpendLedger(agentDir);
  for (const { scope, source, cost } of rows) ledger.take(scope, source, cost);
}
