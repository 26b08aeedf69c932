import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, it } from "node:test";
import { losslessCare } from "../../packages/app/src/commands-own.ts";
import type { Pagurus } from "../../packages/contract/src/host/host.ts";
import type { LosslessSettings } from "../../packages/lossless/src/lossless-settings.ts";
import { losslessSettings } from "../../packages/lossless/src/lossless-settings.ts";
import { retireSessions } from "../../packages/lossless/src/retention.ts";
import { openLosslessStore } from "../../packages/lossless/src/store/lossless-store.ts";
import { registerRowSum } from "../../packages/core/src/platform/row-sums.ts";
import { promptOf, StoreSetting, SUM_ENTRIES } from "./store-setting.ts";

interface Report {
  sessions: number;
  debts: { count: number };
  retention: { sessionsOlderThanDays: number; lastAt?: string } | null;
}

const DAY_MS = 86_400_000;

let setting: StoreSetting;

const statusOf = (): Promise<Report> => setting.json<Report>(["lossless", "status"]);

/** Keys of the sessions that the store has. */
async function stored(): Promise<string[]> {
  const { out } = await setting.run(["lossless", "export"]);
  const lines = out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { type: string; sessionKey: string });
  return lines.flatMap(({ type, sessionKey }) => (type === "session" ? [sessionKey] : []));
}

async function shown(pagurus: Pagurus, sessionKey: string): Promise<string> {
  const { messages } = await pagurus.context.preview({ sessionKey, prompt: "", cwd: setting.root });
  return JSON.stringify(messages);
}

describe("retention", () => {
  beforeEach(() => {
    setting = new StoreSetting();
  });
  afterEach(() => setting.remove());
  const settings = (days: number): LosslessSettings =>
    losslessSettings({
      plugins: { entries: { lossless: { config: { retention: { sessionsOlderThanDays: days } } } } },
    });

  it("removes an unused session from the store, at most once a day, and its next turn restores it", async () => {
    await setting.talk(2, { sessionKey: "old" });
    await setting.talk(1, { first: 3 });
    const store = openLosslessStore(setting.agentDir);
    const later = Date.now() + 40 * DAY_MS;
    try {
      assert.equal(await retireSessions(store, losslessSettings({}), later), 0);
      assert.equal(await retireSessions(store, settings(41), later), 0);
      // Checked a moment ago.
      assert.equal(await retireSessions(store, settings(30), later + 1), 0);
      const main = store.sessions().find(({ sessionKey }) => sessionKey === "main");
      store.pin(main?.sessionId ?? "", { entryId: "any", pinnedAt: 1 });
      assert.equal(await retireSessions(store, settings(30), later + DAY_MS), 1);
      assert.deepEqual(
        store.sessions().map(({ sessionKey }) => sessionKey),
        ["main"],
      );
    } finally {
      await store.close();
    }
    assert.equal(readFileSync(setting.database).includes("b-171x"), false);
    const check = await setting.run(["lossless", "verify"]);
    assert.equal(check.code, 0, check.out);
    assert.match(check.out, /Not indexed yet, the next turn of each will do it: old\./);
    await setting.talk(1, { sessionKey: "old", first: 4 });
    await setting.withHost(async (pagurus) => {
      assert.ok((await shown(pagurus, "old")).includes(promptOf(2)));
    });
  });

  it("is part of the engine's work, and in the status", async () => {
    setting.configure({}, { retention: { sessionsOlderThanDays: 30 } });
    await setting.talk(1, { sessionKey: "old" });
    const db = new DatabaseSync(setting.database);
    registerRowSum(db);
    db.exec(`UPDATE entries SET time = 1; ${SUM_ENTRIES}; DELETE FROM meta WHERE name = 'retired_at'`);
    db.close();
    await setting.talk(1, { first: 2 });
    const { retention } = await statusOf();
    assert.equal(retention?.sessionsOlderThanDays, 30);
    assert.ok(retention.lastAt !== undefined && Date.parse(retention.lastAt) > Date.now() - DAY_MS);
    assert.deepEqual(await stored(), ["main"]);
  });
});

describe("session patterns", () => {
  beforeEach(() => {
    setting = new StoreSetting();
  });
  afterEach(() => setting.remove());
  it("keep sessions out of the store: ignored ones run on their transcript, stateless ones without a past", async () => {
    setting.configure(
      { agents: { defaults: { compaction: { keepRecentTokens: 100 } } } },
      { ignoreSessions: ["scratch*"], statelessSessions: ["cron:?"] },
    );
    for (const sessionKey of ["main", "scratch-1", "cron:a", "cron:ab"])
      await setting.talk(2, { sessionKey });
    assert.deepEqual((await stored()).toSorted(), ["cron:ab", "main"]);
    await setting.withHost(async (pagurus) => {
      for (const [key, isShown] of [
        ["scratch-1", true],
        ["cron:a", false],
        ["cron:ab", true],
      ] as const)
        assert.equal((await shown(pagurus, key)).includes(promptOf(1)), isShown, key);
      const ignored = await pagurus.compact({ sessionKey: "scratch-1", cwd: setting.root });
      assert.equal(ignored.compacted, true, ignored.reason);
      const stateless = await pagurus.compact({ sessionKey: "cron:a", cwd: setting.root });
      assert.match(stateless.reason ?? "", /keeps nothing of this session/);
      assert.match(
        await pagurus.command({ name: "pin", sessionKey: "scratch-1" }),
        /Nothing of this session is kept/,
      );
    });
    const rebuilt = await setting.run(["lossless", "rebuild"]);
    assert.match(rebuilt.out, /^2 sessions skipped by the retention settings\.$/m);
    assert.deepEqual((await stored()).toSorted(), ["cron:ab", "main"]);
  });
});

describe("the end of a session", () => {
  beforeEach(() => {
    setting = new StoreSetting();
  });
  afterEach(() => setting.remove());
  it("removes its debts, since nothing of it is shown again", async () => {
    await setting.talk(5);
    assert.ok((await statusOf()).debts.count > 0);
    await setting.withHost((pagurus) => pagurus.renew({ reason: "new" }));
    assert.equal((await statusOf()).debts.count, 0);
    assert.ok((await setting.run(["lossless", "search", "quay", "--all"])).out.includes("Quay 1"));
  });

  it("removes the leftovers of an interrupted rebuild, when it is deleted", async () => {
    await setting.talk(1);
    const folder = join(setting.agentDir, "lossless.rebuild");
    mkdirSync(folder);
    writeFileSync(join(folder, "lossless.db"), "words");
    await setting.withHost((pagurus) => pagurus.deleteSession({ sessionKey: "main" }));
    assert.equal(existsSync(folder), false);
    assert.equal((await statusOf()).sessions, 0);
  });

  it("is not undone by a rebuild that had read it before", async () => {
    await setting.talk(1);
    await setting.talk(1, { sessionKey: "gone", first: 2 });
    await setting.withHost(async (pagurus) => {
      const transcripts = pagurus.sessions();
      let looks = 0;
      const care = await losslessCare({
        agentDir: setting.agentDir,
        config: {},
        transcripts: {
          find: (key) => transcripts.find(key),
          openReader: (key, id) => transcripts.openReader(key, id),
          list() {
            looks += 1;
            return transcripts.list().filter(({ sessionKey }) => looks === 1 || sessionKey !== "gone");
          },
        },
      });
      const report = await care.rebuild(undefined, {});
      assert.equal(report.sessions, 2);
    });
    assert.deepEqual(await stored(), ["main"]);
    assert.equal(readFileSync(setting.database).includes("b-272x"), false);
  });
});
