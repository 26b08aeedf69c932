/** `bench hosts`: what sessions in PostgreSQL cost over the embedded store, near and far, in small tables and in large ones. */
import { startPostgres, type PostgresServer } from "../../test/servers/postgres.ts";
import { startServer } from "../../test/servers/server.ts";
import { newTables } from "../../test/real/postgres/hosts.ts";
import { partRows, withTarget, type BenchOptions, type BenchRow } from "../report.ts";
import { atOnceRows } from "./at-once.ts";
import { delayingProxy } from "./delaying-proxy.ts";
import { appendRows, entryRows, sessionRows } from "./tables.ts";
import { interleaved, measuredHost, quantile } from "./turns.ts";

export const parts = ["turns", "at-once", "appends", "entries", "sessions"];

/** Of the network between host and database, ms. */
const ROUND_TRIPS = [1, 20];

async function turnRows(server: PostgresServer, modelUrl: string, rounds: number): Promise<BenchRow[]> {
  const proxies = await Promise.all(ROUND_TRIPS.map((ms) => delayingProxy(server.url, ms)));
  const unsynced = `${server.url}?options=${encodeURIComponent("-c synchronous_commit=off")}`;
  const urls = [server.url, unsynced, ...proxies.map(({ url }) => url)];
  const hosts = [await measuredHost(modelUrl)];
  try {
    for (const url of urls) {
      // Hosts that share sessions would fetch, at each turn, what the others wrote.
      const { schema } = await newTables(server.url);
      hosts.push(await measuredHost(modelUrl, { kind: "postgres", schema, url }));
    }
    const p50 = (await interleaved(hosts, rounds)).map((times) => quantile(times, 0.5));
    const [embedded = 0, postgres = 0, free = 0, ...far] = p50;
    const ms = (measure: string, value: number): BenchRow => ({ measure, value, unit: "ms" });
    return [
      ms("turn, embedded store, p50", embedded),
      ms("turn, PostgreSQL, p50", postgres),
      withTarget(ms("added by PostgreSQL without its own fsync, p50", free - embedded), "<=", 10),
      ms("added by PostgreSQL's own fsync, p50", postgres - free),
      ...far.map((value, at) =>
        ms(`added, ${ROUND_TRIPS[at]} ms round trip to the database, p50`, value - embedded),
      ),
    ];
  } finally {
    for (const host of hosts) await host.close();
    for (const proxy of proxies) await proxy.close();
  }
}

export async function run({ quick, only, log }: BenchOptions): Promise<BenchRow[]> {
  const model = await startServer({ protocol: "openai-completions", script: async () => ({ text: "ok" }) });
  const server = await startPostgres();
  const jobs: Record<string, () => Promise<BenchRow[]>> = {
    turns: () => turnRows(server, model.url, quick ? 20 : 100),
    "at-once": () =>
      atOnceRows(server, model.url, quick ? { sessions: 20, turns: 1 } : { sessions: 100, turns: 3 }),
    appends: () => appendRows(server, quick ? 1_000 : 20_000),
    entries: () => entryRows(server, 1_000, quick ? 10_000 : 1_000_000),
    sessions: () => sessionRows(server, 100, quick ? 1_000 : 100_000),
  };
  try {
    return await partRows(jobs, { log, ...(only === undefined ? {} : { only }) });
  } finally {
    await server.end();
    await model.close();
  }
}
