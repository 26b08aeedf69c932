import assert from "node:assert/strict";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { openStore } from "../../stores/files/fixtures.ts";
import { ClawLines, hashTree } from "./openclaw-home.ts";
import { about, lcmOf, seen, setting, states } from "./openclaw-setting.ts";
import type { Row } from "../sessions/support.ts";

test("a session of the database keeps its key, its name, its calls and compressed lines", async (t) => {
  const { home, agent, take } = setting(t);
  const db = home.database("main");
  const lines = new ClawLines("s1").user("Look here.").call("c1").result("c1", "a file").answer("Seen.");
  db.session("s1", "agent:main:telegram:group:7", lines.rows, { label: "The group", packed: [1, 4] });
  db.close();
  const before = home.hash();
  const taken = await take();
  assert.deepEqual(states(taken), ["taken main agent:main:telegram:group:7"]);
  const { context, record } = await seen(t, agent("main"), "agent:main:telegram:group:7");
  assert.deepEqual(context, [
    "user Look here.",
    "assistant exec#c1",
    "toolResult exec#c1: a file",
    "assistant Seen.",
  ]);
  assert.equal(record.name, "The group");
  assert.equal(record.cwd, "/work");
  assert.deepEqual(home.hash(), before);
});

test("earlier generations, the first databases, files, archives and cold archives are imported, deleted ones are not", async (t) => {
  const { home, take } = setting(t);
  const say = (id: string): Row[] => new ClawLines(id).user(`words of ${id}`).answer("Yes.").rows;
  const db = home.database("main");
  db.session("new", "agent:main:main", say("new"));
  db.session("ended", "agent:main:main", say("ended"), { current: false });
  db.archived("cold", "agent:main:cold", say("cold"));
  home.write(
    "agents/main/sessions/cold/abc.jsonl.zst",
    db.archived("colder", "agent:main:colder", say("colder"), "abc.jsonl.zst"),
  );
  db.archived("lost", "agent:main:lost", say("lost"), "lost.jsonl.zst");
  db.putAway("away", "agent:main:main", "reset", say("away"));
  // OpenClaw writes its archives out as files too.
  home.file("main", "away.jsonl.reset.zst", say("away"));
  db.putAway("erased", "agent:main:main", "deleted", say("erased"));
  db.close();
  const old = home.database("old", 1);
  old.session("first", "agent:old:main", say("first"));
  old.close();
  home.index("files", { "agent:files:main": { sessionId: "f1", updatedAt: 5, displayName: "Files" } });
  home.file("files", "f1.jsonl", say("f1"));
  home.file("files", "f0.jsonl.reset.2026-04-01T10-00-00Z", say("f0"));
  home.file("files", "gone.jsonl.deleted.2026-04-01T10-00-00Z", say("gone"));
  home.file("files", "f1-topic-9.jsonl", say("f1"));
  // The file that the database was made from.
  home.file("main", "new.jsonl", say("new"));
  const taken = await take();
  assert.match(about(taken, "lost").what.join(" "), /its archive "lost\.jsonl\.zst" cannot be read/);
  assert.deepEqual(states(taken).toSorted(), [
    "failed main lost",
    "taken files agent:files:main",
    "taken files openclaw:f0",
    "taken files openclaw:f1-topic-9",
    "taken main agent:main:cold",
    "taken main agent:main:colder",
    "taken main agent:main:main",
    "taken main agent:main:main:away",
    "taken main agent:main:main:ended",
    "taken old agent:old:main",
  ]);
  assert.match(
    taken.leftOut.join(" "),
    /1 archive of deleted conversations in agents.files.sessions left out/,
  );
  assert.equal(
    taken.conversations.every(({ state, messages }) => messages === (state === "taken" ? 2 : 0)),
    true,
  );
});

