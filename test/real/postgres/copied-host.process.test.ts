import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Launcher } from "../../cli/launch.ts";
import { startPostgres, type PostgresServer } from "../../servers/postgres.ts";
import { fillHome, listed, transcriptsOf } from "./filled-home.ts";

let server: PostgresServer;
before(async () => {
  server = await startPostgres();
});
after(async () => await server.end());

test("a host of the database continues a copied home, and a copy back appends what was new there", async (t) => {
  const [home, host, back] = [new Launcher(), new Launcher(), new Launcher()];
  t.after(() => {
    for (const user of [home, host, back]) user.remove();
  });
  await fillHome(home);
  const before = transcriptsOf(home.env.PAGURUS_HOME);
  for (const user of [home, back]) Object.assign(user.env, { PAGURUS_STORE_URL: server.pooledUrl });
  assert.equal((await home.run(["store", "init"])).code, 0);
  assert.equal((await home.run(["store", "copy", "--to"])).code, 0);

  mkdirSync(host.env.PAGURUS_HOME, { recursive: true });
  const store = { kind: "postgres", url: server.pooledUrl };
  const agents = { list: [{ id: "main" }, { id: "other" }] };
  writeFileSync(join(host.env.PAGURUS_HOME, "pagurus.json"), JSON.stringify({ store, agents }));
  assert.match((await host.runProgram(["sessions", "show", "work"])).out, /and again/);
  // "renewed" has three generations; the current one of "rotated" is its first.
  for (const [agent, key] of [
    ["main", "work"],
    ["other", "renewed"],
    ["other", "rotated"],
  ] as const) {
    const turn = await host.runProgram(["run", `new in ${key}`, "--session", key, "--agent", agent]);
    assert.equal(turn.code, 0, turn.err);
  }

  // Into an empty home, and into the one that the sessions came from.
  for (const user of [back, home]) assert.equal((await user.run(["store", "copy", "--from"])).code, 0);
  const now = transcriptsOf(back.env.PAGURUS_HOME);
  assert.deepEqual(transcriptsOf(home.env.PAGURUS_HOME), now);
  assert.deepEqual([...now.keys()], [...before.keys()]);
  const grown = [...before].filter(([name, bytes]) => {
    const [old, all] = [bytes, now.get(name) ?? ""].map((text) => Buffer.from(text, "base64"));
    assert.ok(old && all && all.subarray(0, old.length).equals(old), name);
    return all.length > old.length;
  });
  assert.equal(grown.length, 3);
  assert.match((await back.run(["sessions", "show", "work"])).out, /new in work/);
  const current = listed(home.env.PAGURUS_HOME);
  assert.deepEqual(listed(back.env.PAGURUS_HOME), current);
});
