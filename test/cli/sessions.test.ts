import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PassThrough } from "node:stream";
import { after, test } from "node:test";
import { textWidth } from "../../packages/host/src/command/layout.ts";
import { execute } from "../../packages/cli/src/cli-program.ts";
import { Entries } from "../command/entries.ts";
import { command, fakeCli } from "./fake-cli.ts";
import { FakePagurus, FakeStore, record } from "./fake-pagurus.ts";

const folder = mkdtempSync(join(tmpdir(), "pagurus-cli-"));
after(() => rmSync(folder, { recursive: true }));

/** A conversation with a rewound turn, an interrupted one and a failed one. */
function storyStore(): FakeStore {
  const before = new Entries().say("user", "first", "t1").say("assistant", "one", "t1").commit("t1").all;
  const rewound = new Entries();
  rewound.all.push(...before);
  const file = new Entries()
    .say("user", "first", "t1")
    .say("assistant", "one", "t1")
    .commit("t1")
    .say("user", "forget this", "t2")
    .commit("t2")
    .rewind("e3")
    .say("user", "second", "t3")
    .commit("t3", "interrupted")
    .say("user", "third", "t4")
    .compaction("so far: numbers")
    .commit("t4", "failed").all;
  const path = file.filter((entry) => entry.turnId !== "t2" && entry.type !== "rewind");
  const store = new FakeStore(path, file);
  store.interrupted = ["t5"];
  return store;
}

