/** OpenClaw's configuration through an installation and an uninstallation of the adapter. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { parseJson5 } from "../../packages/core/src/config/json5.ts";
import { brokenFiles, install, uninstall } from "../../packages/inside/src/install/install-record.ts";
import { OPENCLAW } from "../../packages/inside/src/install/openclaw-install.ts";

const CONFIG = `{
  // My model.
  agents: { defaults: { model: { primary: "mock/m", }, }, },
  plugins: { entries: { mine: { enabled: true } } },   // mine
}`;

describe("the adapter in OpenClaw's configuration", () => {
  const root = mkdtempSync(join(tmpdir(), "pg-oci-"));
  after(() => rmSync(root, { recursive: true, force: true }));
  let made = 0;

  function installed(text: string | undefined): { home: string; folder: string; config: string } {
    made += 1;
    const home = join(root, `home${made}`);
    const folder = join(root, `claw${made}`);
    mkdirSync(home);
    mkdirSync(folder);
    const config = join(folder, "openclaw.json");
    if (text !== undefined) writeFileSync(config, text);
    const facts = { home, env: { OPENCLAW_STATE_DIR: folder }, wake: ["wake"], version: "1" };
    assert.deepEqual(OPENCLAW.find(facts), { folder });
    install(home, "openclaw", "1", OPENCLAW.changes(facts, folder));
    return { home, folder, config };
  }

  it("names the engine beside the user's plugins and comments, and is taken back byte for byte", () => {
    const { home, folder, config } = installed(CONFIG);
    const text = readFileSync(config, "utf8");
    assert.match(text, /\/\/ My model\.[^]*\/\/ mine/);
    assert.deepEqual((parseJson5(text, config) as { plugins: object }).plugins, {
      entries: { mine: { enabled: true }, pagurus: { enabled: true } },
      slots: { contextEngine: "pagurus" },
    });
    assert.ok(existsSync(join(folder, "extensions/pagurus/openclaw/index.js")));
    uninstall(home, "openclaw", OPENCLAW.withdraw?.bind(OPENCLAW));
    assert.equal(readFileSync(config, "utf8"), CONFIG);
    assert.ok(!existsSync(join(folder, "extensions")));
  });

  it("leaves nothing where there was no configuration", () => {
    const { home, config } = installed(undefined);
    uninstall(home, "openclaw", OPENCLAW.withdraw?.bind(OPENCLAW));
    assert.ok(!existsSync(config));
  });

  it("takes its own entries alone out of a configuration that was changed since, and an update that drops them is seen", () => {
    const { home, config } = installed(CONFIG);
    const changed = readFileSync(config, "utf8").replace("mock/m", "mock/other");
    writeFileSync(config, changed);
    assert.deepEqual(brokenFiles(home, "openclaw"), [config]);
    uninstall(home, "openclaw", OPENCLAW.withdraw?.bind(OPENCLAW));
    const left = parseJson5(readFileSync(config, "utf8"), config) as { plugins: { entries: object } };
    assert.deepEqual(left.plugins.entries, { mine: { enabled: true } });
    assert.ok(!readFileSync(config, "utf8").includes("pagurus"));
    assert.match(readFileSync(config, "utf8"), /mock\/other/);
  });
});
