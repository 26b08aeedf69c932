/** Logins of browsers over the end of their server. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { Database } from "../../packages/core/src/data/sqlite.ts";
import { openServerDatabase } from "../../packages/inbox/src/server-database.ts";
import { BrowserLogins } from "../../packages/server/src/access/browser-logins.ts";

const LATER_MS = 13 * 60 * 60_000;

describe("the logins of browsers", () => {
  let home: string;
  let db: Database;
  let now: number;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "pagurus-logins-"));
    db = openServerDatabase(home);
    now = 1_000;
  });
  afterEach(() => {
    db.close();
    rmSync(home, { recursive: true, force: true });
  });

  function signedIn(logins: BrowserLogins): { secret: string; id: string } {
    const [, code = ""] = /sign-in\/([\w-]+)/.exec(logins.address("http://127.0.0.1:1", "admin")) ?? [];
    const secret = logins.signIn(code)?.secret ?? "";
    return { secret, id: logins.callerOf(secret)?.tokenId ?? "" };
  }

  it("end with their server, and what a browser has posted still runs", () => {
    const before = new BrowserLogins(db, () => now);
    const { secret, id } = signedIn(before);
    assert.match(id, /^browser-/);
    before.closeAll();
    const after = new BrowserLogins(db, () => now);
    assert.equal(after.callerOf(secret), undefined);
    assert.deepEqual(after.list(), []);
    assert.equal(after.isValid(id), true);
    assert.equal(after.authorityOf(id)?.tokenId, id);
    now += LATER_MS;
    assert.equal(after.isValid(id), false);
  });

  it("take their posted work with them where a person ends them, also after a restart", () => {
    const logins = new BrowserLogins(db, () => now);
    const [closed, other] = [signedIn(logins), signedIn(logins)];
    logins.closeAll();
    const open = signedIn(logins);
    assert.deepEqual(
      logins.end(other.id).map(({ id }) => id),
      [],
    );
    assert.deepEqual([logins.isValid(other.id), logins.isValid(closed.id)], [false, true]);
    assert.deepEqual(
      logins.end("browser").map(({ id }) => id),
      [open.id],
    );
    assert.deepEqual([logins.isValid(closed.id), logins.isValid(open.id)], [false, false]);
  });

  it("give no rights to a secret that looks like what a closed one has in its place", () => {
    const logins = new BrowserLogins(db, () => now);
    const { id } = signedIn(logins);
    logins.closeAll();
    assert.equal(logins.callerOf(`closed-${id}`), undefined);
  });
});
