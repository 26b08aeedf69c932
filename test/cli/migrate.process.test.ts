import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { LcmFixture } from "../importers/sessions/lcm-fixture.ts";
import { ClawHome, ClawLines, hashTree } from "../importers/openclaw/openclaw-home.ts";
import { Launcher } from "./launch.ts";
import { longTest } from "../runner/long-tests.ts";

/** A user with OpenClaw in its usual place. */
function user(): { launcher: Launcher; home: ClawHome; ours: string } {
  const launcher = new Launcher();
  after(() => launcher.remove());
  return { launcher, home: new ClawHome(join(launcher.root, ".openclaw")), ours: launcher.env.PAGURUS_HOME };
}

const CONFIG = `{
  // my crab
  channels: { telegram: { botToken: "123:SECRET" } },
  models: { providers: { local: { api: "openai-completions", baseUrl: "http://127.0.0.1:9/v1", apiKey: "sk-SECRET", models: [{ id: "m" }] } } },
  agents: { defaults: { model: { primary: "local/m" } }, list: [{ id: "main" }, { id: "work" }] },
  plugins: { slots: { contextEngine: "lossless-claw" }, entries: { "lossless-claw": { enabled: true } } },
}
`;

/** On a busy machine the command takes long enough to report its progress. */
function withoutProgress(err: string): string {
  return err.replace(/^\d+ of \d+ conversations\n/gm, "");
}

test("a home of OpenClaw is taken over whole, once, and none of its bytes change", async () => {
  const { launcher, home, ours } = user();
  home.write("openclaw.json", CONFIG);
  const db = home.database("main");
  const lines = new ClawLines("s1").user("Where is the hermit crab?").call("c1").result("c1", "in its shell");
  db.session("s1", "agent:main:main", [...lines.answer("There.").rows, "{ torn"], { label: "Crabs" });
  db.close();
  home.index("work", { "agent:work:main": { sessionId: "w1", updatedAt: 1 } });
  home.file("work", "w1.jsonl", new ClawLines("w1").user("Is it open?").answer("Yes.").rows);
  home.write("agents/broken/agent/openclaw-agent.sqlite", "no database");
  const lcm = new LcmFixture(home.folder);
  const only = lcm.conversation({ session_id: "l1", session_key: "agent:work:old" });
  lcm.message(only, 0, "user", "words of long ago");
  lcm.close();
  const before = home.hash();

  const dry = await launcher.run(["migrate", "openclaw", "--dry-run"]);
  assert.equal(existsSync(ours), false);
  // A part of it is broken.
  assert.deepEqual([dry.code, withoutProgress(dry.err)], [1, ""]);
  const real = await launcher.run(["migrate", "openclaw"]);
  assert.deepEqual([real.code, withoutProgress(real.err)], [1, ""]);
  const asDone = dry.out
    .replace(" (nothing is written)", "")
    .replace("Would be written", "Written")
    .replaceAll("  would be   ", "  taken      ")
    .replace("would be taken", "taken");
  assert.equal(real.out, asDone);
  assert.doesNotMatch(real.out, /SECRET/);
  assert.match(real.out, /becomes {4}plugins\.slots\.contextEngine → "lossless"/);
  assert.match(
    real.out,
    /becomes {4}channels\.telegram → channels\.telegram, a channel of the kind telegram/,
  );
  assert.match(real.out, /main {2}agent:main:main: 4 messages /);
  assert.match(real.out, /1 line cannot be read, kept as data: line 6/);
  assert.match(real.out, /work {2}agent:work:old: 1 message /);
  assert.match(real.out, /NOT TAKEN {2}.*broken.*cannot be/);
  assert.match(real.out, /3 conversations taken with 7 messages, 0 here before, 0 empty, 0 failed/);
  assert.deepEqual(home.hash(), before);

  const found = await launcher.run(["sessions", "search", "hermit crab"]);
  assert.match(found.out, /agent:main:main/);
  const listed = await launcher.run(["sessions", "list", "--agent", "work"]);
  assert.match(listed.out, /agent:work:main/);
  const kept = hashTree(join(ours, "agents", "main", "sessions"));
  const again = await launcher.run(["migrate", "openclaw", "--json"]);
  const report = JSON.parse(again.out) as { config: { state: string }; conversations: { state: string }[] };
  assert.equal(report.config.state, "unchanged");
  assert.deepEqual(
    report.conversations.map(({ state }) => state),
    ["here", "here", "here"],
  );
  assert.deepEqual(hashTree(join(ours, "agents", "main", "sessions")), kept);
  assert.deepEqual(home.hash(), before);
});

longTest("a killed run leaves complete conversations only, and the next one takes the others", async () => {
  const { launcher, home, ours } = user();
  const db = home.database("main");
  for (let number = 0; number < 40; number += 1)
    db.session(`s${number}`, `agent:main:${number}`, new ClawLines(`s${number}`).user("a").answer("b").rows);
  // Still open, with its write-ahead log beside it, as under a running OpenClaw.
  const before = home.hash();
  const { child, ended } = launcher.start(["migrate", "openclaw"]);
  child.stdout?.on("data", (text: string) => {
    if (text.includes("  taken  ")) child.kill("SIGKILL");
  });
  await ended;
  const report = async (): Promise<Record<string, number>> => {
    const { out } = await launcher.run(["migrate", "openclaw", "--json"]);
    const { conversations } = JSON.parse(out) as { conversations: { state: string; messages: number }[] };
    const counted: Record<string, number> = {};
    for (const { state } of conversations) counted[state] = (counted[state] ?? 0) + 1;
    return counted;
  };
  const { taken = 0, here = 0 } = await report();
  assert.equal(taken + here, 40);
  assert.ok(here > 0);
  assert.deepEqual(await report(), { here: 40 });
  assert.deepEqual(home.hash(), before);
  db.close();
  const names = Object.keys(hashTree(join(ours, "agents", "main", "sessions")));
  assert.deepEqual(
    names.filter((name) => name.endsWith(".tmp") && name.startsWith(".import")),
    [],
  );
});

test("a missing folder is refused, and what cannot be taken ends with exit code 1", async () => {
  const { launcher, home } = user();
  const missing = await launcher.run(["migrate", "openclaw", "--from", "nowhere"]);
  assert.equal(missing.code, 2);
  assert.match(missing.err, /There is no folder .*nowhere; name the home of OpenClaw with --from/);
  const other = await launcher.run(["migrate", "openclaw"]);
  assert.equal(other.code, 2);
  assert.match(other.err, /holds nothing of OpenClaw \(openclaw\.json, agents, sessions, lcm\.db\)/);
  home.write("openclaw.json", "{ torn");
  const torn = await launcher.run(["migrate", "openclaw"]);
  assert.equal(torn.code, 1);
  assert.match(torn.out, /Not taken: .*openclaw\.json:\d+:\d+ is not valid JSON5/);
});
