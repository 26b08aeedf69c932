import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { FULL } from "../../runner/short-form.ts";
import { entriesOf, openStore, temporaryFolder } from "./fixtures.ts";
import { longTest } from "../../runner/long-tests.ts";

const CHILD = join(import.meta.dirname, "writer.child.ts");
const WRITERS = FULL ? 8 : 4;
const TURNS = 6;

longTest(
  "processes that contend for a session, some dying as its owner, write one after the other",
  async (t) => {
    const dir = temporaryFolder(t);
    mkdirSync(join(dir, "sessions"), { recursive: true });
    const children = Array.from({ length: WRITERS }, (_, at) =>
      spawn(process.execPath, [CHILD, "contend", dir, `w${at}`, String(TURNS)], {
        stdio: ["ignore", "pipe", "inherit"],
      }),
    );
    const exits = await Promise.all(
      children.map(async (child) => (await once(child, "exit")) as [unknown, string]),
    );
    assert.deepEqual(
      exits.map(([, signal]) => signal),
      children.map(() => "SIGKILL"),
    );

    const store = openStore(dir);
    const writer = store.openWriter("main", { cwd: "/w" });
    assert.deepEqual(
      writer.notices.map((notice) => notice.kind),
      ["stale_lock_taken"],
    );
    assert.equal(store.list().length, 1, "a key was created twice");
    const entries = entriesOf(writer.record.file);
    assert.equal(entries.length, WRITERS * TURNS * 6);
    entries.forEach((entry, at) => {
      const former = entries[at - 1];
      assert.equal(entry.parentId, former?.id ?? null);
      assert.ok(entry.id > (former?.id ?? ""));
      // Every opening wrote one turn, so the epoch changes with the turn and never goes back.
      if (former && former.turnId === entry.turnId) assert.equal(entry.epoch, former.epoch);
      else assert.ok((entry.epoch ?? 0) > (former?.epoch ?? 0));
    });
    writer.close();
    store.close();
    assert.deepEqual(
      readdirSync(join(dir, "sessions")).filter((name) => /lock|tmp/.test(name)),
      [],
    );
  },
);
