/** Walks of a session that is closed meanwhile: the system gives its descriptor to another file. */
import assert from "node:assert/strict";
import { closeSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { TranscriptEntry } from "../../../packages/contract/src/session/transcript.ts";
import { openStore, sayTurn, temporaryFolder } from "./fixtures.ts";

for (const direction of ["forward", "backward"] as const)
  test(`a walk ${direction} ends when its session is closed, and reads no other file`, async (t) => {
    const dir = temporaryFolder(t);
    const store = openStore(dir);
    t.after(() => store.close());
    const writer = store.openWriter("main", { cwd: "/project" });
    for (let turn = 0; turn < 200; turn += 1) sayTurn(writer, `t${turn}`, "a word ".repeat(400));
    writer.close();
    const reader = store.openReader("main");
    const entries = new Set<string>();
    const walk = reader.cursor[direction]()[Symbol.asyncIterator]();
    const first = await walk.next();
    assert.equal(first.done, false);
    reader.close();
    const other = join(dir, "other");
    writeFileSync(other, `${"{}\n".repeat(600_000)}`);
    const fds = Array.from({ length: 8 }, () => openSync(other, "r"));
    t.after(() => fds.forEach((fd) => closeSync(fd)));
    await assert.rejects(async () => {
      for (let next = await walk.next(); next.done !== true; next = await walk.next())
        entries.add((next.value as TranscriptEntry).id);
    }, /was closed/);
    assert.ok(entries.size > 0);
    const again = store.openWriter("main", { cwd: "/project" });
    assert.deepEqual(again.notices, []);
    again.close();
  });
