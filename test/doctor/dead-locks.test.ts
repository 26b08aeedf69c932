import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { removeDeadLock } from "../../src/doctor/dead-locks.ts";
import type { Finding } from "../../src/doctor/finding.ts";
import { checkStore } from "../../src/doctor/store-check.ts";
import { openSessionStore } from "../../src/session/store.ts";

/** No process has it. */
const DEAD = { pid: 2 ** 22 + 1, host: hostname(), epoch: 7 };

describe("the doctor on locks that are left behind", () => {
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

  it("names them, and with a fix takes away those whose owner is certain to have ended", () => {
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

  it("leaves a lock that a live process has taken over meanwhile", () => {
    const file = put("taken.lock", DEAD);
    const mine = JSON.stringify({ ...DEAD, pid: process.pid });
    writeFileSync(file, mine);
    assert.equal(removeDeadLock(file), false);
    assert.equal(readFileSync(file, "utf8"), mine);
    rmSync(file);
    assert.equal(removeDeadLock(file), false);
  });

  it("lets the index know first of what the owner had begun and not told it", () => {
    const agentDir = join(home, "agents", "main");
    const store = openSessionStore({ agentDir, agentId: "main" });
    const first = store.renew("work", { cwd: "/" });
    const second = store.renew("work", { cwd: "/" });
    store.close();
    const known = readFileSync(second.file, "utf8");
    // The index knows the first generation alone: its writer ended between the file and the index.
    rmSync(second.file);
    openSessionStore({ agentDir, agentId: "main" }).list();
    writeFileSync(second.file, known);
    const lock = put(`${first.sessionId}.lock`, DEAD);
    onLocks(true);
    assert.equal(existsSync(lock), false);
    const anew = openSessionStore({ agentDir, agentId: "main" });
    assert.equal(anew.find("work")?.sessionId, second.sessionId);
    anew.close();
  });

  it("keeps them where the index cannot be read, and says so", () => {
    const file = put("dead.lock", DEAD);
    // Somebody is at work, so the index is not set aside.
    put("live.lock", { ...DEAD, pid: process.pid });
    writeFileSync(join(home, "agents", "main", "sessions.db"), "no database ".repeat(500));
    const [finding] = onLocks(true);
    assert.equal(existsSync(file), true, finding?.detail);
    assert.match(finding?.detail ?? "", /it is kept, since the index cannot be read \(it is damaged\)/);
  });
});
