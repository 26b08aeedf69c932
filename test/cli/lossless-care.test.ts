import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, it } from "node:test";
import { runCommand } from "../../packages/host/src/command/host-command.ts";
import { registerRowSum } from "../../packages/core/src/platform/row-sums.ts";
import { startServer, type ReplyScript } from "../servers/server.ts";
import { modelConfig } from "../turn/setting.ts";
import { StoreSetting, SUM_ENTRIES } from "./store-setting.ts";
import { longTest } from "../runner/long-tests.ts";

interface Report {
  sessions: number;
  session?: { entries: number; pins: number; adopted: boolean; epoch?: { id: string } };
  summaries: { origin: string; count: number }[];
  debts: { count: number; due: number; attempts: number; errorCode?: string };
}
interface Check {
  ok: boolean;
  problems: string[];
  notes: string[];
  compared: { sessions: number; entries: number };
}
interface Work {
  summaries: number;
  failed: number;
  encoded: number;
  end: string;
  debts: { count: number; due: number };
  spent: { calls: number };
  notes: string[];
}

/** A complete summary, with the names that the prompt asks for. */
const goodSummary: ReplyScript = ({ body }) => {
  const named = /these (?:changed files|exact strings): ([^\\]*)/g;
  const asked = Array.from(JSON.stringify(body).matchAll(named), ([, list]) => list);
  const parts = ["Goal", "State", "Decisions and constraints", "Open asks"].map(
    (heading) => `## ${heading}\n- The quays are looked after.`,
  );
  return { text: `${parts.join("\n")}\n${asked.join(", ")}` };
};

let setting: StoreSetting;

const statusOf = (): Promise<Report> => setting.json<Report>(["lossless", "status"]);

/** Changes the database without the engine. */
function tamper(sql: string): void {
  const db = new DatabaseSync(setting.database);
  try {
    registerRowSum(db);
    db.exec(sql);
  } finally {
    db.close();
  }
}