test("the conversation continues at a leaf line's target, without side branches and after a reset", async (t) => {
  const { home, agent, take } = setting(t);
  const db = home.database("main");
  const branch = new ClawLines("branch").user("one", { id: "a" }).answer("wrong", { id: "b" });
  branch.add({ type: "leaf", id: "l", parentId: "b", targetId: "a" });
  branch.answer("right", { id: "c", parentId: "l" });
  branch.user("aside", { id: "d", parentId: "b", appendMode: "side" });
  // Written after a side message, or after a missing entry: both follow the conversation.
  branch.user("two", { parentId: "d" }).user("aside again", { appendMode: "side" });
  branch.answer("three", { parentId: "nowhere" });
  db.session("branch", "agent:main:branch", branch.rows);
  const reset = new ClawLines("reset").user("before").answer("old").add({ type: "reset", id: "r" });
  reset.user("after", { parentId: "e1" }).answer("new");
  reset.add({ type: "leaf", targetId: "e1" });
  db.session("reset", "agent:main:reset", reset.rows);
  const kept = new ClawLines("kept").user("away").answer("gone").user("stays", { id: "k" }).answer("here");
  kept.add({ type: "reset", id: "r", firstKeptEntryId: "k" }).user("go on");
  db.session("kept", "agent:main:kept", kept.rows);
  const compacted = new ClawLines("compacted").user("far").answer("away").user("near", { id: "n" });
  compacted.add({ type: "compaction", summary: "It was far.", firstKeptEntryId: "n", tokensBefore: 9 });
  db.session("compacted", "agent:main:compacted", compacted.answer("yes").rows);
  db.session("emptied", "agent:main:emptied", new ClawLines("emptied").user("x").add({ type: "reset" }).rows);
  db.close();
  await take();
  const main = (key: string) => seen(t, agent("main"), `agent:main:${key}`);
  const branched = await main("branch");
  assert.deepEqual(branched.context, ["user one", "assistant right", "user two", "assistant three"]);
  assert.equal(branched.all.length, 7);
  assert.deepEqual((await main("reset")).context, ["user after", "assistant new"]);
  assert.equal((await main("reset")).all.length, 4);
  const { context } = await main("kept");
  assert.match(context[0] ?? "", /was reset here/);
  assert.deepEqual(context.slice(1), ["user stays", "assistant here", "user go on"]);
  const short = (await main("compacted")).context;
  assert.match(short[0] ?? "", /It was far\./);
  assert.deepEqual(short.slice(1), ["user near", "assistant yes"]);
  assert.deepEqual((await main("emptied")).context, []);
});

test("host text in assistant messages is kept as data, since no model saw it there", async (t) => {
  const { home, agent, take } = setting(t);
  const db = home.database("main");
  const lines = new ClawLines("s1").user("Hello").answer("Hello!");
  const mirror = { role: "assistant", content: "Hello!", provider: "openclaw", model: "delivery-mirror" };
  lines.add({ type: "message", message: mirror }).user("And now?");
  db.session("s1", "agent:main:main", lines.rows);
  db.close();
  const taken = await take();
  assert.match(about(taken, "s1").what.join(" "), /Kept as data that no model sees: delivery-mirror 1/);
  const { context } = await seen(t, agent("main"), "agent:main:main");
  assert.deepEqual(context, ["user Hello", "assistant Hello!", "user And now?"]);
});

test("a dry run writes nothing and reports what the run then reports; a second run imports nothing", async (t) => {
  const { home, agent, take } = setting(t);
  const db = home.database("main");
  db.session("s1", "agent:main:main", [...new ClawLines("s1").user("a").answer("b").rows, "{ torn"]);
  db.session("s2", "agent:main:empty", new ClawLines("s2").rows);
  db.close();
  const dry = await take({ dryRun: true });
  assert.equal(existsSync(agent("main")), false);
  const real = await take();
  assert.deepEqual(real, dry);
  assert.deepEqual(states(real), ["taken main agent:main:main", "empty main s2"]);
  assert.match(about(real, "s1").what.join(" "), /1 line cannot be read, kept as data: line 4/);
  const before = hashTree(join(agent("main"), "sessions"));
  assert.deepEqual(states(await take()), ["here main agent:main:main", "empty main s2"]);
  assert.deepEqual(states(await take({ dryRun: true })), ["here main agent:main:main", "empty main s2"]);
  assert.deepEqual(hashTree(join(agent("main"), "sessions")), before);
});

test("a file that is no database, an unknown version and an agent without a valid name do not stop the rest", async (t) => {
  const { home, take } = setting(t);
  home.write("agents/broken/agent/openclaw-agent.sqlite", "no database");
  const other = home.database("later");
  other.run("DROP TABLE transcript_events");
  other.close();
  home.file("über agent", "u1.jsonl", new ClawLines("u1").user("a").rows);
  home.write("agents/main/sessions/sessions.json", "{ torn");
  home.file("main", "good.jsonl", new ClawLines("good").user("a").answer("b").rows);
  home.file("main", "bytes.jsonl", ["no line of it", "is JSON"]);
  home.file("main", "future.jsonl", [
    { type: "session", version: 5, id: "future" },
    { type: "message", id: "a", parentId: null, message: { role: "user", content: "x" } },
  ]);
  home.write("lcm.db", "no database");
  const taken = await take({
    agentDir: (id) => {
      if (id === "über agent") throw new Error("The agent id is not valid.");
      return join(home.folder, "..", "agents", id);
    },
  });
  assert.deepEqual(states(taken).toSorted(), [
    "failed main bytes",
    "failed main future",
    "failed über agent u1",
    "taken main openclaw:good",
  ]);
  assert.match(about(taken, "bytes").what.join(" "), /can be read \(line 1: it is not JSON\)/);
  assert.match(about(taken, "future").what.join(" "), /is written in version 5 /);
  const problems = taken.problems.join("\n");
  assert.match(problems, /broken.*cannot be opened|broken.*cannot be read/);
  assert.match(problems, /later.*a version not known here/);
  assert.match(problems, /sessions\.json is no JSON object/);
  assert.match(problems, /lcm\.db cannot be/);
});

