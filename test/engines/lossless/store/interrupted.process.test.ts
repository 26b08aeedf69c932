/** Work that is interrupted because a store is closed, a session deleted, or the disk full. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { MessageEntry } from "../../../../packages/contract/src/session/transcript.ts";
import { openDatabase } from "../../../../packages/lossless/src/store/open-database.ts";
import { LosslessStore, openLosslessStore } from "../../../../packages/lossless/src/store/lossless-store.ts";
import { chain, cursorOver, withStore } from "./fixtures.ts";
import { limitedPath } from "./limited.ts";
import { longTest } from "../../../runner/long-tests.ts";

function notes(count: number, prefix = "e"): MessageEntry[] {
  return chain(
    Array.from({ length: count }, (_, index) => `${prefix} note ${index} ${prefix}needle${index}`),
    prefix,
  );
}

/** Asserts that every entry of the path is stored, complete and searchable. */
async function assertWhole(
  store: LosslessStore,
  sessionId: string,
  path: readonly MessageEntry[],
): Promise<void> {
  for (const entry of path) assert.equal(store.getJson(entry.id, sessionId), JSON.stringify(entry.message));
  assert.equal(store.session(sessionId)?.entries, path.length);
  const last = path.at(-1)?.message.content;
  assert.ok(typeof last === "string");
  assert.equal((await store.search({ query: last, sessions: [sessionId] }))[0]?.entryId, path.at(-1)?.id);
  assert.deepEqual((await store.verify()).problems, []);
}

describe("a store that is closed", () => {
  longTest(
    "in the middle of an adoption keeps the reported entries; the next opening continues",
    async () => {
      await withStore(async (store, folder) => {
        const path = notes(6_000);
        let reported = 0;
        let closing: Promise<void> | undefined;
        const adopting = store.adopt("s", cursorOver(path), {
          onProgress: ({ stored }) => {
            reported = stored;
            if (stored >= 500) closing ??= store.close();
          },
        });
        await assert.rejects(adopting, { code: "turn_aborted" });
        await closing;
        const again = openLosslessStore(folder);
        try {
          const kept = again.session("s")?.entries ?? 0;
          assert.ok(kept >= reported && kept < path.length);
          assert.equal((await again.adopt("s", cursorOver(path))).stored, path.length - kept);
          await assertWhole(again, "s", path);
        } finally {
          await again.close();
        }
      });
    },
  );

  longTest(
    "in the middle of indexing lets the next search continue; no further entries are stored",
    async () => {
      await withStore(async (store, folder) => {
        const path = notes(3_000);
        await store.adopt("s", cursorOver(path), { index: "later" });
        const indexing = assert.rejects(store.search({ query: "eneedle7" }), { code: "turn_aborted" });
        await store.close();
        await indexing;
        await assert.rejects(store.adopt("s", cursorOver(path)), { code: "turn_aborted" });
        assert.throws(() => store.ingestTurn("s", notes(1, "x")), { code: "turn_aborted" });
        const again = openLosslessStore(folder);
        try {
          await assertWhole(again, "s", path);
        } finally {
          await again.close();
        }
      });
    },
  );
});

describe("a deletion in the middle of an adoption", () => {
  longTest(
    "ends it and leaves no byte of the session's text; the adoption of another session continues",
    async () => {
      await withStore(async (store, folder) => {
        const [gone, stays] = [notes(6_000, "g"), notes(3_000, "k")];
        let deleting: Promise<unknown> | undefined;
        const adoptions = [
          assert.rejects(
            store.adopt("gone", cursorOver(gone), {
              onProgress: () => {
                deleting ??= store.deleteSession(["gone"]);
              },
            }),
            { code: "turn_aborted" },
          ),
          store.adopt("stays", cursorOver(stays)),
        ];
        await Promise.all(adoptions);
        await deleting;
        assert.equal(store.session("gone"), undefined);
        for (const name of readdirSync(folder))
          assert.equal(readFileSync(join(folder, name)).includes("gneedle"), false, name);
        assert.deepEqual(await store.search({ query: "gneedle7" }), []);
        await assertWhole(store, "stays", stays);
      });
    },
  );
});

describe("a full disk", () => {
  it("stops a turn with one sentence; earlier turns are kept, and it is stored once space is free", async () => {
    const folder = mkdtempSync(join(tmpdir(), "lossless-full-"));
    const opened = openDatabase(folder);
    const { file, db } = opened;
    const store = new LosslessStore(opened);
    try {
      const path = notes(2_000);
      const turn = (index: number): MessageEntry[] => path.slice(index * 10, index * 10 + 10);
      db.raw.exec("PRAGMA max_page_count = 80");
      let turns = 0;
      assert.throws(
        () => {
          for (; turns < 200; turns++) store.ingestTurn("s", turn(turns));
        },
        {
          code: "store_write_failed",
          message: `Cannot write to ${file}: the disk is full; free some space and try again.`,
        },
      );
      assert.ok(turns > 0 && turns < 200);
      assert.throws(() => store.setSessionState("s", { text: "long ".repeat(50_000) }), {
        code: "store_write_failed",
      });
      assert.equal(store.walkBack("s").items.length, turns * 10);
      db.raw.exec("PRAGMA max_page_count = 1000000");
      for (; turns < 200; turns++) store.ingestTurn("s", turn(turns));
      await assertWhole(store, "s", path);
    } finally {
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });

  longTest(
    "stops an adoption with one sentence; the reported entries are kept, and the next one continues",
    async () => {
      const folder = mkdtempSync(join(tmpdir(), "lossless-full-"));
      try {
        const child = join(import.meta.dirname, "limited.child.ts");
        // Blocks of 512 bytes: 1 MB, less than the text of the transcript.
        const limited = spawn(
          "sh",
          ["-c", 'ulimit -f 2000 && exec "$0" "$@"', process.execPath, child, folder],
          {
            stdio: ["ignore", "pipe", "inherit"],
          },
        );
        let output = "";
        limited.stdout.setEncoding("utf8").on("data", (chunk: string) => (output += chunk));
        await new Promise((resolve) => limited.once("close", resolve));
        const { stored, code, message } = JSON.parse(output) as {
          stored: number;
          code: string;
          message: string;
        };
        const path = limitedPath();
        assert.ok(stored < path.length);
        assert.equal(code, "store_write_failed");
        assert.match(
          message,
          /^Cannot write to \S+lossless\.db: the disk refused it \(.+\); check the disk and its free space\.$/,
        );
        const store = openLosslessStore(folder);
        try {
          const kept = store.session("s")?.entries ?? 0;
          assert.ok(kept >= stored);
          await store.adopt("s", cursorOver(path));
          await assertWhole(store, "s", path);
        } finally {
          await store.close();
        }
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    },
  );
});
