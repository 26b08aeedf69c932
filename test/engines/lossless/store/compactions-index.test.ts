/** The index of compactions in a file that is damaged. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import type { TranscriptEntry } from "../../../../packages/contract/src/session/transcript.ts";
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

describe("the index of compactions", () => {
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
