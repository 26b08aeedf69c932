import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { removeDeadLock } from "../../packages/doctor/src/dead-locks.ts";
import type { Finding } from "../../packages/doctor/src/finding.ts";
import { checkStore } from "../../packages/doctor/src/store-check.ts";
import { openSessionStore } from "../../packages/host/src/stores/files/session-store.ts";

/** A pid without a process. */
const DEAD = { pid: 2 ** 22 + 1, host: hostname(), epoch: 7 };

describe("the doctor on stale locks", () => {
  let home: string;
  let sessions: string;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "pagurus-locks-"));
    sessions = join(home, "agents", "main", "sessions");
    mkdirSync(sessions, { recursive: true });
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));

  function put(name: string, owner: unknown): string {
    const file = join(sessions, name);
    writeFileSync(file, typeof owner === "string" ? owner : JSON.stringify(owner));
    return file;
  }

  function onLocks(fix: boolean): Finding[] {
    return checkStore(home, fix).filter(({ detail }) => detail.includes(".lock"));
  }

  it("reports them, and with a fix removes those whose owner has certainly ended", () => {
    const dead = put("dead.lock", DEAD);
    const reused = put("reused.lock", { ...DEAD, pid: process.pid, startTicks: "0" });
    const kept = [
      put("live.lock", { ...DEAD, pid: process.pid }),
      put("far.lock", { ...DEAD, host: "elsewhere" }),
      put("empty.lock", ""),
    ];
    const before = onLocks(false);
    assert.deepEqual(
      before.map(({ level, detail }) => [level, detail.endsWith("takes it over.")]),
      [
        ["info", true],
        ["info", true],
      ],
    );
    assert.ok([dead, reused].every((file) => existsSync(file)));
    const after = onLocks(true);
    assert.deepEqual(
      after.map(({ level, detail }) => [level, detail]),
      [
        ["ok", `${dead} is left from process ${DEAD.pid}, which has ended; it is removed.`],
        ["ok", `${reused} is left from process ${process.pid}, which has ended; it is removed.`],
      ],
    );
    assert.ok([dead, reused].every((file) => !existsSync(file)));
    assert.ok(kept.every((file) => existsSync(file)));
    assert.deepEqual(onLocks(true), []);
  });

  it("keeps a lock that a live process has taken over meanwhile", () => {
    const file = put("taken.lock", DEAD);
    const mine = JSON.stringify({ ...DEAD, pid: process.pid });
    writeFileSync(file, mine);
    assert.equal(removeDeadLock(file), false);
    assert.equal(readFileSync(file, "utf8"), mine);
    rmSync(file);
    assert.equal(removeDeadLock(file), false);
  });

  it("first adds a session to the index that the owner had started without it", () => {
    const agentDir = join(home, "agents", "main");
    const store = openSessionStore({ agentDir, agentId: "main" });
    const first = store.renew("work", { cwd: "/" });
    const second = store.renew("work", { cwd: "/" });
    store.close();
    const known = readFileSync(second.file, "utf8");
    // The index has the first generation only: its writer ended between the file and the index.
    rmSync(second.file);
    openSessionStore({ agentDir, agentId: "main" }).list();
    writeFileSync(second.file, known);
    const lock = put(`${first.sessionId}.lock`, DEAD);
    onLocks(true);
    assert.equal(existsSync(lock), false);
    const reopened = openSessionStore({ agentDir, agentId: "main" });
    assert.equal(reopened.find("work")?.sessionId, second.sessionId);
    reopened.close();
  });

  it("keeps them where the index cannot be read, and reports it", () => {
    const file = put("dead.lock", DEAD);
    // A live process is at work, so the index is not set aside.
    put("live.lock", { ...DEAD, pid: process.pid });
    writeFileSync(join(home, "agents", "main", "sessions.db"), "no database ".repeat(500));
    const [finding] = onLocks(true);
    assert.equal(existsSync(file), true, finding?.detail);
    assert.match(finding?.detail ?? "", /it is kept, since the index cannot be read \(it is damaged\)/);
  });
});
