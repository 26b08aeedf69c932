import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { runCommand } from "../../packages/host/src/command/host-command.ts";
import { promptOf, StoreSetting } from "./store-setting.ts";

interface Report {
  exists: boolean;
  sessions: number;
  session?: { entries: number; pins: number; epoch?: { id: string; summaries: number } };
  summaries: { depth: number; origin: string; state: string; count: number }[];
  debts: { count: number; due: number };
  spend: { cap: number };
  trigger: number;
  size: { entries: number };
  retention: unknown;
}
interface Hit {
  kind: string;
  entryId: string;
  nodeId?: string;
  sessionKey: string;
  snippet: string;
}

describe("pagurus lossless", () => {
  const setting = new StoreSetting();
  before(async () => {
    await setting.talk(10);
    await setting.talk(1, { sessionKey: "other", first: 11 });
  });
  after(() => setting.remove());

  const hitsOf = (...argv: string[]): Promise<Hit[]> => setting.json(["lossless", "search", ...argv]);

  it("status counts what is stored, summarized and pending", async () => {
    const report = await setting.json<Report>(["lossless", "status"]);
    const { session } = report;
    assert.equal(report.sessions, 2);
    assert.ok(session?.epoch && session.epoch.summaries > 0);
    const published = report.summaries.filter(({ state }) => state === "published");
    assert.equal(
      published.reduce((sum, { count }) => sum + count, 0),
      session.epoch.summaries,
    );
    assert.ok(report.summaries.every(({ origin }) => origin === "extractive"));
    assert.ok(report.debts.count > 0 && report.debts.due === report.debts.count);
    assert.deepEqual([report.trigger, report.spend.cap, report.retention], [1_500, 60, null]);
    const { out } = await setting.run(["lossless", "status"]);
    assert.match(out, /^Holds: +2 sessions, [\d,]+ entries/m);
    assert.match(out, new RegExp(`^Epoch: +${session.epoch.id}: [\\d,]+ tokens of`, "m"));
    assert.match(out, /^Debts: +\d+ summar(y|ies), \d+ due now$/m);
    assert.match(out, /^Retention: +none: everything is kept$/m);
    const other = await setting.json<Report>(["lossless", "status", "--session", "other"]);
    assert.equal(other.session?.epoch, undefined);
  });

  it("pagurus status shows the engine's epoch, trigger and debts; lossless status has the same trigger (finding D8)", async () => {
    const { out } = await setting.run(["status"]);
    assert.match(out, /^Engine: +lossless \(plugins\.slots\.contextEngine;/m);
    assert.match(out, /^ +epoch [\da-f]+: [\d,]+ tokens before entry \w+; its trigger is 1,500 tokens$/m);
    assert.match((await setting.run(["lossless", "status"])).out, /^Trigger: +1,500 tokens$/m);
    assert.match(out, /^Debts: +\d+ summar/m);
  });

  it("search finds text of a conversation, or of all", async () => {
    const [first] = await hitsOf("berth b-272x");
    assert.equal(first?.sessionKey, "main");
    assert.match(first?.snippet ?? "", /b-272x/);
    assert.ok((await hitsOf("berth b-11711x")).every(({ snippet }) => !snippet.includes("b-11711x")));
    const all = await hitsOf("berth b-11711x", "--all");
    assert.equal(all[0]?.sessionKey, "other");
    assert.equal((await hitsOf("quay", "--limit", "2")).length, 2);
    const { out } = await setting.run(["lossless", "search", "b-272x", "--limit", "1"]);
    assert.match(out, /^main {2}\w+.*\n {2}.*b-272x/);
    assert.equal((await setting.run(["lossless", "search", " "])).code, 2);
    const unknown = await setting.run(["lossless", "search", "x", "--session", "nobody"]);
    assert.equal(unknown.code, 1);
    assert.match(unknown.err, /There is no session "nobody".*\[session_not_found\]/);
  });

  it("describe and expand lead from a summary to the original text, page by page", async () => {
    const { out: exported } = await setting.run(["lossless", "export", "--session", "main"]);
    const summaries = exported
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { type: string; nodeId: string; sourceTokens: number })
      .filter(({ type }) => type === "summary");
    const node = summaries.toSorted((a, b) => b.sourceTokens - a.sourceTokens)[0]?.nodeId ?? "";
    const about = await setting.run(["lossless", "describe", node]);
    assert.match(about.out, /an extract, made without a model/);
    const pages: string[] = [];
    for (let more: string[] = []; ;) {
      const { code, out } = await setting.run(["lossless", "expand", node, "--max-tokens", "400", ...more]);
      assert.equal(code, 0);
      pages.push(out);
      const next = /\[More: .* and after (\w+)\.\]/.exec(out)?.[1];
      if (next === undefined) break;
      more = ["--after", next];
    }
    assert.ok(pages.length > 1);
    const [, entry = "", number] = /^(\w+) \(user\): Quay (\d+) /m.exec(pages.join("\n")) ?? [];
    const prompt = promptOf(Number(number));
    const whole = await setting.run(["lossless", "expand", entry, "--max-tokens", "8000"]);
    assert.ok(whole.out.includes(prompt));
    const later = await setting.run(["lossless", "expand", entry, "--offset", "20"]);
    assert.ok(later.out.includes(prompt.slice(20)) && !later.out.includes(prompt));
    const data = await setting.json<{ items: { entryId: string; message: unknown }[] }>([
      "lossless",
      "expand",
      entry,
    ]);
    assert.equal(data.items[0]?.entryId, entry);
    assert.ok(JSON.stringify(data.items[0]?.message).includes(prompt));
    const described = await setting.json<{ origin: string }>(["lossless", "describe", node]);
    assert.equal(described.origin, "extractive");
    for (const verb of ["describe", "expand"])
      assert.match(
        (await setting.run(["lossless", verb, "nothing"])).err,
        /no entry and no summary.*\[entry_not_found\]/,
      );
  });

  it("export prints every entry and summary with its origin", async () => {
    const { code, out } = await setting.run(["lossless", "export"]);
    assert.equal(code, 0);
    const lines = out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const ofType = (type: string): Record<string, unknown>[] => lines.filter((line) => line["type"] === type);
    const report = await setting.json<Report>(["lossless", "status"]);
    assert.equal(ofType("session").length, 2);
    assert.equal(ofType("entry").length, report.size.entries);
    assert.ok(
      ofType("summary").every(({ origin, firstEntryId }) => origin === "extractive" && firstEntryId !== ""),
    );
    assert.equal(ofType("epoch").length, 1);
    const one = await setting.run(["lossless", "export", "--session", "other", "--output", "other.jsonl"]);
    assert.equal(one.code, 0);
    const written = readFileSync(`${setting.root}/other.jsonl`, "utf8");
    assert.equal(written.match(/"type":"session"/g)?.length, 1);
    assert.equal((await setting.run(["lossless", "export", "--output", "other.jsonl"])).code, 2);
  });

  it("refuses an invalid time", async () => {
    for (const wrong of ["soon", "0s", "-1m", "1d"]) {
      const { code, err } = await setting.run(["lossless", "work", `--for=${wrong}`]);
      assert.equal(code, 2);
      assert.match(err, /use a time such as 60s, 5m or 1h/);
    }
  });
});

