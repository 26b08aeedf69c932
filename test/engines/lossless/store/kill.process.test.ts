/** Kills a process with SIGKILL in the middle of each kind of write. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import {
  openLosslessStore,
  type LosslessStore,
} from "../../../../packages/lossless/src/store/lossless-store.ts";
import { cursorOver } from "./fixtures.ts";
import { killedNode, killedPath, TURN } from "./killed.ts";
import { FULL } from "../../../runner/short-form.ts";
import { longTest } from "../../../runner/long-tests.ts";

const CHILD = join(import.meta.dirname, "writer.child.ts");

/** Milliseconds between the first step that the child reports and its end. */
const MOMENTS = FULL ? [0, 3, 7, 11, 20, 40, 60, 90, 150, 250, 400] : [40];

/** Starts the child, kills it, and returns the last step that it reported. */
async function killed(mode: string, folder: string, delayMs: number): Promise<number> {
  const child = spawn(process.execPath, [CHILD, mode, folder], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((resolve) => child.once("close", resolve));
  let output = "";
  await new Promise<void>((resolve) => {
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      output += chunk;
      if (output.includes("\n")) resolve();
    });
    child.once("exit", () => resolve());
  });
  await wait(delayMs);
  child.kill("SIGKILL");
  await ended;
  const lines = output.split("\n").slice(0, -1);
  assert.ok(lines.length > 0, "the child ended by itself");
  return Number(lines.at(-1));
}

async function rounds(
  mode: string,
  check: (store: LosslessStore, last: number, folder: string) => Promise<void>,
): Promise<void> {
  for (const delayMs of MOMENTS) {
    const folder = mkdtempSync(join(tmpdir(), "lossless-kill-"));
    const last = await killed(mode, folder, delayMs);
    const store = openLosslessStore(folder);
    try {
      await check(store, last, folder);
      assert.deepEqual((await store.verify()).problems, []);
    } finally {
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    }
  }
}

function assertPath(store: LosslessStore, sessionId: string, count: number, prefix = "k"): void {
  for (const entry of killedPath(count, prefix))
    assert.equal(store.getJson(entry.id, sessionId), JSON.stringify(entry.message));
  assert.equal(store.walkBack(sessionId).items.length, count);
}

describe("after a kill", () => {
  it("a turn is stored completely or not at all, and so is every reported one", async () => {
    await rounds("turns", async (store, last) => {
      const entries = store.session("s")?.entries ?? 0;
      assert.equal(entries % TURN, 0);
      assert.ok(entries >= (last + 1) * TURN);
      assertPath(store, "s", entries);
      assert.equal((await store.search({ query: `kword${entries - 1}` })).length, 1);
    });
  });

  longTest("a published frontier is stored with its summaries", async () => {
    await rounds("summaries", async (store, last) => {
      const frontier = store.frontier("s");
      assert.ok(frontier.version >= last + 1);
      const step = frontier.version - 1;
      assert.deepEqual(frontier.nodeIds, [`n${step}`]);
      assert.equal(store.node(`n${step}`)?.text, killedNode(step).text);
      assert.equal(store.publishFrontier("s", step, { nodeIds: [], firstKeptEntryId: null }), false);
    });
  });

  longTest("an adoption continues after the written entries", async () => {
    await rounds("adopt", async (store, last) => {
      const before = store.session("s")?.entries ?? 0;
      assert.ok(before >= last);
      assertPath(store, "s", before);
      const result = await store.adopt("s", cursorOver(killedPath(2_000)));
      assert.equal(result.stored, 2_000 - before);
      assertPath(store, "s", 2_000);
      for (const index of [0, 777, 1_999])
        assert.equal((await store.search({ query: `kword${index}` })).length, 1);
    });
  });

  longTest("a deletion is finished at the next opening", async () => {
    await rounds("delete", async (store, _last, folder) => {
      // The thread runs tasks one after the other: the rest of the deletion comes before the checks.
      assert.deepEqual((await store.verify()).problems, []);
      if (store.session("s")) await store.deleteSession(["s"]);
      for (const name of readdirSync(folder))
        assert.equal(readFileSync(join(folder, name)).includes("secretword"), false, name);
      assertPath(store, "stays", 20);
    });
  });
});
