import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Launcher } from "../../cli/launch.ts";
import { startPostgres, type PostgresServer } from "../../servers/postgres.ts";

let server: PostgresServer;
const users: Launcher[] = [];
before(async () => {
  server = await startPostgres();
});
after(async () => {
  for (const user of users) user.remove();
  await server.end();
});

/** A user of another machine whose configuration names the database. */
function newUser(store: Record<string, unknown>): Launcher {
  const user = new Launcher();
  users.push(user);
  Object.assign(user.env, { PAGURUS_STORE_URL: server.pooledUrl });
  mkdirSync(user.env.PAGURUS_HOME, { recursive: true });
  writeFileSync(join(user.env.PAGURUS_HOME, "pagurus.json"), JSON.stringify({ store }));
  return user;
}

test("a conversation of one machine is continued on another", async () => {
  const store = { kind: "postgres", url: "${PAGURUS_STORE_URL}", schema: "crabs" };
  const [one, other] = [newUser(store), newUser(store)];
  const early = await one.runProgram(["run", "too early", "--session", "work"]);
  assert.notEqual(early.code, 0);
  assert.match(early.err, /no tables of this version, run `pagurus store init`/);
  assert.equal((await one.run(["store", "init", "--schema", "crabs"])).code, 0);
  const first = await one.runProgram(["run", "the first words", "--session", "work"]);
  assert.equal(first.code, 0, first.err);
  const seen = [one, other].map(async (user) => user.runProgram(["context", "show", "--session", "work"]));
  const [own, elsewhere] = await Promise.all(seen);
  assert.match(elsewhere?.out ?? "", /live/);
  assert.equal(elsewhere?.out, own?.out);
  const second = await other.runProgram(["run", "the second words", "--session", "work"]);
  assert.equal(second.code, 0, second.err);
  const { out } = await one.runProgram(["sessions", "show", "work"]);
  assert.match(out, /the first words[^]*the second words/);
  const found = await other.runProgram(["sessions", "search", "first"]);
  assert.match(found.out, /the first words/);
});

test("a store without an address is refused with the key to set", async () => {
  const { code, err } = await newUser({ kind: "postgres" }).runProgram(["run", "hello"]);
  assert.notEqual(code, 0);
  assert.match(err, /store\.url is missing[^]*\[config_invalid\]/);
});
