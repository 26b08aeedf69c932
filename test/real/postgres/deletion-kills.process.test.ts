/** kill -9 before each write of a deletion where two hosts share their sessions: to the files of its host, and to the database. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { after, before, describe, it } from "node:test";
import { Launcher } from "../../cli/launch.ts";
import { traces } from "../../deletions/filled-home.ts";
import { byLength } from "../../runner/short-form.ts";
import { startPostgres, type PostgresServer } from "../../servers/postgres.ts";
import { configureHome, newTables } from "./hosts.ts";

const MAIN = resolve(import.meta.dirname, "../../../bin/pagurus.js");
const PRELOAD = resolve(import.meta.dirname, "../../deletions/kill-writes.ts");
const KILLS = byLength(200, 16, 8);
const NEVER = 1_000_000;

describe("a deletion of a shared session that is killed", () => {
  let server: PostgresServer;
  let schema = "";
  let here: Launcher;
  let there: Launcher;
  before(async () => {
    server = await startPostgres();
    const settings = await newTables(server.url, 0.5);
    schema = settings.schema ?? "";
    [here, there] = [new Launcher(), new Launcher()];
    for (const host of [here, there]) configureHome(host.env.PAGURUS_HOME, settings);
  });
  after(async () => {
    for (const host of [here, there]) host.remove();
    await server.end();
  });

  async function run(
    host: Launcher,
    ...args: string[]
  ): Promise<{ out: string; err: string; code: number | null }> {
    const done = await host.run(args);
    assert.equal(done.err.includes("internal"), false, done.err);
    return done;
  }

  /** Returns the number of writes; killed before the `at`th. */
  async function deleteKilled(key: string, at: number): Promise<number> {
    const count = join(here.root, "count");
    writeFileSync(count, "");
    const kill = {
      KILL_COUNT: count,
      KILL_AT: String(at),
      KILL_BELOW: here.env.PAGURUS_HOME,
      KILL_SENDS: "1",
    };
    const args = ["--import", PRELOAD, MAIN, "sessions", "delete", key, "--yes"];
    const child = spawn(process.execPath, args, {
      cwd: here.root,
      env: { ...here.env, ...kill },
      stdio: ["ignore", "ignore", "inherit"],
    });
    const [code, signal] = (await once(child, "exit")) as [number | null, string | null];
    assert.ok(signal === "SIGKILL" || code === 0, `${code} ${signal}`);
    return readFileSync(count).length;
  }

  /** Tables of the database with a word in a row. */
  async function tablesWith(word: string): Promise<string[]> {
    const tables = await server.query<{ name: string }>(
      "select tablename as name from pg_tables where schemaname = $1",
      [schema],
    );
    const found: string[] = [];
    for (const { name } of tables) {
      const text = ["chunks", "receipts"].includes(name) ? "encode(t.bytes, 'escape')" : "t::text";
      const rows = await server.query(
        `select 1 from ${schema}.${name} t where ${text} ilike '%' || $1 || '%' limit 1`,
        [word],
      );
      if (rows.length > 0) found.push(name);
    }
    return found;
  }

  /** A session with a rare word, which both hosts have read. */
  async function filled(key: string, word: string): Promise<void> {
    const said = await run(here, "run", "--session", key, `the ${word} is ours`);
    assert.equal(said.code, 0, said.err);
    const found = await run(there, "sessions", "search", word);
    assert.match(found.out, new RegExp(word));
    assert.notDeepEqual(await tablesWith(word), []);
  }

  const NEXT: readonly { name: string; run: (key: string) => Promise<unknown> }[] = [
    { name: "a deletion on the same host", run: (key) => run(here, "sessions", "delete", key, "--yes") },
    { name: "a deletion on the other host", run: (key) => run(there, "sessions", "delete", key, "--yes") },
    { name: "the doctor", run: () => run(here, "doctor") },
    {
      name: "a turn of another session",
      run: () => run(here, "run", "--session", "other", "What do we have?"),
    },
  ];

  it(`leaves no word on either host or in the database after any of ${KILLS} kills`, async () => {
    await filled("whole", "xylophonequartz");
    const writes = await deleteKilled("whole", NEVER);
    for (let kill = 0; kill < KILLS; kill += 1) {
      const [key, word] = [`key${kill}`, `jackdaw${String.fromCharCode(97 + (kill % 26))}sphinx${kill}`];
      await filled(key, word);
      const at = 1 + Math.floor((kill * writes) / KILLS);
      await deleteKilled(key, at);
      const next = NEXT[kill % NEXT.length];
      try {
        await next?.run(key);
        // Where the deletion had not begun, it is asked for again.
        await run(here, "sessions", "delete", key, "--yes");
        for (const host of [here, there])
          assert.equal((await run(host, "sessions", "list")).out.includes(key), false);
        assert.deepEqual(await tablesWith(word), []);
        for (const host of [here, there]) {
          const search = await run(host, "lossless", "search", word, "--all");
          assert.equal(search.out.includes(`${word} is`), false, search.out);
          assert.deepEqual(traces(host.env.PAGURUS_HOME, [word]), [], host === here ? "here" : "there");
        }
      } catch (error) {
        throw new Error(`killed before write ${at} of ${writes}, then ${next?.name}`, { cause: error });
      }
    }
  });
});
