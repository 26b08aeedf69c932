import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { workspace } from "../../packages/cli/src/cli-workspace.ts";
import { fakeCli } from "./fake-cli.ts";

it("the configured workspace is used where the present folder is no project (finding C10)", (t) => {
  const root = mkdtempSync(join(tmpdir(), "pagurus-workspace-"));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const home = join(root, "home");
  const folders = { desk: join(root, "desk"), work: join(root, "work"), own: join(root, "own") };
  for (const folder of [home, ...Object.values(folders)]) mkdirSync(folder, { mode: 0o700 });
  const configure = (agents: object): void =>
    writeFileSync(join(home, "pagurus.json"), JSON.stringify({ agents }), { mode: 0o600 });
  const cli = fakeCli({ env: { PAGURUS_HOME: home } });
  cli.cwd = folders.desk;
  assert.equal(workspace(cli, undefined), folders.desk);
  configure({ defaults: { workspace: folders.work }, list: [{ id: "aide", workspace: folders.own }] });
  assert.equal(workspace(cli, undefined), folders.work);
  assert.equal(workspace(cli, undefined, "aide"), folders.own);
  assert.equal(workspace(cli, folders.own), folders.own);
  mkdirSync(join(folders.desk, "inner"));
  writeFileSync(join(folders.desk, "AGENTS.md"), "Rules.");
  cli.cwd = join(folders.desk, "inner");
  assert.equal(workspace(cli, undefined), cli.cwd);
  rmSync(join(folders.desk, "AGENTS.md"));
  configure({ defaults: { workspace: join(root, "gone") } });
  assert.equal(workspace(cli, undefined), cli.cwd);
  assert.match(cli.err(), /note: the configured workspace \S+gone does not exist; working in /);
});