test("list shows the current sessions with folder and title, no wider than the terminal; --all the earlier ones too (finding D7)", async () => {
  const store = new FakeStore();
  store.records = [
    record("old", { updatedAt: "2025-01-01T00:00:00.000Z", name: "Old one", title: "not this" }),
    record("new", {
      updatedAt: new Date(Date.now() - 3 * 3_600_000).toISOString(),
      turnCount: 12,
      folder: "/srv/new",
      title: `Mend the net 網を直す ${"of the harbour ".repeat(12)}`,
    }),
    record("new", { updatedAt: "2026-02-01T00:00:00.000Z", current: false }),
  ];
  const { out } = await command(["sessions", "list"], { script: { store } });
  const [head, newest, oldest] = out.split("\n");
  assert.match(head ?? "", /^KEY +USED +TURNS +FOLDER +TITLE$/);
  assert.match(newest ?? "", /^new +3 hours ago +12 +\/srv\/new +Mend the net 網を直す of the harbour .*…$/);
  assert.match(oldest ?? "", /^old +\d+ days ago +3 entries +\/ +Old one$/);
  assert.doesNotMatch(out, /id-new/);
  for (const line of out.split("\n")) assert.ok(textWidth(line) <= 100, line);
  const narrow = fakeCli({ pagurus: new FakePagurus({ store }) });
  Object.assign(narrow.stdout, { isTTY: true, columns: 60 });
  await execute(["sessions", "list"], narrow);
  // eslint-disable-next-line no-control-regex
  for (const line of narrow.out().split("\n"))
    assert.ok(textWidth(line.replaceAll(/\u001b\[\d+m/g, "")) <= 60, line);
  assert.match((await command(["sessions", "list", "--all"], { script: { store } })).out, /new \(earlier\)/);
  const json = JSON.parse(
    (await command(["sessions", "list", "--json"], { script: { store } })).out,
  ) as unknown[];
  assert.equal(json.length, 2);
});

test("show marks what was rewound and turns that never ended", async () => {
  const { code, out } = await command(["sessions", "show"], { script: { store: storyStore() } });
  assert.equal(code, 0);
  const titles = out.split("\n").filter((line) => /\be\d+\b/.test(line) || line.startsWith("Session"));
  assert.deepEqual(
    titles.map((line) => line.replace(/ {2}e\d+ {2}2026-01-02 03:04:05/, "")),
    [
      "Session main (id-main), 3 entries, 2 interrupted turns",
      "You",
      "Assistant",
      "You  (rewound)",
      "Rewound to e3",
      "You  (interrupted turn)",
      "Turn interrupted  (interrupted turn)",
      "You",
      "Compaction (extractive, 9,000 → 1,000 tokens)",
      "Turn failed",
    ],
  );
});

test("show --json prints every entry with its marks, --last the newest, --raw the raw lines", async () => {
  const script = { store: storyStore() };
  const lines = (await command(["sessions", "show", "--json"], { script })).out.trimEnd().split("\n");
  const entries = lines.map(
    (line) => JSON.parse(line) as { id: string; onPath: boolean; interrupted: boolean },
  );
  assert.equal(entries.length, 11);
  assert.deepEqual(
    entries.filter((entry) => !entry.onPath).map((entry) => entry.id),
    ["e4"],
  );
  assert.deepEqual(
    entries.filter((entry) => entry.interrupted).map((entry) => entry.id),
    ["e7", "e8"],
  );
  const last = (await command(["sessions", "show", "main", "--last", "2"], { script })).out;
  assert.doesNotMatch(last, /third/);
  assert.match(last, /so far: numbers/);
  const raw = (await command(["sessions", "show", "main", "--raw"], { script })).out;
  assert.equal(raw.split("\n").length, 13);
  assert.match(raw, /^\{"type":"session"/);
});

test("a session that does not exist is one clear sentence, for every command", async () => {
  for (const argv of [
    ["show", "x"],
    ["export", "x"],
    ["fork", "x", "y"],
    ["rewind", "x", "start"],
    ["delete", "x"],
  ]) {
    const { code, err } = await command(["sessions", ...argv]);
    assert.equal(code, 1);
    assert.equal(
      err,
      'pagurus: There is no session "x"; pagurus sessions list shows them all. [session_not_found]\n',
    );
  }
});

test("export writes the same bytes to standard output and to a new private file", async () => {
  const script = { store: storyStore() };
  const { out } = await command(["sessions", "export", "main"], { script });
  const file = join(folder, "main.jsonl");
  const written = await command(["sessions", "export", "main", "-o", file], { script });
  assert.equal(written.code, 0);
  assert.equal(readFileSync(file, "utf8"), out);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  const again = await command(["sessions", "export", "main", "-o", file], { script });
  assert.equal(again.code, 2);
  assert.match(again.err, /exists already/);
  const nowhere = await command(["sessions", "export", "main", "-o", join(folder, "no", "x")], { script });
  assert.equal(nowhere.code, 2);
  assert.match(nowhere.err, /cannot be created \(no such file or directory\)/);
});

test("an export on a terminal is without control characters, and unchanged through a pipe (finding F13)", async () => {
  const store = storyStore();
  const clipboard = "\u001b]52;c;ZWNobyBoaQ==\u0007";
  const whole = Buffer.from(`# Title\n\n${clipboard}grün \u009b31m\ttext\n`);
  store.export = async function* () {
    for (let at = 0; at < whole.length; at += 5) yield whole.subarray(at, at + 5);
  };
  for (const format of ["markdown", "jsonl"]) {
    const argv = ["sessions", "export", "main", "--format", format];
    const piped = await command(argv, { script: { store } });
    assert.ok(piped.out.includes(clipboard));
    const cli = fakeCli({ pagurus: new FakePagurus({ store }) });
    Object.assign(cli.stdout, { isTTY: true });
    assert.equal(await execute(argv, cli), 0);
    assert.equal(cli.out(), "# Title\n\n]52;c;ZWNobyBoaQ==grün 31m\ttext\n");
  }
});

test("an interrupted export leaves no file", async () => {
  const store = storyStore();
  store.export = async function* () {
    yield Buffer.from("half");
    throw new Error("The disk went away.");
  };
  const file = join(folder, "broken.jsonl");
  const { code, err } = await command(["sessions", "export", "main", "-o", file], { script: { store } });
  assert.equal(code, 1);
  assert.match(err, /\[store_write_failed\]\n$/);
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.includes("broken")),
    [],
  );
});

