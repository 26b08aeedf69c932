/** What the store itself does a second, what an entry takes on disk, and whether a turn costs the same in large tables. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SessionStore } from "../../packages/contract/src/session/store.ts";
import type { PostgresServer } from "../../test/servers/postgres.ts";
import { assistant, sayTurn, user } from "../../test/stores/files/fixtures.ts";
import { newTables, openHost } from "../../test/real/postgres/hosts.ts";
import { withPeer, withTarget, type BenchRow } from "../report.ts";
import { seedEntries, seedSessions } from "./seeded.ts";
import { quantile } from "./turns.ts";

const CWD = "/work";
/** Turns whose time is measured. */
const TURNS = 60;
/** As a turn reads it. */
const CONTEXT_BYTES = 64 * 1024;
/** How much more a turn may cost in large tables. */
const FLAT = 1.5;

interface BenchStore {
  store: SessionStore;
  schema: string;
  close(): void;
}

async function newStore(server: PostgresServer): Promise<BenchStore> {
  const folder = mkdtempSync(join(tmpdir(), "pagurus-bench-"));
  const settings = await newTables(server.url);
  const store = openHost(folder, settings);
  const close = (): void => {
    store.close();
    rmSync(folder, { recursive: true, force: true });
  };
  return { store, schema: settings.schema ?? "", close };
}

const named = (count: number): string => count.toLocaleString("en-US");

/** Adds entries, and waits until the database has them; `each`: after how many. */
function fill(store: SessionStore, entries: number, each: number): void {
  const writer = store.openWriter("filled", { cwd: CWD });
  const text = "What one says in an answer of usual length. ".repeat(5);
  for (let at = 0; at < entries; at += 2) {
    const turnId = `f${Math.floor(at / each)}`;
    writer.append({ type: "message", turnId, message: user(text) });
    writer.append({ type: "message", turnId, message: assistant(text) });
    if (at % each === each - 2) writer.commitTurn({ turnId, outcome: "completed" });
  }
  writer.close();
}

/** Entries a second of one writer, by how many it waits, and bytes on disk. */
export async function appendRows(server: PostgresServer, entries: number): Promise<BenchRow[]> {
  const rows: BenchRow[] = [];
  for (const [each, count] of [
    [2, entries / 10],
    [1_000, entries],
  ] as const) {
    const { store, schema, close } = await newStore(server);
    try {
      const from = performance.now();
      fill(store, count, each);
      const value = count / ((performance.now() - from) / 1_000);
      const of = `one writer, a commit each ${named(each)} entries`;
      const tables = `pg_total_relation_size('${schema}.chunks') + pg_total_relation_size('${schema}.sessions')`;
      const [size] = await server.query<{ disk: number; sent: number }>(
        `select (${tables})::float8 as disk, (select sum(bytes)::float8 from ${schema}.sessions) as sent`,
      );
      const perEntry = (bytes = 0): number => bytes / count;
      rows.push(
        { measure: `${of}: appended`, value, unit: "1/s" },
        withPeer(
          { measure: `${of}: on disk`, value: perEntry(size?.disk), unit: "bytes/entry" },
          "in the transcript",
          perEntry(size?.sent),
        ),
      );
    } finally {
      close();
    }
  }
  return rows;
}

/** Opening, the context, two entries, commit and closing, ms. */
function turnTime(store: SessionStore, turn: number): number {
  const from = performance.now();
  const writer = store.openWriter("long", { cwd: CWD });
  writer.contextMessages({ maxBytes: CONTEXT_BYTES });
  sayTurn(writer, `t${turn}`, "a word");
  writer.close();
  return performance.now() - from;
}

/** A turn's time in a small and in a large place, one turn in each after the other. */
function compared(small: SessionStore, large: SessionStore): { small: number; large: number } {
  const times = { small: [] as number[], large: [] as number[] };
  for (let turn = 0; turn < TURNS; turn += 1) {
    times.small.push(turnTime(small, turn));
    times.large.push(turnTime(large, turn));
  }
  return { small: quantile(times.small, 0.5), large: quantile(times.large, 0.5) };
}

function flat(measure: string, peer: string, { small, large }: ReturnType<typeof compared>): BenchRow {
  const row = withPeer(
    { measure: `${measure}: a turn's calls of the store, p50`, value: large, unit: "ms" },
    peer,
    small,
  );
  return withTarget(row, "<=", Number((small * FLAT).toFixed(2)));
}

/** A turn's time in sessions of two lengths, and how long a host that never had the longer one needs for it. */
export async function entryRows(server: PostgresServer, few: number, many: number): Promise<BenchRow[]> {
  const [small, large] = [await newStore(server), await newStore(server)];
  try {
    await seedEntries(server, small.schema, few);
    await seedEntries(server, large.schema, many);
    small.store.openWriter("long", { cwd: CWD }).close();
    const from = performance.now();
    large.store.openWriter("long", { cwd: CWD }).close();
    const value = (performance.now() - from) / 1_000;
    const of = `${named(many)} entries in the session`;
    return [
      { measure: `${of}: opened on a host that never had it`, value, unit: "s" },
      flat(of, `${named(few)} entries`, compared(small.store, large.store)),
    ];
  } finally {
    small.close();
    large.close();
  }
}

/** A turn's time beside few other sessions, and beside many. */
export async function sessionRows(server: PostgresServer, few: number, many: number): Promise<BenchRow[]> {
  const [small, large] = [await newStore(server), await newStore(server)];
  try {
    await seedSessions(server, small.schema, few);
    await seedSessions(server, large.schema, many);
    return [
      flat(`${named(many)} other sessions`, `${named(few)} sessions`, compared(small.store, large.store)),
    ];
  } finally {
    small.close();
    large.close();
  }
}
