/** kill -9 inside each kind of write, at a statement of SQLite, in the thread that writes. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { rebuildStore } from "../../../../packages/lossless/src/command/rebuild.ts";
import {
  openLosslessStore,
  type LosslessStore,
} from "../../../../packages/lossless/src/store/lossless-store.ts";
import { openSessionStore } from "../../../../packages/host/src/stores/files/session-store.ts";
import { cursorOver, messageEntry } from "../store/fixtures.ts";
import { killedNode, killedPath, killedTurn, TURN } from "../store/killed.ts";
import { KILLED_ENTRIES } from "./kill-plan.ts";
import { FULL } from "../../../runner/short-form.ts";
import { keepTables } from "../../../servers/on-postgres/tables.ts";
import { firstOf } from "../../../runner/long-tests.ts";

const HERE = import.meta.dirname;
const STAYS = 20;
const WRITTEN = 120;

interface Kind {
  thread: "main" | "worker" | "copy";
  /**
   * Statements before which the process is killed in a normal run (none: `crash.test.ts` checks each of them, or the
   * store's own tests kill at some moment); a full run has many more, until the work completes first.
   */
  at: number[];
  /** Folder that the process gets. */
  from: "empty" | "whole" | "large" | "unindexed" | "half deleted" | "transcripts";
  check(store: LosslessStore, folder: string): Promise<void> | void;
}

function assertEntries(store: LosslessStore, sessionId: string, count: number, prefix = "k"): void {
  for (const entry of killedPath(count, prefix))
    assert.equal(store.getJson(entry.id, sessionId), JSON.stringify(entry.message), entry.id);
}

async function assertFound(store: LosslessStore): Promise<void> {
  for (const index of [0, 77, KILLED_ENTRIES - 1])
    assert.equal(
      (await store.search({ query: `kword${index}`, sessions: ["s"] })).length,
      1,
      `kword${index}`,
    );
}

async function checkDeleted(store: LosslessStore, folder: string): Promise<void> {
  // After the thread's running work: the rest of an interrupted deletion.
  await store.verify();
  if (store.session("s")) await store.deleteSession(["s"]);
  for (const name of readdirSync(folder))
    assert.equal(readFileSync(join(folder, name)).includes("kword"), false, name);
}

/** Checks that the old or the new database has everything of the transcript, and can be rebuilt again. */
async function checkRebuilt(store: LosslessStore, folder: string): Promise<void> {
  await assertComplete(store, folder);
  await store.close();
  const transcripts = openSessionStore({ agentDir: folder, agentId: "main" });
  await rebuildStore({ agentDir: folder, config: {}, transcripts });
  transcripts.close();
  const rebuilt = openLosslessStore(folder);
  await assertComplete(rebuilt, folder);
  await rebuilt.close();
}

async function assertComplete(store: LosslessStore, folder: string): Promise<void> {
  const transcripts = openSessionStore({ agentDir: folder, agentId: "main" });
  const reader = transcripts.openReader("told");
  let count = 0;
  for await (const entry of reader.cursor.forward()) {
    if (entry.type !== "message") continue;
    count += 1;
    assert.equal(store.getJson(entry.id, reader.record.sessionId), JSON.stringify(entry.message));
  }
  reader.close();
  transcripts.close();
  assert.equal(count, WRITTEN);
}

/** Sessions of the host, and the database that was made from them. */
async function prepareTranscripts(folder: string): Promise<void> {
  keepTables(folder);
  const transcripts = openSessionStore({ agentDir: folder, agentId: "main" });
  const writer = transcripts.openWriter("told", { cwd: folder, create: true });
  for (const { message } of killedPath(WRITTEN)) writer.append({ type: "message", message });
  const store = openLosslessStore(folder);
  await store.adopt(writer.record.sessionId, writer.cursor, { sessionKey: "told" });
  await store.close();
  writer.close();
  transcripts.close();
}

const KINDS: Record<string, Kind> = {
  index: {
    thread: "worker",
    at: [14],
    from: "unindexed",
    async check(store) {
      assertEntries(store, "s", KILLED_ENTRIES);
      await assertFound(store);
    },
  },
  adopt: {
    thread: "worker",
    at: [],
    from: "empty",
    async check(store) {
      const stored = store.session("s")?.entries ?? 0;
      assertEntries(store, "s", stored);
      const result = await store.adopt("s", cursorOver(killedPath(KILLED_ENTRIES)));
      assert.equal(result.stored, KILLED_ENTRIES - stored);
      assertEntries(store, "s", KILLED_ENTRIES);
      await assertFound(store);
    },
  },
  delete: { thread: "worker", at: [], from: "whole", check: checkDeleted },
  scrub: { thread: "worker", at: [], from: "half deleted", check: checkDeleted },
  rebuild: { thread: "main", at: [300], from: "transcripts", check: checkRebuilt },
  turn: {
    thread: "main",
    at: [],
    from: "whole",
    check(store) {
      const { entries = 0 } = store.session("s") ?? {};
      assert.ok(entries === KILLED_ENTRIES || entries === KILLED_ENTRIES + TURN);
      store.ingestTurn("s", killedTurn(KILLED_ENTRIES / TURN));
      assertEntries(store, "s", KILLED_ENTRIES + TURN);
    },
  },
  summary: {
    thread: "main",
    at: [],
    from: "whole",
    check(store) {
      const { version, nodeIds } = store.frontier("s");
      assert.deepEqual(
        [store.node("n7")?.text, nodeIds],
        version === 1 ? [killedNode(7).text, ["n7"]] : [undefined, []],
      );
    },
  },
  ledger: {
    thread: "main",
    at: [],
    from: "whole",
    check(store) {
      const pins = store.pins("s").length;
      assert.ok(pins === 0 || store.debts().length === 1);
      assert.ok(store.sessionState("s") === undefined || pins === 1);
    },
  },
  backup: {
    thread: "copy",
    // Looks at the copy: on a busy machine there are few of them before it is complete.
    at: [3],
    from: "large",
    check: (store) => assertEntries(store, "s", KILLED_ENTRIES),
  },
};

