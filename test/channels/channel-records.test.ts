/** How long the records of channels are kept: by their own age, also where the work is in a database that several hosts share. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { ChannelStore } from "../../packages/channels/src/channel-store.ts";
import type { Database } from "../../packages/core/src/data/sqlite.ts";
import { openServerDatabase } from "../../packages/inbox/src/server-database.ts";

const PLACE = { channel: "home", address: "ann@example.org", isGroup: false };
const ORIGIN = { channel: "home", message: "m-1", person: PLACE.address, session: "home:ann" };
const DAY_MS = 24 * 60 * 60_000;
/** Start of the clock, ms since the epoch. */
const FROM = 1_000 * DAY_MS;

describe("records of a channel's work", () => {
  let home: string;
  let db: Database;
  let now: number;
  let store: ChannelStore;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "pagurus-records-"));
    db = openServerDatabase(home);
    now = FROM;
    store = new ChannelStore(db, () => now);
  });
  afterEach(() => {
    db.close();
    rmSync(home, { recursive: true, force: true });
  });

  function prune(): void {
    store.prune(now - 30 * DAY_MS);
  }

  /** Which of the records of a piece of work there are. */
  function kept(workId: string): { work: boolean; draft: boolean; message: boolean } {
    return {
      work: store.placeOf(workId) !== undefined,
      draft: store.drafts.find(workId) !== undefined,
      message: store.waiting.isTaken(ORIGIN),
    };
  }

  it("are kept while the local inbox has no such work, and removed 30 days later", () => {
    store.addWork("w1", PLACE, ORIGIN);
    store.drafts.begin("w1");
    prune();
    assert.deepEqual(kept("w1"), { work: true, draft: true, message: true }, "it runs");
    store.answer("w1", PLACE, [{ text: "The buoy is blue." }]);
    prune();
    assert.deepEqual(kept("w1"), { work: true, draft: true, message: true }, "its answer is to be sent");
    now += 31 * DAY_MS;
    prune();
    assert.deepEqual(kept("w1"), { work: false, draft: false, message: false });
  });

  it("are kept however old they are where the work has no answer", () => {
    store.addWork("w1", PLACE, ORIGIN);
    store.drafts.begin("w1");
    now += 31 * DAY_MS;
    prune();
    assert.deepEqual(kept("w1"), { work: true, draft: true, message: true });
    assert.equal(store.unanswered().length, 1);
  });
});
