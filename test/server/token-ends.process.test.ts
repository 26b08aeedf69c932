/** Everything that a token has open at a real server ends with the token: revoked by a command, through the API, or expired. */
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { after, before, describe, it } from "node:test";
import { openServerDatabase } from "../../packages/inbox/src/server-database.ts";
import { TokenStore } from "../../packages/server/src/access/token-store.ts";
import { FULL, turnAbout } from "../runner/short-form.ts";
import { finish, makeSetting, type Setting } from "../turn/setting.ts";
import { startEndlessModel, type EndlessModel } from "./endless-model.ts";
import { OPEN_KINDS, openKindsConfig } from "./open-kinds.ts";
import { ServeProcess } from "./serve-setting.ts";

/** Longest time from the end of a token to the end of what it has open, in the full form, ms. */
const LONGEST_MS = 1_000;

describe("what a token has open at a server", () => {
  let model: EndlessModel;
  let setting: Setting;
  let server: ServeProcess;
  before(async () => {
    model = await startEndlessModel();
    setting = makeSetting(openKindsConfig(model.url));
    server = await ServeProcess.start(setting);
  });
  after(async () => {
    await server.kill();
    model.close();
    setting.remove();
  });

  function inStore<T>(work: (tokens: TokenStore, run: (id: string) => void) => T): T {
    const db = openServerDatabase(setting.home);
    try {
      return work(new TokenStore(db), (id) =>
        db.run("UPDATE tokens SET expires = ? WHERE id = ?", Date.now(), id),
      );
    } finally {
      db.close();
    }
  }

  const ENDS: Readonly<Record<string, (id: string) => Promise<void>>> = {
    "is revoked by a command": async (id) => {
      assert.equal((await finish(setting, ["token", "revoke", id])).code, 0);
    },
    "is revoked through the API": async (id) => {
      assert.equal((await server.call("DELETE", `/api/v1/tokens/${id}`)).status, 200);
    },
    expires: (id) => Promise.resolve(inStore((_, expire) => expire(id))),
  };

  Object.entries(OPEN_KINDS).forEach(([kind, open], index) => {
    for (const [how, end] of turnAbout(Object.entries(ENDS), index))
      it(`ends when it ${how}: ${kind}`, async () => {
        const { token, secret } = inStore((tokens) => tokens.create({ name: "t", scope: "chat" }));
        const headers = { authorization: `Bearer ${secret}` };
        const session = `s-${token.id}`;
        const ended = await open({ server, folder: setting.workspace, headers, session });
        const asks = /events|WebSocket$|body/.test(kind) ? undefined : 1;
        while (asks !== undefined && model.open < asks) await pause(10);
        await end(token.id);
        const since = performance.now();
        await ended();
        while (model.open > 0) await pause(5);
        const ms = Math.round(performance.now() - since);
        if (FULL) assert.ok(ms <= LONGEST_MS, `${ms} ms`);
        const { status } = await server.call("GET", "/api/v1/status", undefined, headers);
        assert.equal(status, 401);
      });
  });
});
