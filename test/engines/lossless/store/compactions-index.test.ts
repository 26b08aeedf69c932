/** The index of compactions, which a database of an earlier program lacks, in a file that is damaged. */
import assert from "node:assert/strict";
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import type { TranscriptEntry } from "../../../../packages/contract/src/session/transcript.ts";
import { carriedFrom } from "../../../../packages/lossless/src/command/carry.ts";
import { openLosslessStore } from "../../../../packages/lossless/src/store/lossless-store.ts";
import { chain } from "./fixtures.ts";

function compaction(id: string, parentId: string): TranscriptEntry {
  return {
    type: "compaction",
    id,
    parentId,
    timestamp: "2026-05-01T10:00:00.000Z",
    summary: `Up to ${id}`,
    firstKeptEntryId: "e1",
    tokensBefore: 3,
    origin: "model",
  };
}

async function withFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "lossless-compactions-"));
  try {
    await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Changes a closed database. */
function change(file: string, work: (raw: DatabaseSync) => void): void {
  const raw = new DatabaseSync(file, { defensive: false });
  try {
    work(raw);
    raw.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  } finally {
    raw.close();
  }
}

/** A page in the middle of the entries is lost. */
function damageEntries(file: string): void {
  let page = { pageno: 0, size: 0 };
  change(file, (raw) => {
    const sql = `SELECT pageno, pgsize AS size FROM dbstat WHERE name = 'entries' AND pagetype = 'leaf' ORDER BY path`;
    const pages = raw.prepare(sql).all() as unknown as (typeof page)[];
    page = pages[pages.length >> 1] ?? assert.fail();
  });
  const fd = openSync(file, "r+");
  writeSync(fd, Buffer.alloc(page.size, 0xff), 0, page.size, (page.pageno - 1) * page.size);
  closeSync(fd);
}

describe("the index of compactions", () => {
  it("is added to a database that an earlier program made, which finds what was compacted before", () =>
    withFolder(async (folder) => {
      const store = openLosslessStore(folder);
      store.ingestTurn("s", [...chain(["a", "b"]), compaction("k1", "e1"), ...chain(["c"], "f", "k1")]);
      await store.close();
      change(store.file, (raw) => raw.exec("DROP INDEX entries_compaction"));
      const again = openLosslessStore(folder);
      try {
        assert.equal(again.newestCompaction("s")?.entryId, "k1");
        assert.equal((await again.verify()).ok, true);
      } finally {
        await again.close();
      }
      change(store.file, (raw) => {
        assert.ok(raw.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'entries_compaction'").get());
        assert.equal(raw.prepare("PRAGMA user_version").get()?.["user_version"], 5);
      });
    }));

  it("is left out where a page is damaged, so that pins are kept", () =>
    withFolder(async (folder) => {
      const texts = Array.from({ length: 3_000 }, (_, at) => `note number ${at} about tides and lamps`);
      const store = openLosslessStore(folder);
      store.ingestTurn("s", chain(texts));
      store.pin("s", { entryId: "e5", pinnedAt: 5 });
      await store.close();
      change(store.file, (raw) => raw.exec("DROP INDEX entries_compaction"));
      damageEntries(store.file);
      assert.equal(carriedFrom(store.file)?.pins.get("s")?.length, 1);
      const again = openLosslessStore(folder);
      try {
        assert.deepEqual(again.notices, []);
        assert.equal(again.pins("s").length, 1);
      } finally {
        await again.close();
      }
    }));

  it("is not believed where the compaction itself is lost", () =>
    withFolder(async (folder) => {
      const store = openLosslessStore(folder);
      store.ingestTurn("s", [...chain(["a", "b"]), compaction("k1", "e1"), ...chain(["c"], "f", "k1")]);
      store.ingestTurn("s", [compaction("k2", "f0")]);
      await store.close();
      const sets = (from: number, to: number) => (raw: DatabaseSync) =>
        raw.exec(
          `PRAGMA writable_schema = ON;
           UPDATE sqlite_schema SET sql = replace(sql, 'kind = ${from}', 'kind = ${to}') WHERE name = 'entries_compaction';
           PRAGMA writable_schema = RESET`,
        );
      // Hidden from SQLite while the row is removed, the index keeps its entry.
      change(store.file, sets(3, 99));
      change(store.file, (raw) =>
        raw.exec("DELETE FROM entries WHERE num = (SELECT max(num) FROM entries WHERE kind = 3)"),
      );
      change(store.file, sets(99, 3));
      const again = openLosslessStore(folder);
      try {
        assert.throws(() => again.newestCompaction("s"), { code: "store_read_failed", message: /damaged/ });
      } finally {
        await again.close();
      }
    }));
});