describe("pagurus lossless verify and rebuild", () => {
  beforeEach(() => {
    setting = new StoreSetting();
  });
  afterEach(() => setting.remove());
  longTest("find differences from the transcript, and restore: the same context, with its pins", async () => {
    await setting.talk(10);
    await setting.withHost((pagurus) =>
      runCommand("/pin", { pagurus, sessionKey: "main", agentId: "main", cwd: setting.root }),
    );
    const good = await setting.run(["lossless", "verify"]);
    assert.equal(good.code, 0);
    assert.match(good.out, /✓ The store is whole; \d+ entries of 1 session are what their transcripts say\./);
    const before = await statusOf();
    const answer =
      (await setting.json<{ entryId: string }[]>(["lossless", "search", "quay"]))[0]?.entryId ?? "";
    tamper(
      `UPDATE entries SET body = '{"role":"user","content":"never said"}' WHERE id = '${answer}'; ${SUM_ENTRIES}`,
    );
    const bad = await setting.run(["lossless", "verify"]);
    assert.equal(bad.code, 1);
    assert.ok(bad.out.includes(`not what the transcript says: ${answer}`));
    assert.match(bad.out, /Nothing is lost: pagurus lossless rebuild restores the store/);
    const rebuilt = await setting.run(["lossless", "rebuild"]);
    assert.equal(rebuilt.code, 0, rebuilt.err);
    assert.match(
      rebuilt.out,
      /: 1 session, \d+ entries, 1 pin; 1 begin with a summary from the transcript\./,
    );
    assert.match(rebuilt.err, /^1 of 1: main$/m);
    const check = await setting.json<Check>(["lossless", "verify"]);
    assert.deepEqual([check.problems, check.notes], [[], []]);
    const after = await statusOf();
    assert.equal(after.session?.epoch?.id, before.session?.epoch?.id);
    assert.deepEqual([after.session?.pins, after.session?.adopted], [1, true]);
    assert.equal(existsSync(join(setting.agentDir, "lossless.rebuild")), false);
    assert.equal(statSync(setting.database).mode & 0o777, 0o600);
  });

  longTest("distinguish missing entries from those that are not indexed yet", async () => {
    await setting.talk(2);
    setting.configure({ plugins: { slots: { contextEngine: "legacy" } } });
    await setting.talk(1, { first: 3 });
    await setting.talk(1, { sessionKey: "new" });
    setting.configure();
    const check = await setting.json<Check>(["lossless", "verify"]);
    assert.match(
      check.notes.join(" "),
      /main: the newest \d+ entries are not indexed yet; the next turn will index them\./,
    );
    assert.match(check.notes.join(" "), /Not indexed yet, the next turn of each will do it: new\./);
    await setting.talk(1, { first: 4 });
    const [first = ""] = readFileSync(join(setting.agentDir, "sessions", fileOfMain()), "utf8")
      .split("\n")
      .slice(1);
    const { id } = JSON.parse(first) as { id: string };
    tamper(`UPDATE entries SET id = 'stranger' WHERE id = '${id}'`);
    const missing = await setting.json<Check>(["lossless", "verify"], 1);
    assert.ok(missing.problems.includes(`Of main these entries are missing: ${id}.`));
    assert.equal((await setting.run(["lossless", "rebuild", "--session", "main"])).code, 0);
    assert.equal((await setting.json<Check>(["lossless", "verify"])).ok, true);
  });

  it("name a damaged file without changing it, and a rebuild creates a complete one", async () => {
    await setting.talk(2);
    writeFileSync(setting.database, Buffer.alloc(16_384, 7));
    const bad = await setting.json<Check>(["lossless", "verify"], 1);
    assert.deepEqual(bad.problems, [`${setting.database} is damaged.`]);
    assert.equal(statSync(setting.database).size, 16_384);
    const rebuilt = await setting.run(["lossless", "rebuild"]);
    assert.equal(rebuilt.code, 0, rebuilt.err);
    assert.match(rebuilt.out, /The pins of the old file could not be read/);
    assert.equal((await setting.json<Check>(["lossless", "verify"])).compared.sessions, 1);
  });

  it("name a session that is stored without a transcript, and forget it", async () => {
    await setting.talk(1);
    await setting.talk(1, { sessionKey: "gone" });
    const { sessionId } = await setting.withHost(async (pagurus) => {
      const found = pagurus.sessions().find("gone");
      assert.ok(found);
      // By hand, so that the engine is not notified.
      rmSync(found.file);
      return found;
    });
    const check = await setting.json<Check>(["lossless", "verify"], 1);
    assert.deepEqual(check.problems, [`The session ${sessionId} (gone) is stored and has no transcript.`]);
    assert.equal((await setting.run(["lossless", "rebuild"])).code, 0);
    assert.equal((await statusOf()).sessions, 1);
  });

  it("refuse a rebuild while a host uses the store, and leave everything unchanged", async () => {
    await setting.talk(1);
    await setting.withHost(async (pagurus) => {
      await pagurus.status({ cwd: setting.root });
      const refused = await setting.run(["lossless", "rebuild"]);
      assert.equal(refused.code, 1);
      assert.match(refused.err, /lossless\.db is in use by another process.*\[store_write_failed\]/);
    });
    assert.equal((await statusOf()).sessions, 1);
  });

  longTest("leave the old store in use when a rebuild is interrupted", async () => {
    await setting.talk(2);
    const before = await statusOf();
    const { code, err } = await setting.run(["lossless", "rebuild"], (cli) => {
      const { write } = cli.stderr;
      cli.stderr.write = (data, done) => {
        if (String(data).includes("1 of 1")) cli.interrupt();
        return write(data, done);
      };
    });
    assert.deepEqual([code, /\[turn_aborted\]/.test(err)], [130, true]);
    assert.deepEqual(await statusOf(), before);
    assert.equal(existsSync(join(setting.agentDir, "lossless.rebuild")), false);
  });
});

function fileOfMain(): string {
  const db = new DatabaseSync(setting.database, { readOnly: true });
  try {
    const row = db.prepare("SELECT id FROM sessions WHERE key = 'main'").get() as { id: string };
    return `${row.id}.jsonl`;
  } finally {
    db.close();
  }
}

describe("pagurus lossless backup", () => {
  beforeEach(() => {
    setting = new StoreSetting();
  });
  afterEach(() => setting.remove());
  it("is a complete store, created while the store is in use, and replaces no other file", async () => {
    await setting.talk(2);
    await setting.withHost(async (pagurus) => {
      await pagurus.status({ cwd: setting.root });
      const done = await setting.run(["lossless", "backup", "copy.db"]);
      assert.equal(done.code, 0, done.err);
    });
    const copy = join(setting.root, "copy.db");
    assert.equal(statSync(copy).mode & 0o777, 0o600);
    const again = await setting.run(["lossless", "backup", "copy.db"]);
    assert.deepEqual([again.code, /exists already/.test(again.err)], [2, true]);
    const before = await statusOf();
    writeFileSync(setting.database, readFileSync(copy));
    assert.deepEqual((await statusOf()).session, before.session);
  });
});

