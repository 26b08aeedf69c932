import assert from "node:assert/strict";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { checkHome } from "../../packages/doctor/src/home-check.ts";
import { finish, makeSetting, type Setting } from "../turn/setting.ts";

/** A home with this text as its configuration. */
function homeWith(t: TestContext, config: string): Setting {
  const place = makeSetting();
  t.after(() => place.remove());
  writeFileSync(join(place.home, "pagurus.json"), config, { mode: 0o600 });
  return place;
}

test("a broken configuration refuses a run, but neither status nor the list of sessions (finding D10)", async (t) => {
  const place = homeWith(t, "{ agents: { defaults: { maxSteps: 0 } } }");
  const run = await finish(place, ["run", "hi"]);
  assert.equal(run.code, 2, run.stderr);
  const status = await finish(place, ["status"]);
  assert.equal(status.code, 0, status.stderr);
  assert.match(status.stdout, /agents\.defaults\.maxSteps must be at least 1, but is 0; correct it there/);
  const list = await finish(place, ["sessions", "list"]);
  assert.equal(list.code, 0, list.stderr);
  assert.match(list.stderr, /No sessions yet/);
});

test("a mistyped key, entry and setting of a runtime is reported with a suggestion (finding D10)", async (t) => {
  const entries = `{ losless: { enabled: true }, codex: { config: { comand: "codex" } } }`;
  const place = homeWith(t, `{ agents: { defaults: { modle: "a/b" } }, plugins: { entries: ${entries} } }`);
  const { stderr } = await finish(place, ["run", "hi"]);
  for (const sentence of [
    "agents.defaults.modle is not a known key; it is not used. Did you mean model?",
    "plugins.entries.codex.config.comand is not a known key; it is not used. Did you mean command?",
    "plugins.entries.losless names no plugin that is installed or linked; it is not used. Did you mean lossless?",
  ])
    assert.ok(stderr.includes(sentence), `${sentence}\n${stderr}`);
});

test("the doctor prints the path of a wrong configuration once in its sentence (finding D10)", async (t) => {
  const place = homeWith(t, "{ agents: { }, ");
  const { stdout } = await finish(place, ["doctor"]);
  const lines = stdout.split("\n").filter((line) => line.includes("pagurus.json") && line.includes("JSON5"));
  assert.equal(lines.length, 1, stdout);
  assert.equal(lines[0]?.split("pagurus.json").length, 2, lines[0]);
});

test("the doctor counts one file as one (finding D10)", (t) => {
  const place = homeWith(t, "{}");
  chmodSync(join(place.home, "pagurus.json"), 0o644);
  const [open] = checkHome(place.home, false).filter(({ level }) => level === "warn");
  assert.match(open?.detail ?? "", /may reach one file or folder, \S+pagurus\.json\.$/);
});