test("a key of another conversation here is not taken over", async (t) => {
  const { home, agent, take } = setting(t);
  const store = openStore(agent("main"));
  const writer = store.openWriter("agent:main:main", { cwd: "/" });
  writer.append({ type: "message", turnId: "t", message: { role: "user", content: "mine" } });
  writer.commitTurn({ turnId: "t", outcome: "completed" });
  writer.close();
  store.close();
  const db = home.database("main");
  db.session("s1", "agent:main:main", new ClawLines("s1").user("theirs").rows);
  db.close();
  const taken = await take();
  assert.deepEqual(states(taken), ["taken main openclaw:agent:main:main"]);
  assert.match(about(taken, "s1").what[0] ?? "", /Another conversation has the key "agent:main:main"/);
  assert.deepEqual((await seen(t, agent("main"), "agent:main:main")).context, ["user mine"]);
});

test("a run that was stopped continues with the next conversation", async (t) => {
  const { home, take } = setting(t);
  const db = home.database("main");
  for (const id of ["a", "b", "c"]) db.session(id, `agent:main:${id}`, new ClawLines(id).user(id).rows);
  db.close();
  let done = 0;
  const first = await take({ onConversation: () => (done += 1), stopped: () => done === 1 });
  assert.equal(first.stopped, true);
  assert.deepEqual(states(first), ["taken main agent:main:a"]);
  assert.deepEqual(states(await take()), [
    "here main agent:main:a",
    "taken main agent:main:b",
    "taken main agent:main:c",
  ]);
});

test("messages that only lcm.db has come before the transcript, with its summaries", async (t) => {
  const { home, agent, take } = setting(t);
  home.index("main", { "agent:main:main": { sessionId: "s1", updatedAt: 1 } });
  // OpenClaw's file was cut: its first messages are only in lcm.db.
  const lines = new ClawLines("s1").user("third", { id: "m3" }).answer("fourth", { id: "m4" });
  home.file("main", "s1.jsonl", lines.rows);
  const { lcm, id, rows } = lcmOf(home, "s1", "agent:main:main", [
    ["m1", "user", "first"],
    ["m2", "assistant", "second"],
    ["m3", "user", "third"],
    ["m4", "assistant", "fourth"],
  ]);
  lcm.summary(id, "sum_1", "The beginning.", rows.slice(0, 2));
  lcm.frontier(id, ["sum_1", ...rows.slice(2)]);
  lcm.close();
  const before = home.hash();
  const taken = await take();
  assert.deepEqual(states(taken), ["taken main agent:main:main"]);
  assert.match(about(taken, "s1").what.join(" "), /At its beginning: 2 messages of lcm\.db/);
  const { path, context, entries } = await seen(t, agent("main"), "agent:main:main");
  assert.deepEqual(path, ["user first", "assistant second", "user third", "assistant fourth"]);
  assert.match(context[0] ?? "", /The beginning\./);
  assert.deepEqual(context.slice(1), ["user third", "assistant fourth"]);
  const summary = entries.find(
    (entry) => entry.type === "custom" && entry.customType === "pagurus.imported_summary",
  );
  const ids = entries.filter(({ type }) => type === "message").map((entry) => entry.id);
  assert.deepEqual((summary as unknown as { data: Row }).data["sourceEntryIds"], ids.slice(0, 2));
  assert.deepEqual(states(await take()), ["here main agent:main:main"]);
  assert.deepEqual(home.hash(), before);
});

