import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Launcher } from "../../cli/launch.ts";
import { ClaudeLines, SESSION } from "./claude-lines.ts";
import { LcmFixture } from "./lcm-fixture.ts";
import { jsonLines } from "./support.ts";

const launcher = new Launcher();
after(() => launcher.remove());

test("sessions import takes a file of another program, reports what it imported, and search finds the text", async () => {
  const lines = new ClaudeLines();
  lines.user("Where is the hermit crab?");
  lines.call("msg_1", "t1");
  lines.result("t1", "under the shell");
  const file = jsonLines(launcher.root, "session.jsonl", [...lines.rows, "{ torn"]);
  const first = await launcher.run(["sessions", "import", file, "--session", "crab"]);
  assert.equal(first.err, "");
  assert.deepEqual(first.out.split("\n"), [
    `Imported the Claude Code session ${SESSION} as session "crab": 3 messages (1 of the user, 1 of the assistant, 1 of tools), 1 tool call.`,
    "1 line cannot be read, kept as data: line 4 (it is not JSON).",
    "",
  ]);
  assert.equal(first.code, 0);
  const shown = await launcher.run(["sessions", "show", "crab"]);
  assert.match(shown.out, /hermit crab/);
  assert.match((await launcher.run(["sessions", "search", "shell"])).out, /crab/);
  const again = await launcher.run(["sessions", "import", file]);
  assert.equal(again.code, 1);
  assert.match(again.err, /is here already under the key crab/);
  assert.equal(again.out, "");
  const wrong = await launcher.run(["sessions", "import", file, "--format", "codex"]);
  assert.equal(wrong.code, 1);
  assert.notEqual((await launcher.run(["sessions", "import", file, "--format", "cursor"])).code, 0);
});

test("sessions import takes every conversation of an lcm.db", async () => {
  const db = new LcmFixture(launcher.root);
  for (const session of ["one", "two"]) {
    const id = db.conversation({ session_id: session, session_key: session });
    db.message(id, 0, "user", `words of ${session}`);
  }
  db.close();
  const { code, out } = await launcher.run(["sessions", "import", db.file]);
  assert.equal(code, 0);
  assert.match(out, /conversation 1-one as session "lcm:one": 1 message /);
  assert.match(out, /conversation 2-two as session "lcm:two": 1 message /);
});
