/** Large tables, written as rows: what many turns, or many sessions, would have stored. */
import {
  completeEntry,
  formatLine,
} from "../../packages/host/src/stores/files/transcript/transcript-entry.ts";
import type { NewEntry } from "../../packages/contract/src/session/transcript.ts";
import { IdSource } from "../../packages/core/src/platform/ids.ts";
import type { PostgresServer } from "../../test/servers/postgres.ts";
import { assistant, user } from "../../test/stores/files/fixtures.ts";

/** Rows of one statement. */
const ROWS = 4_000;
const TEXT = "What one says in an answer of usual length. ".repeat(3);
const BEGUN = "2026-01-01T00:00:00.000Z";

interface Chunk {
  at: number;
  bytes: Buffer;
}

/** The transcript of a session with so many entries, a chunk for each turn of two messages and a commit. */
function* chunksOf(header: Buffer, entries: number): Generator<Chunk> {
  const ids = new IdSource();
  let parentId: string | null = null;
  let at = 0;
  let written = 0;
  for (let turn = 0; written < entries; turn += 1) {
    const turnId = `seeded-${turn}`;
    const said: NewEntry[] = [
      { type: "message", turnId, message: user(`${turn}: ${TEXT}`) },
      { type: "message", turnId, message: assistant(TEXT) },
      { type: "turn_commit", turnId, outcome: "completed" },
    ];
    const lines = said.map((entry) => {
      const id = ids.next();
      const line = formatLine(completeEntry(entry, { id, parentId, timestamp: BEGUN, epoch: 1 }));
      parentId = id;
      return line;
    });
    const bytes = Buffer.concat(turn === 0 ? [header, ...lines] : lines);
    yield { at, bytes };
    at += bytes.length;
    written += said.length;
  }
}

/** A session of the key `long`. */
export async function seedEntries(server: PostgresServer, schema: string, entries: number): Promise<void> {
  const id = new IdSource().next();
  const place = { id, timestamp: BEGUN, cwd: "/work", key: "long", generation: 1 };
  let rows: Chunk[] = [];
  let bytes = 0;
  const store = async (): Promise<void> => {
    await server.query(
      `insert into ${schema}.chunks (agent, session_id, at, epoch, bytes)
       select 'main', $1, at, 1, bytes from unnest($2::bigint[], $3::bytea[]) as x(at, bytes)`,
      [id, rows.map(({ at }) => at), rows.map((row) => row.bytes)],
    );
    rows = [];
  };
  for (const chunk of chunksOf(formatLine({ type: "session", version: 3, ...place }), entries)) {
    rows.push(chunk);
    bytes = chunk.at + chunk.bytes.length;
    if (rows.length === ROWS) await store();
  }
  await store();
  await server.query(
    `insert into ${schema}.sessions (agent, session_id, key, generation, is_current, epoch, bytes)
     values ('main', $1, 'long', 1, true, 1, $2)`,
    [id, bytes],
  );
  await server.query("analyze");
}

/** Sessions of other keys, each with a chunk of 1 kB. */
export async function seedSessions(server: PostgresServer, schema: string, count: number): Promise<void> {
  await server.query(
    `with made as (insert into ${schema}.sessions (agent, session_id, key, generation, is_current, epoch, bytes)
       select 'main', 'x' || n, 'other-' || n, 1, true, 1, 1000 from generate_series(1, ${count}) as n returning session_id)
     insert into ${schema}.chunks (agent, session_id, at, epoch, bytes)
     select 'main', session_id, 0, 1, decode(repeat('5a', 1000), 'hex') from made`,
  );
  await server.query("analyze");
}