test("a conversation of lcm.db without a transcript, or one that does not match its own, is imported separately", async (t) => {
  const { home, take } = setting(t);
  home.index("main", { "agent:main:main": { sessionId: "s1", updatedAt: 1 } });
  home.file("main", "s1.jsonl", new ClawLines("s1").user("one", { id: "m1" }).rows);
  const { lcm } = lcmOf(home, "s1", "agent:main:main", [
    ["m1", "user", "one"],
    ["lost", "assistant", "two"],
  ]);
  const other = lcm.conversation({ session_id: "s2", session_key: "agent:work:main" });
  lcm.message(other, 0, "user", "only here");
  lcm.close();
  const expected = [
    "taken main agent:main:main",
    "taken main lcm:agent:main:main",
    "taken work agent:work:main",
  ];
  assert.deepEqual(states(await take({ dryRun: true })), expected);
  assert.deepEqual(states(await take()), expected);
  assert.deepEqual(
    states(await take()),
    expected.map((each) => each.replace("taken", "here")),
  );
  rmSync(join(home.folder, "lcm.db"));
});

test("messages of lcm.db that name no entry are matched by content: none is duplicated, and none is missing", async (t) => {
  const { home, agent, take } = setting(t);
  home.index("main", { "agent:main:main": { sessionId: "s1", updatedAt: 1 } });
  const lines = new ClawLines("s1").user("one", { id: "m1" }).answer("two", { id: "m2" });
  lines.user("three", { id: "m3" }).call("c1").result("c1", "a  file").answer("yes", { id: "m6" });
  home.file("main", "s1.jsonl", lines.rows);
  const { lcm, id, rows } = lcmOf(home, "s1", "agent:main:main", [
    // From before messages named their entries: the first is in no transcript any more.
    [null, "user", "zero"],
    [null, "user", "one"],
    [null, "assistant", "two"],
    ["m3", "user", "three"],
    [null, "assistant", "said nowhere else"],
    // The newest do not name theirs yet.
    [null, "assistant", "yes"],
  ]);
  lcm.summary(id, "sum_1", "The beginning.", rows.slice(0, 2));
  lcm.frontier(id, ["sum_1", ...rows.slice(2)]);
  lcm.close();
  const taken = await take();
  assert.deepEqual(states(taken), ["taken main agent:main:main"]);
  const what = about(taken, "s1").what.join(" ");
  assert.match(what, /At its beginning: 1 message of lcm\.db/);
  assert.match(what, /Kept as data that no model sees: message that only lcm\.db has 1/);
  const { path, context, entries } = await seen(t, agent("main"), "agent:main:main");
  const later = ["assistant two", "user three", "assistant exec#c1", "toolResult exec#c1: a  file"];
  assert.deepEqual(path, ["user zero", "user one", ...later, "assistant yes"]);
  assert.match(context[0] ?? "", /The beginning\./);
  assert.deepEqual(context.slice(1), [...later, "assistant yes"]);
  assert.match(JSON.stringify(entries), /said nowhere else/);
});

test("messages of lcm.db that may be the transcript's in another wording are not added before it", async (t) => {
  const { home, agent, take } = setting(t);
  home.index("main", { "agent:main:main": { sessionId: "s1", updatedAt: 1 } });
  const lines = new ClawLines("s1").user("[metadata] one", { id: "m1" }).answer("two", { id: "m2" });
  home.file("main", "s1.jsonl", lines.rows);
  const { lcm } = lcmOf(home, "s1", "agent:main:main", [
    [null, "user", "one"],
    ["m2", "assistant", "two"],
  ]);
  lcm.close();
  assert.deepEqual(states(await take()), ["taken main agent:main:main", "taken main lcm:agent:main:main"]);
  const { path } = await seen(t, agent("main"), "agent:main:main");
  assert.deepEqual(path, ["user [metadata] one", "assistant two"]);
});

test("extra messages of lcm.db are imported separately, once, when the conversation was imported without them", async (t) => {
  const { home, take } = setting(t);
  home.index("main", { "agent:main:main": { sessionId: "s1", updatedAt: 1 } });
  home.file("main", "s1.jsonl", new ClawLines("s1").user("third", { id: "m3" }).rows);
  const { lcm } = lcmOf(home, "s1", "agent:main:main", [
    ["m1", "user", 'first "words"'],
    ["m3", "user", "third"],
  ]);
  lcm.close();
  // As when it is locked, or damaged.
  assert.deepEqual(states(await take({ lcmFile: home.write("torn.db", "no database") })), [
    "taken main agent:main:main",
  ]);
  const more = ["here main agent:main:main", "taken main lcm:agent:main:main"];
  assert.deepEqual(states(await take({ dryRun: true })), more);
  assert.deepEqual(states(await take()), more);
  assert.deepEqual(
    states(await take()),
    more.map((each) => each.replace("taken", "here")),
  );
});
