/** Search over all sessions of the database, also those that a host never had. */
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { after, before, test } from "node:test";
import type { SessionStore } from "../../../packages/contract/src/session/store.ts";
import { withDatabase } from "../../../packages/postgres/src/connections.ts";
import { createTables } from "../../../packages/postgres/src/schema/create-tables.ts";
import { targetOf, type PostgresSettings } from "../../../packages/postgres/src/settings.ts";
import { startPostgres, type PostgresServer } from "../../servers/postgres.ts";
import { sayTurn } from "../../stores/files/fixtures.ts";
import { newHost, newTables } from "./hosts.ts";

let database: PostgresServer;
before(async () => {
  database = await startPostgres();
});
after(async () => await database.end());

const CWD = { cwd: "/project" };

function say(store: SessionStore, key: string, ...texts: string[]): void {
  const writer = store.openWriter(key, CWD);
  for (const text of texts) sayTurn(writer, store.reserveId(), text);
  writer.close();
}

function keys(store: SessionStore, query: string): string[] {
  return [...new Set(store.search(query).map(({ sessionKey }) => sessionKey))].toSorted();
}

/** Transcripts that a host has fetched. */
function fetched(host: { folder: string }): number {
  const names = readdirSync(host.folder, { recursive: true, encoding: "utf8" });
  return names.filter((name) => /\/[^./]+\.jsonl$/.test(name)).length;
}

async function rowsOf({ schema = "" }: PostgresSettings, table: "passages" | "indexed"): Promise<unknown[]> {
  return await database.query(`select session_id from ${schema}.${table}`);
}

test("a host finds what others stored, with the words' places, and fetches only those sessions", async (t) => {
  const tables = await newTables(database.url);
  const [one, two] = [newHost(t, tables), newHost(t, tables)];
  for (let index = 0; index < 4; index += 1) say(one, `other-${index}`, `nothing in number ${index}`);
  say(one, "harbour", "The ferry Ariadne leaves at nine", "and the crane is broken");
  say(one, "café", "Zażółć gęślą jaźń au Café");
  say(one, "japanese", "港に大きな船が着いた");
  say(one, "thai", "เรือใหญ่มาถึงท่าเรือแล้ว");
  const [hit] = two.search("ferry ariadne");
  assert.deepEqual([hit?.sessionKey, hit?.role, hit?.onPath], ["harbour", "user", true]);
  assert.match(hit?.snippet ?? "", /The ferry Ariadne leaves at nine/);
  assert.ok(fetched(two) <= 1, `${fetched(two)} transcripts were fetched`);
  assert.deepEqual(keys(two, "cafe GESLA"), ["café"]);
  assert.deepEqual(keys(two, "大きな"), ["japanese"]);
  assert.deepEqual(keys(two, "船"), ["japanese"]);
  assert.deepEqual(keys(two, "ท่าเรือ"), ["thai"]);
  assert.deepEqual(keys(two, "unheard"), []);
  assert.deepEqual(keys(two, "'ferry' & (ariadne | !x):*"), ["harbour"], "nothing typed is query syntax");
  assert.deepEqual(keys(two, "what about a broken ferry yesterday"), ["harbour"], "else some of the words");
  assert.equal(fetched(two), 4);
});

test("what follows is found at once, a rewritten transcript by its new words, and a deleted one no more", async (t) => {
  const tables = await newTables(database.url);
  const [one, two] = [newHost(t, tables), newHost(t, tables)];
  say(one, "work", "first lighthouse");
  assert.deepEqual(keys(two, "lighthouse"), ["work"]);
  say(two, "work", "then a drawbridge");
  assert.deepEqual(keys(one, "drawbridge"), ["work"]);
  const open = one.openWriter("live", CWD);
  open.append({ type: "message", message: { role: "user", content: "unfinished windmill" } });
  assert.deepEqual(keys(one, "windmill"), ["live"], "also what this host is just writing");
  open.close();
  // A transcript that is replaced as a whole has none of the former words.
  await database.query(
    `insert into ${tables.schema}.passages (agent, session_id, at, written, words)
       select agent, session_id, 7, 0, array_to_tsvector('{aqueduct}') from ${tables.schema}.sessions where key = 'work'`,
  );
  const before = (await rowsOf(tables, "passages")).length;
  await database.query(`update ${tables.schema}.sessions set revision = revision + 1 where key = 'work'`);
  assert.deepEqual(keys(one, "lighthouse"), ["work"]);
  assert.equal((await rowsOf(tables, "passages")).length, before - 1);
  for (const key of ["work", "live"]) one.delete(key);
  for (const host of [one, two])
    for (const word of ["lighthouse", "drawbridge", "windmill"]) assert.deepEqual(keys(host, word), []);
  assert.deepEqual([await rowsOf(tables, "passages"), await rowsOf(tables, "indexed")], [[], []]);
});

test("sessions of before there was an index are found, and each text is indexed once by hosts that search at once", async (t) => {
  const tables = await newTables(database.url);
  const hosts = [newHost(t, tables), newHost(t, tables), newHost(t, tables)] as const;
  const long = Array.from({ length: 24 }, (_, index) => `page ${index} ${"lorem ipsum ".repeat(16_000)}`);
  say(hosts[0], "long", ...long, "the very last xylophone");
  await database.query(`delete from ${tables.schema}.passages`);
  await database.query(`delete from ${tables.schema}.indexed`);
  for (const host of hosts) assert.deepEqual(keys(host, "xylophone"), ["long"]);
  assert.equal((await rowsOf(tables, "passages")).length, 50);
});

test("with row-level security a tenant finds its own sessions only", async (t) => {
  const schema = "secured_search";
  const roles = await Promise.all(["search_one", "search_two"].map((name) => database.createRole(name)));
  await withDatabase(targetOf({ url: database.url, schema }), "store_write_failed", async (db) =>
    createTables(db, { schema, rowSecurity: true, grant: ["search_one", "search_two"] }),
  );
  const [one, two] = roles.map(({ url }) =>
    newHost(t, { kind: "postgres", url, schema } as PostgresSettings),
  );
  assert.ok(one && two);
  say(one, "work", "the secret gargoyle");
  say(two, "work", "a plain gable");
  assert.deepEqual([keys(one, "gargoyle"), keys(two, "gargoyle")], [["work"], []]);
  assert.deepEqual([keys(one, "gable"), keys(two, "gable")], [[], ["work"]]);
  const tenants = await database.query<{ tenant: string }>(
    `select distinct tenant from ${schema}.passages order by 1`,
  );
  assert.deepEqual(tenants, [{ tenant: "search_one" }, { tenant: "search_two" }]);
});
