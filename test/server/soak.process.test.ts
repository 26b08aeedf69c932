/** Many turns of several sessions through one server: its memory and open files stay flat, and its events are pruned. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { setTimeout as pause } from "node:timers/promises";
import { after, before, describe, it } from "node:test";
import { openSqlite } from "../../packages/core/src/data/sqlite.ts";
import { serverDatabaseFile } from "../../packages/inbox/src/server-database.ts";
import { FULL } from "../runner/short-form.ts";
import { MovedClock } from "../servers/clock.ts";
import { startServer, type ModelServer, type ReplyStep } from "../servers/server.ts";
import { makeSetting, modelConfig, type Setting } from "../turn/setting.ts";
import { until } from "../runner/until.ts";
import { readBody } from "../turn/wire-bodies.ts";
import { ServeProcess } from "./serve-setting.ts";
import { longTest } from "../runner/long-tests.ts";

const SESSIONS = 10;
/** Rounds of one turn a session after which the server is measured: its first, second and last measurement. */
const MEASURED = FULL ? [10, 50, 150] : [2, 4, 6];
const ROUNDS = MEASURED.at(-1) ?? 0;
/** Growth of the memory that is in use, from the first measurement on, MB: the conversations grow meanwhile. */
const MOST_HEAP_MB = 12;
/** Growth of the resident memory from the second measurement on, MB: before it V8 has not collected everything once. */
const MOST_RESIDENT_MB = 60;
/** Growth of the open files from the second measurement on: before it a busy server has not opened each session's work. */
const MOST_MORE_FILES = 5;
const RETENTION_MS = 10 * 60_000;
const TEXT = "A line of the answer that is long enough to be sent in pieces. ".repeat(20);

interface Use {
  heapMb: number;
  residentMb: number;
  files: number;
}

describe(`${ROUNDS * SESSIONS} turns through one server`, () => {
  let model: ModelServer;
  let setting: Setting;
  let server: ServeProcess;
  let clock: MovedClock;

  before(async () => {
    model = await startServer({
      protocol: "openai-completions",
      script: (request): ReplyStep => {
        const { messages } = readBody("openai-completions", request);
        // Thousands of them would be gigabytes.
        model.requests.length = 0;
        if (messages.at(-1)?.role === "tool") return { text: TEXT, chunkSize: 40 };
        return { toolCalls: [{ id: `c${messages.length}`, name: "read", arguments: { path: "note.txt" } }] };
      },
    });
    setting = makeSetting(modelConfig("openai-completions", model.url));
    writeFileSync(join(setting.workspace, "note.txt"), "A note.\n".repeat(50));
    clock = new MovedClock(setting);
    const probe = pathToFileURL(join(import.meta.dirname, "../servers/heap-probe.ts")).href;
    setting.env["NODE_OPTIONS"] = `${setting.env["NODE_OPTIONS"] ?? ""} --import=${probe}`;
    setting.env["PAGURUS_TEST_HEAP"] = join(setting.root, "heap");
    server = await ServeProcess.start(setting);
  });
  after(async () => {
    await server.kill();
    await model.close();
    setting.remove();
  });

  const openFiles = (): number => readdirSync(`/proc/${server.child.pid}/fd`).length;

  async function use(): Promise<Use> {
    const heap = join(setting.root, "heap");
    rmSync(heap, { force: true });
    server.child.kill("SIGURG");
    while (!existsSync(heap)) await pause(20);
    const process = `/proc/${server.child.pid}`;
    const [, kb = "0"] = /VmRSS:\s+(\d+)/.exec(readFileSync(`${process}/status`, "utf8")) ?? [];
    const heapMb = Number(readFileSync(heap, "utf8")) / 2 ** 20;
    return { heapMb, residentMb: Number(kb) / 1_024, files: openFiles() };
  }

  /** One turn in each session, each followed to its end. */
  async function round(number: number): Promise<void> {
    await Promise.all(
      Array.from({ length: SESSIONS }, async (_, index) => {
        const prompt = `Round ${number}: read the note.`;
        const posted = await server.call("POST", `/api/v1/sessions/s${index}/turns`, { prompt });
        const path = `/api/v1/work/${String(posted.body["id"])}/events`;
        const events = await server.events(path, ({ type }) => type === "work.ended");
        assert.equal(events.at(-1)?.data["outcome"], "completed");
      }),
    );
  }

  function eventsOf(types: readonly string[]): number {
    const db = openSqlite(serverDatabaseFile(setting.home), { readOnly: true });
    const where = types.map((type) => `'${type}'`).join(", ");
    const found = db.get<{ n: number }>(`SELECT count(*) AS n FROM events WHERE type IN (${where})`);
    db.close();
    return found?.n ?? 0;
  }

  longTest("leave its memory and its open files as they were", async (t) => {
    const uses: Use[] = [];
    for (let number = 1; number <= ROUNDS; number += 1) {
      await round(number);
      if (!MEASURED.includes(number)) continue;
      const measured = await use();
      uses.push(measured);
      const { heapMb, residentMb, files } = measured;
      t.diagnostic(
        `after ${number * SESSIONS} turns: ${heapMb.toFixed(1)} MB in use, ${residentMb.toFixed(0)} MB resident, ${files} open files`,
      );
    }
    const [first, second, last] = uses;
    assert.ok(first && second && last);
    const grown = (from: Use, what: keyof Use): number => last[what] - from[what];
    assert.ok(grown(first, "heapMb") < MOST_HEAP_MB, JSON.stringify(uses));
    assert.ok(grown(second, "residentMb") < MOST_RESIDENT_MB, JSON.stringify(uses));
    // A busy machine has more connections open at once; each is closed after some idle seconds, and a lost file never is.
    const most = second.files + MOST_MORE_FILES;
    await until(
      () => openFiles() <= most,
      () => `${openFiles()} open files, of at most ${most}: ${JSON.stringify(uses)}`,
    );
  });

  // The server looks once a minute: too long for the short form, which has a test of the log alone.
  if (FULL)
    it("leave no deltas after the retention, and keep each message", async () => {
      const [deltas, messages] = [eventsOf(["text.delta"]), eventsOf(["message"])];
      assert.ok(deltas > 0 && messages >= ROUNDS * SESSIONS);
      clock.set(clock.now + RETENTION_MS + 60_000);
      while (eventsOf(["text.delta", "thinking.delta", "tool.output"]) > 0) await pause(500);
      assert.equal(eventsOf(["message"]), messages);
      assert.equal(eventsOf(["work.ended"]), ROUNDS * SESSIONS);
    });
});