describe("pagurus lossless work", () => {
  beforeEach(() => {
    setting = new StoreSetting();
  });
  afterEach(() => setting.remove());
  /** Turns of the offline model leave debts; then a model can write. */
  async function owing(script: ReplyScript): Promise<{ end(): Promise<void>; requests: unknown[] }> {
    await setting.talk(5);
    const server = await startServer({ protocol: "openai-completions", script });
    const { plugins: _, ...models } = modelConfig("openai-completions", server.url, {
      cost: { input: 1, output: 2 },
    });
    setting.configure(models);
    return { end: () => server.close(), requests: server.requests };
  }

  longTest("has the model write pending summaries, and ends when nothing is due", async () => {
    const model = await owing(goodSummary);
    try {
      const owed = await statusOf();
      assert.ok(owed.debts.due > 0);
      const done = await setting.json<Work>(["lossless", "work"]);
      assert.deepEqual([done.end, done.failed, done.debts.count], ["done", 0, 0]);
      assert.equal(done.summaries, owed.debts.count);
      assert.equal(done.spent.calls, model.requests.length);
      const again = await setting.run(["lossless", "work", "--for", "5s"]);
      assert.deepEqual([again.code, /0 summaries by a model.*; nothing is due\./.test(again.out)], [0, true]);
      assert.equal(model.requests.length, done.spent.calls);
    } finally {
      await model.end();
    }
  });

  it("keeps the debt of a failing model, reports it, and retries it later", async () => {
    const model = await owing(() => ({ status: 400, errorBody: { error: { message: "no" } } }));
    try {
      const owed = await statusOf();
      const done = await setting.json<Work>(["lossless", "work"], 1);
      assert.equal(done.summaries, 0);
      assert.ok(done.failed > 0 && done.failed <= 2);
      const { debts } = await statusOf();
      assert.equal(debts.count, owed.debts.count);
      assert.ok(debts.errorCode !== undefined && debts.attempts === 1);
      const { out } = await setting.run(["status"]);
      const count = debts.count === 1 ? "1 summary" : `${debts.count} summaries`;
      assert.match(out, new RegExp(`^Debts: +${count}, tried up to 1 time, last failure \\w+`, "m"));
    } finally {
      await model.end();
    }
  });

  longTest("encodes each message of talk once where the encoder is on", async () => {
    setting.configure({}, { encoder: true });
    await setting.talk(3);
    const done = await setting.json<Work>(["lossless", "work", "--for", "60s"]);
    assert.ok(done.encoded > 0 && done.encoded <= 6, `${done.encoded} messages encoded`);
    assert.equal((await setting.json<Work>(["lossless", "work", "--for", "60s"])).encoded, 0);
    const { out } = await setting.run(["lossless", "status"]);
    assert.match(out, new RegExp(`^Encoder: +${done.encoded} messages encoded$`, "m"));
  });

  it("reports why it cannot be done", async () => {
    await setting.talk(5);
    const offline = await setting.json<Work>(["lossless", "work", "--for", "20s"]);
    assert.equal(offline.end, "waiting");
    assert.match(offline.notes.join(" "), /the offline model cannot/);
    setting.configure({}, { summariesPerHour: 0 });
    assert.match(
      (await setting.json<Work>(["lossless", "work"])).notes.join(" "),
      /The 0 model calls of this hour/,
    );
    setting.configure({ plugins: { slots: { contextEngine: "legacy" } } });
    const refused = await setting.run(["lossless", "work"]);
    assert.equal(refused.code, 2);
    assert.match(refused.err, /The engine legacy is in the slot/);
  });
});

describe("/compact with the engine lossless", () => {
  beforeEach(() => {
    setting = new StoreSetting();
  });
  afterEach(() => setting.remove());
  it("passes the focus to the model that writes the summary", async () => {
    setting.configure({}, { trigger: 100_000 });
    await setting.talk(4);
    const texts: string[] = [];
    const server = await startServer({
      protocol: "openai-completions",
      script: (request, ...rest) => {
        texts.push(JSON.stringify(request.body));
        return goodSummary(request, ...rest);
      },
    });
    try {
      const { plugins: _, ...models } = modelConfig("openai-completions", server.url);
      setting.configure(models, { trigger: 100_000 });
      const { code, out } = await setting.run(["compact", "the berth of quay 1"]);
      assert.equal(code, 0, out);
      assert.match(out, /^Compacted: [\d,]+ → [\d,]+ tokens/);
      assert.ok(texts.length > 0 && texts.every((text) => text.includes("the berth of quay 1")));
      const report = await statusOf();
      assert.ok(report.session?.epoch);
      assert.ok(report.summaries.some(({ origin }) => origin === "model"));
    } finally {
      await server.close();
    }
  });
});
