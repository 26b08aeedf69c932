/** What a token has open at one host ends when another host, which shares its database, revokes the token. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { startEndlessModel } from "../../server/endless-model.ts";
import { OPEN_KINDS, openKindsConfig } from "../../server/open-kinds.ts";
import { startPostgres, type PostgresServer } from "../../servers/postgres.ts";
import { hostPair } from "./host-pair.ts";
import { newTables } from "./hosts.ts";

let database: PostgresServer;
before(async () => {
  database = await startPostgres();
});
after(async () => await database.end());

test("everything that a token has open at a host ends with its revocation at another one", async (t) => {
  const model = await startEndlessModel();
  t.after(() => model.close());
  const more = openKindsConfig(model.url);
  const { a, b } = await hostPair(t, await newTables(database.url), { more });
  for (const [kind, open] of Object.entries(OPEN_KINDS)) {
    const made = await b.call("POST", "/api/v1/tokens", { name: "t", scope: "chat" });
    const [{ id }, secret] = [made.body["token"] as { id: string }, made.body["secret"]];
    const headers = { authorization: `Bearer ${String(secret)}` };
    const ended = await open({ server: a, folder: a.setting.workspace, headers, session: `s-${id}` });
    const asks = !/events|WebSocket$|body/.test(kind);
    while (asks && model.open === 0) await pause(10);
    assert.equal((await b.call("DELETE", `/api/v1/tokens/${id}`)).status, 200);
    await ended();
    while (model.open > 0) await pause(5);
    t.diagnostic(kind);
  }
});