test("export and show report unreadable lines", async () => {
  const store = storyStore();
  store.notices = [
    { kind: "quarantined_line", detail: "2 lines of the transcript cannot be read and are skipped." },
    { kind: "interrupted_turn", detail: "not here" },
  ];
  for (const argv of [["export", "main"], ["show"], ["show", "--raw"], ["show", "--json"]]) {
    const { code, err } = await command(["sessions", ...argv], { script: { store } });
    assert.deepEqual([code, err], [0, "note: 2 lines of the transcript cannot be read and are skipped.\n"]);
  }
});

test("show --last counts what is printed", async () => {
  const store = new FakeStore(
    new Entries()
      .say("user", "first", "t1")
      .say("assistant", "one", "t1")
      .commit("t1")
      .say("user", "second", "t2")
      .commit("t2").all,
  );
  const { out } = await command(["sessions", "show", "main", "--last", "2"], { script: { store } });
  assert.match(out, /\none\n[^]*\nsecond\n/);
  assert.doesNotMatch(out, /first/);
});

test("show names the process that runs a turn now", async () => {
  const store = new FakeStore();
  store.runningIn = { pid: 77, since: "2026-01-01T00:00:00.000Z" };
  assert.match(
    (await command(["sessions", "show"], { script: { store } })).out,
    /^Session .*, running in process 77$/m,
  );
});

test("delete needs --yes without a terminal, and the typed key at one", async () => {
  const refused = await command(["sessions", "delete", "main"], { input: "main\n" });
  assert.equal(refused.code, 2);
  assert.deepEqual(refused.pagurus.deleted, []);
  const forced = await command(["sessions", "delete", "main", "--yes"], { input: "" });
  assert.equal(forced.out, "Deleted 1 conversation, 2.0 KB.\n");
  for (const [typed, deleted] of [
    ["yes\n", []],
    ["main\n", ["main"]],
  ] as const) {
    const pagurus = new FakePagurus();
    const cli = fakeCli({ pagurus });
    (cli.stdin as unknown as PassThrough).write(typed);
    assert.equal(await execute(["sessions", "delete", "main"], cli), deleted.length === 1 ? 0 : 1);
    assert.deepEqual(
      pagurus.deleted,
      deleted.map((sessionKey) => ({ sessionKey, agentId: "main" })),
    );
  }
});

test("rewind takes an entry, the start, or the last turn", async () => {
  const store = storyStore();
  for (const entry of ["e2", "start", "undo"]) {
    const { code, out } = await command(["sessions", "rewind", "main", entry], { script: { store } });
    assert.equal(code, 0);
    assert.match(out, /Files are unchanged/);
  }
  assert.deepEqual(store.rewinds, ["e2", null, "e8"]);
});

test("search prints the place of each hit and marks the rewound ones", async () => {
  const store = new FakeStore();
  store.search = (query, options) => [
    {
      sessionKey: "main",
      sessionId: "s",
      entryId: "e1",
      role: "user",
      timestamp: "2026-01-02T03:04:05.000Z",
      snippet: `about ${query}\n(${String(options?.limit)})`,
      onPath: false,
    },
  ];
  const { out } = await command(["sessions", "search", "crabs", "--limit", "5"], { script: { store } });
  assert.equal(out, "main  e1  2026-01-02 03:04:05  user  (rewound)\n  about crabs (5)\n");
  const none = await command(["sessions", "search", "crabs"]);
  assert.deepEqual([none.code, none.out, none.err], [0, "", "Nothing found.\n"]);
});

test("pick prints the key of the chosen conversation, or nothing without a choice (finding D7)", async () => {
  const store = new FakeStore();
  store.records = [record("app"), record("app-2", { title: "The second" })];
  const pick = async (answer: string): Promise<[number, string, string]> => {
    const cli = fakeCli({ pagurus: new FakePagurus({ store }) });
    setImmediate(() => (cli.stdin as unknown as PassThrough).write(`${answer}\n`));
    return [await execute(["sessions", "pick"], cli), cli.out(), cli.err()];
  };
  const [code, out, err] = await pick("2");
  assert.deepEqual([code, out], [0, "app-2\n"]);
  assert.match(err, /2 +app-2 .*The second/);
  assert.deepEqual((await pick("")).slice(0, 2), [0, "app\n"]);
  assert.deepEqual((await pick("7")).slice(0, 2), [1, ""]);
});
