/** How long work of a killed host waits until another host has it. */
import type { PostgresServer } from "../../servers/postgres.ts";
import type { FloodHosts } from "./flood-hosts.ts";

/** From now on the database itself notes when work begins or ends. */
export async function recordTimes(database: PostgresServer, schema: string): Promise<void> {
  await database.query(`create table ${schema}.times (work text, type text, at timestamptz)`);
  await database.query(
    `create function ${schema}.note_time() returns trigger language plpgsql as
     $$ begin insert into ${schema}.times values (new.work, new.type, clock_timestamp()); return new; end $$`,
  );
  await database.query(
    `create trigger note_time after insert on ${schema}.events for each row
     when (new.type in ('work.resumed', 'turn.started', 'work.ended')) execute function ${schema}.note_time()`,
  );
}

/**
 * From a kill to the moment when the turn starts again, ms, ascending: of kills after which the database was there and another host was
 * up for the whole time.
 */
export async function takeOvers(
  database: PostgresServer,
  schema: string,
  hosts: FloodHosts,
): Promise<number[]> {
  const rows = await database.query<{ work: string; type: string; at: number }>(
    `select work, type, (extract(epoch from at) * 1000)::float8 as at from ${schema}.times order by at`,
  );
  const times: number[] = [];
  for (const { work, at } of hosts.killed) {
    const next = rows.find((row) => row.work === work && row.at > at);
    if (next?.type !== "work.resumed") continue;
    const wasAway = hosts.away.some(({ from, to }) => from < next.at && to > at - 1_000);
    const wasUp = hosts.hosts.some(({ spans }) => spans.some(({ from, to }) => from <= at && to >= next.at));
    if (!wasAway && wasUp) times.push(next.at - at);
  }
  return times.toSorted((one, other) => one - other);
}
