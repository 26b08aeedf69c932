import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { ChannelStore, type Place } from "../../packages/channels/src/channel-store.ts";
import { openSqlite, type Database } from "../../packages/core/src/data/sqlite.ts";

const PLACE: Place = {
  channel: "home",
  address: "ann@example.org",
  isGroup: false,
  thread: "0123456789abcdef",
  reply: "{}",
};

describe("threads in the store of channels", () => {
  let folder: string;
  let db: Database;
  let now = 0;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "pagurus-threads-"));
    db = openSqlite(join(folder, "server.db"));
    now = 10_000;
  });
  afterEach(() => {
    db.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it("are kept with the work and with what is sent", () => {
    const store = new ChannelStore(db, () => now);
    store.addWork("w1", PLACE);
    assert.deepEqual(store.placeOf("w1"), PLACE);
    assert.deepEqual(store.unanswered(), [{ workId: "w1", place: PLACE }]);
    store.answer("w1", PLACE, [{ text: "one" }, { text: "two" }]);
    const first = store.nextOutgoing("home");
    assert.equal(first?.message.thread, PLACE.thread);
    assert.equal(first?.message.reply, PLACE.reply);
    assert.equal(first?.message.triedAt, undefined);
    store.setOutgoing("w1-0", "sending");
    now = 20_000;
    const again = store.nextOutgoing("home");
    assert.equal(again?.isRepeat, true);
    assert.equal(again?.message.triedAt, 10_000);
  });

  it("are counted by person and time", () => {
    const store = new ChannelStore(db, () => now);
    store.answer("w1", PLACE, [{ text: "one" }, { text: "two" }]);
    now = 20_000;
    store.answer("w2", PLACE, [{ text: "three" }]);
    store.answer("w3", { ...PLACE, thread: "fedcba9876543210" }, [{ text: "four" }]);
    assert.equal(store.queuedSince(PLACE, 0), 3);
    assert.equal(store.queuedSince(PLACE, 15_000), 1);
    assert.equal(store.queuedToSince(PLACE, 0), 4, "the threads of a person together");
    assert.equal(store.queuedSince({ ...PLACE, address: "bob@example.org" }, 0), 0);
  });
});
