import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { createPagurus } from "../../packages/app/src/app.ts";
import { execute } from "../../packages/cli/src/cli-program.ts";
import { runCommand } from "../../packages/host/src/command/host-command.ts";
import { fakeCli } from "./fake-cli.ts";

const CODE = `export default { register(api) {
  api.registerCommand({ name: "orch:say", nativeNames: { default: "say" }, handler: ({ args }) => ({ text: "said " + args }) });
  api.registerCli(({ program, config }) => {
    program.command("recipes").argument("<name>").option("--loud").action((name, { loud }) => {
      console.log((loud ? name.toUpperCase() : name) + " " + config.agents.defaults.maxSteps);
    });
  }, { commands: ["recipes"] });
} };`;

function homeWith(t: TestContext): string {
  const home = mkdtempSync(join(tmpdir(), "pagurus-plugin-cli-"));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  const plugin = join(home, "claw");
  mkdirSync(plugin);
  const manifest = { id: "claw", name: "Claw", description: "Cooks." };
  writeFileSync(join(plugin, "openclaw.plugin.json"), JSON.stringify(manifest));
  writeFileSync(join(plugin, "index.mjs"), CODE);
  const config = { agents: { defaults: { maxSteps: 7 } }, plugins: { load: { paths: [plugin] } } };
  writeFileSync(join(home, "pagurus.json"), JSON.stringify(config), { mode: 0o600 });
  return home;
}

async function say(home: string, argv: string[]): Promise<{ code: number; out: string; err: string }> {
  const env = { PAGURUS_HOME: home, NO_COLOR: "1" };
  const cli = fakeCli({ env });
  cli.cwd = home;
  cli.open = (options) => createPagurus({ ...options, home, env });
  const code = await execute(argv, cli);
  return { code, out: cli.out(), err: cli.err() };
}

describe("pagurus plugin <id>", () => {
  it("runs the plugin's own commands, whose output is the command's (finding C4)", async (t) => {
    const home = homeWith(t);
    const ran = await say(home, ["plugin", "claw", "recipes", "soup", "--loud"]);
    assert.deepEqual([ran.code, ran.out], [0, "SOUP 7\n"], ran.err);
    assert.match((await say(home, ["plugin", "claw", "--help"])).out, /recipes \[options\] <name>/);
    assert.equal((await say(home, ["plugin"])).out, "pagurus plugin claw\n");
    const wrong = await say(home, ["plugin", "claw", "recipe"]);
    assert.equal(wrong.code, 2);
    assert.match(wrong.err, /unknown command 'recipe'.*pagurus plugin claw --help\. \[usage_invalid\]/);
    assert.match((await say(home, ["plugin", "none"])).err, /\[plugin_unknown\]/);
  });
});

describe("a plugin's slash command", () => {
  it("is reached by its name with a colon and by its aliases (finding C5)", async (t) => {
    const home = homeWith(t);
    const pagurus = await createPagurus({ home, env: {} });
    t.after(() => pagurus.close());
    const where = { pagurus, sessionKey: "main", agentId: "main", cwd: home };
    for (const line of ["/orch:say hello", "/say hello"])
      assert.equal((await runCommand(line, where)).text, "said hello", line);
  });
});

describe("plugins info", () => {
  it("shows the plugin's name and description whole (finding C9)", async (t) => {
    const { out } = await say(homeWith(t), ["plugins", "info", "claw"]);
    assert.match(out, /^Name: {6}Claw: Cooks\.$/m);
  });
});