describe("a home without a store", () => {
  it("is reported by each command, and none is created by looking", async () => {
    const setting = new StoreSetting();
    try {
      const status = await setting.run(["lossless", "status"]);
      assert.match(
        status.out,
        /^There is no .*lossless\.db yet; the first turn with the engine lossless makes it\.$/m,
      );
      assert.equal((await setting.run(["lossless", "verify"])).code, 0);
      for (const argv of [
        ["search", "x", "--all"],
        ["describe", "x"],
        ["export"],
        ["backup", "b.db"],
        ["work"],
      ]) {
        const { code, err } = await setting.run(["lossless", ...argv]);
        assert.equal(code, 1);
        assert.match(err, /There is no .*lossless\.db yet.*rebuild/);
      }
      assert.equal(existsSync(setting.database), false);
    } finally {
      setting.remove();
    }
  });
});

describe("pins in the chat", () => {
  const setting = new StoreSetting();
  after(() => setting.remove());

  it("keep a message verbatim through compactions, until they are removed", async () => {
    setting.configure({}, { trigger: 5_000 });
    await setting.say("Which quays are there?");
    await setting.talk(2);
    const { pin, words } = await setting.withHost(async (pagurus) => {
      const where = { pagurus, sessionKey: "main", agentId: "main", cwd: setting.root };
      const say = async (line: string): Promise<string> => (await runCommand(line, where)).text;
      const reader = pagurus.sessions().openReader("main");
      const messages = reader.contextMessages().messages;
      reader.close();
      const answer = messages.find(({ role }) => role === "assistant");
      assert.ok(answer?.entryId !== undefined && Array.isArray(answer.content));
      const [part] = answer.content;
      assert.match(await say("/recall"), /^Usage: \/recall <words>/);
      assert.match(await say("/recall berth of quay 2"), /Quay 2 has berth b-272x/);
      assert.match(await say("/pins"), /^Nothing is pinned/);
      assert.match(await say("/pin"), /^Pinned \w+: "Quay 2 has berth b-272x[^"]+"\. It stays/);
      assert.match(await say(`/pin ${answer.entryId} the first answer`), /^Pinned/);
      assert.match(await say(`/pin ${answer.entryId}`), /was pinned already/);
      assert.match(
        await say("/pins"),
        new RegExp(`^${answer.entryId} {2}assistant {2}".*the first answer$`, "m"),
      );
      await assert.rejects(say("/pin nothing"), { code: "entry_not_found" });
      assert.match(await say("/unpin nothing"), /was not pinned/);
      assert.match(await say("/unpin"), /\/pins lists the ids/);
      return { pin: answer.entryId, words: part?.type === "text" ? part.text : "" };
    });
    await setting.talk(24, { first: 3 });
    await setting.withHost(async (pagurus) => {
      const { messages } = await pagurus.context.preview({ prompt: "", cwd: setting.root });
      assert.ok(!messages.some(({ entryId }) => entryId === pin));
      assert.ok(words.length > 20 && JSON.stringify(messages).includes(JSON.stringify(words).slice(1, -1)));
      const where = { pagurus, sessionKey: "main", agentId: "main", cwd: setting.root };
      assert.match((await runCommand(`/unpin ${pin}`, where)).text, /is not pinned any more/);
    });
  });

  it("warn when there are more than a summary's budget allows", async () => {
    setting.configure();
    const text = await setting.withHost(async (pagurus) => {
      const where = { pagurus, sessionKey: "main", agentId: "main", cwd: setting.root };
      return (await runCommand("/pin", where)).text;
    });
    assert.match(
      text,
      /all pins together have \d+ tokens and a summary shows at most \d+ of them: the oldest that fit/,
    );
  });

  it("need the engine in the slot, and report it", async () => {
    setting.configure({ plugins: { slots: { contextEngine: "legacy" } } });
    await setting.withHost(async (pagurus) => {
      const where = { pagurus, sessionKey: "main", agentId: "main", cwd: setting.root };
      for (const line of ["/pin", "/unpin x", "/pins"]) {
        const { text } = await runCommand(line, where);
        assert.match(text, /^Pins need the engine lossless, and legacy is in the slot; set plugins\.slots/);
      }
    });
  });
});