/** Runs the child on a folder until it is killed or done. */
function run(
  mode: string,
  folder: string,
  killAt: string,
): Promise<{ signal: string | null; output: string }> {
  const hook = join(HERE, "kill-at.hook.ts");
  const child = spawn(process.execPath, ["--import", hook, join(HERE, "kill.child.ts"), mode, folder], {
    env: { ...process.env, KILL_AT: killAt },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => (output += chunk));
  return new Promise((resolve) => child.once("close", (_code, signal) => resolve({ signal, output })));
}

/** A text that no compression and no index can shrink. */
function noise(bytes: number): string {
  let state = 1;
  const data = Buffer.alloc(bytes);
  for (let at = 0; at < bytes; at += 1) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    data[at] = state >>> 16;
  }
  return data.toString("base64");
}

/** Statements of a full run: the first ones, then with doubled distance. */
function* everyPoint(): Generator<number> {
  for (let at = 1; at < 20_000; at *= 2) yield at;
}

describe("after a kill", () => {
  const root = mkdtempSync(join(tmpdir(), "lossless-killed-"));
  const template = (name: Kind["from"]): string => join(root, name.replace(" ", "-"));

  async function prepare(
    name: Kind["from"],
    work: (store: LosslessStore) => Promise<unknown>,
  ): Promise<void> {
    mkdirSync(template(name));
    const store = openLosslessStore(template(name));
    store.ingestTurn("stays", killedPath(STAYS, "stay"));
    await work(store);
    await store.close();
  }

  before(async () => {
    mkdirSync(template("empty"));
    mkdirSync(template("transcripts"));
    await prepareTranscripts(template("transcripts"));
    const path = killedPath(KILLED_ENTRIES);
    await prepare("large", async (store) => {
      const image = { type: "image" as const, data: noise(4_000_000), mimeType: "image/png" };
      store.ingestTurn("image", [messageEntry("image", null, { role: "user", content: [image] })]);
      await store.adopt("s", cursorOver(path));
    });
    await prepare("unindexed", (store) => store.adopt("s", cursorOver(path), { index: "later" }));
    if (!FULL) return;
    await prepare("whole", (store) => store.adopt("s", cursorOver(path)));
    cpSync(template("whole"), template("half deleted"), { recursive: true });
    const half = await run("delete", template("half deleted"), "worker:150");
    assert.equal(half.signal, "SIGKILL");
  });
  after(() => rmSync(root, { recursive: true, force: true }));

  async function killed(mode: string, kind: Kind, at: number): Promise<boolean> {
    const place = mkdtempSync(join(root, `${mode}-`));
    const folder = join(place, "agent");
    cpSync(template(kind.from), folder, { recursive: true });
    const { signal, output } = await run(mode, folder, `${kind.thread}:${at}`);
    const store = openLosslessStore(folder);
    try {
      assert.deepEqual((await store.verify()).problems, []);
      if (kind.from !== "empty" && kind.from !== "transcripts") assertEntries(store, "stays", STAYS, "stay");
      await kind.check(store, folder);
      assert.ok(signal === "SIGKILL" || output.endsWith("done\n"), `${mode} ended with ${signal}: ${output}`);
      if (mode === "backup") await checkBackup(join(place, "backup.db"));
    } finally {
      await store.close();
      rmSync(place, { recursive: true, force: true });
    }
    return signal === "SIGKILL";
  }

  /** Checks that an unfinished copy has not the name of a complete one. */
  async function checkBackup(file: string): Promise<void> {
    if (!existsSync(file)) return;
    const restored = join(file, "..", "restored");
    mkdirSync(restored);
    cpSync(file, join(restored, "lossless.db"));
    const store = openLosslessStore(restored);
    // A partial copy is reported as damaged when it replaces the database.
    if (!store.notices.some(({ kind }) => kind === "rebuilt_corrupt"))
      assertEntries(store, "s", KILLED_ENTRIES);
    await store.close();
  }

  const kinds = Object.entries(KINDS).filter(([, { at }]) => FULL || at.length > 0);
  for (const [mode, kind] of firstOf(kinds))
    it(`inside ${mode} no stored data is lost, and the work can be repeated`, async (t) => {
      let kills = 0;
      for (const at of FULL ? everyPoint() : kind.at) {
        const wasKilled = await killed(mode, kind, at);
        if (wasKilled) kills += 1;
        else if (FULL) break;
      }
      t.diagnostic(`${kills} kills`);
      assert.ok(kills >= (FULL ? 5 : kind.at.length), `${kills} kills`);
    });
});
