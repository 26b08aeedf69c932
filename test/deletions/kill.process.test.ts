/** kill -9 before each write of `pagurus sessions delete`: whoever comes next finishes what it began. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, describe, it } from "node:test";
import { createPagurus } from "../../packages/app/src/app.ts";
import { agentsWithDeletions } from "../../packages/core/src/platform/deletions.ts";
import type { ApiBench } from "../model-api/setting.ts";
import { byLength } from "../runner/short-form.ts";
import { runInside, type InsideResult } from "../turn/inside.ts";
import { filledBench, FORKED_WORD, KEY, OTHER_WORD, say, traces, WORDS } from "./filled-home.ts";

const MAIN = resolve(import.meta.dirname, "../../bin/pagurus.js");
const PRELOAD = resolve(import.meta.dirname, "kill-writes.ts");
const KILLS = byLength(200, 24, 8);
/** A number of a write that no deletion reaches. */
const NEVER = 1_000_000;

describe("a deletion that is killed", () => {
  let bench: ApiBench;
  let root: string;
  before(async () => {
    bench = await filledBench();
    root = mkdtempSync(join(tmpdir(), "pagurus-deleted-"));
  });
  after(async () => {
    await bench.start();
    await bench.end();
    rmSync(root, { recursive: true, force: true });
  });

  function copy(name: string): string {
    const home = join(root, name, "home");
    cpSync(bench.setting.home, home, { recursive: true });
    return home;
  }

  function envOf(home: string): Record<string, string> {
    return { ...bench.setting.env, PAGURUS_HOME: home, PAGURUS_CAPTURE: "0" };
  }

  /** Deletes in a process that is killed before a write; returns the number of writes up to its end. */
  async function deleteKilled(home: string, at: number): Promise<number> {
    const count = join(home, "..", "count");
    writeFileSync(count, "");
    const kill = { KILL_COUNT: count, KILL_AT: String(at), KILL_BELOW: home };
    const args = ["--import", PRELOAD, MAIN, "sessions", "delete", KEY, "--yes"];
    const child = spawn(process.execPath, args, {
      cwd: bench.setting.workspace,
      env: { ...envOf(home), ...kill },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let errors = "";
    child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
    const [code, signal] = (await once(child, "exit")) as [number | null, string | null];
    if (at === NEVER) assert.equal(code, 0, errors);
    else assert.equal(signal, "SIGKILL", `${at}: ${code} ${errors}`);
    return readFileSync(count).length;
  }

  function command(home: string, ...args: string[]): Promise<InsideResult> {
    return runInside(args, { cwd: bench.setting.workspace, env: envOf(home) });
  }

  /** Another session asks the model, which searches all sessions of the agent. */
  async function turn(home: string): Promise<void> {
    const from = bench.model.requests.length;
    const pagurus = await createPagurus({ home, env: envOf(home) });
    try {
      await say(pagurus, "What do we have?", "other", bench.setting.workspace);
      for (const word of WORDS) assert.deepEqual(pagurus.sessions().search(word), []);
    } finally {
      await pagurus.close();
    }
    const sent = JSON.stringify(bench.model.requests.slice(from));
    for (const word of WORDS) assert.equal(sent.includes(word), false);
  }

  const NEXT: readonly { name: string; run: (home: string) => Promise<void> }[] = [
    {
      name: "another deletion",
      run: async (home) => {
        const { code, stdout, stderr } = await command(home, "sessions", "delete", KEY, "--yes");
        assert.equal(code, 0, stderr);
        assert.match(stdout, /^Deleted 4 conversations|had been interrupted, and is finished now/);
      },
    },
    {
      name: "the doctor",
      run: async (home) => {
        const { stdout } = await command(home, "doctor");
        assert.match(stdout, new RegExp(`The deletion of ${KEY} had been interrupted, and is finished now`));
      },
    },
    { name: "a turn of another session", run: turn },
    {
      name: "a search in the engine's store",
      run: async (home) => {
        const { stdout } = await command(home, "lossless", "search", WORDS[0], "--all");
        assert.equal(stdout.includes(WORDS[0]), false, stdout);
      },
    },
  ];

  /** Whether the deletion is on the disk: before that, nothing is removed. */
  function hasBegun(home: string): boolean {
    return agentsWithDeletions(home).length > 0;
  }

  it(`leaves no word after any of ${KILLS} kills, whoever comes next`, async () => {
    const whole = copy("whole");
    const writes = await deleteKilled(whole, NEVER);
    assert.deepEqual(traces(whole), []);
    let begun = 0;
    const kills = Math.min(KILLS, writes);
    for (let kill = 0; kill < kills; kill += 1) {
      const at = 1 + Math.floor((kill * writes) / kills);
      const home = copy(String(kill));
      await deleteKilled(home, at);
      const isBegun = hasBegun(home);
      if (!isBegun && traces(home).length === 0) continue;
      const next = NEXT[kill % NEXT.length];
      const note = `killed before write ${at} of ${writes}, then ${next?.name}`;
      try {
        if (isBegun) {
          begun += 1;
          await next?.run(home);
        } else await command(home, "sessions", "delete", KEY, "--yes");
        assert.deepEqual(traces(home), []);
        assert.notDeepEqual(traces(home, [OTHER_WORD]), []);
        assert.notDeepEqual(traces(home, [FORKED_WORD]), []);
        assert.equal(hasBegun(home), false);
        const again = await command(home, "sessions", "delete", KEY, "--yes");
        assert.match(again.stderr, /session_not_found/);
      } catch (error) {
        throw new Error(note, { cause: error });
      }
      rmSync(join(home, ".."), { recursive: true, force: true });
    }
    assert.ok(begun > kills / 3, `${begun} kills of ${kills} hit the deletion`);
  });
});
