import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { after, before, describe, it } from "node:test";
import { installService } from "../../../packages/cli/src/server/service-work.ts";
import { ServeProcess } from "../../server/serve-setting.ts";
import { finish, makeSetting, type Setting } from "../../turn/setting.ts";
import { fakeCli } from "../fake-cli.ts";
import { LAUNCHER } from "../../runner/program.ts";
import { AS_PROGRAM } from "../../turn/inside.ts";
import { longSuite } from "../../runner/long-tests.ts";

describe("pagurus serve --install", { skip: process.platform !== "linux" }, () => {
  let setting: Setting;
  before(() => (setting = makeSetting({})));
  after(() => setting.remove());

  it("writes a unit with absolute paths once, prints how to start it, and --uninstall removes it", async () => {
    const file = join(setting.root, ".config/systemd/user/pagurus.service");
    const installed = await finish(setting, ["serve", "--install", "--port", "7200"]);
    assert.deepEqual([installed.code, installed.stderr], [0, ""]);
    assert.match(installed.stdout, /systemctl --user enable --now pagurus\.service/);
    const unit = readFileSync(file, "utf8");
    const [, program, launcher = ""] =
      /^ExecStart="([^"]+)" "([^"]+)" "serve" "--port" "7200"$/m.exec(unit) ?? [];
    assert.equal(program, process.execPath, unit);
    assert.equal(launcher, AS_PROGRAM ? LAUNCHER : join(import.meta.dirname, "../../../bin/pagurus.js"));
    assert.ok(unit.includes(`Environment="PAGURUS_HOME=${setting.home}"\n`), unit);
    const checked = spawnSync("systemd-analyze", ["verify", "--user", file], { encoding: "utf8" });
    // Where there is no systemd, its text alone is compared.
    if (!checked.error) assert.equal(checked.stderr.includes("pagurus.service:"), false, checked.stderr);
    const again = await finish(setting, ["serve", "--install"]);
    assert.equal(again.code, 2);
    assert.match(again.stderr, /installed already/);
    assert.equal(readFileSync(file, "utf8"), unit);
    assert.equal((await finish(setting, ["serve", "--uninstall"])).code, 0);
    assert.equal(existsSync(file), false);
    assert.match((await finish(setting, ["serve", "--uninstall"])).stderr, /No service is installed/);
  });

  it("writes a property list of launchd on a Mac", () => {
    const cli = fakeCli({ env: setting.env });
    assert.equal(installService(cli, { port: 7200 }, "darwin"), 0);
    const file = join(setting.root, "Library/LaunchAgents/dev.pagurus.serve.plist");
    const text = readFileSync(file, "utf8");
    assert.match(text, /<string>serve<\/string>\s+<string>--port<\/string>\s+<string>7200<\/string>/);
    assert.throws(() => installService(cli, {}, "darwin"), /installed already/);
  });
});

longSuite("pagurus serve status --json", () => {
  let setting: Setting;
  before(() => (setting = makeSetting({})));
  after(() => setting.remove());

  it("has one key for whether a server runs", async () => {
    const status = async (): Promise<{ code: number | null; json: Record<string, unknown> }> => {
      const { code, stdout } = await finish(setting, ["serve", "status", "--json"]);
      return { code, json: JSON.parse(stdout) as Record<string, unknown> };
    };
    assert.deepEqual(await status(), { code: 1, json: { isRunning: false, home: setting.home } });
    const server = await ServeProcess.start(setting);
    try {
      const { code, json } = await status();
      assert.deepEqual([code, json["isRunning"], json["running"]], [0, true, []]);
      assert.equal(json["url"], server.url);
    } finally {
      await server.kill();
    }
  });
});

describe("pagurus open", () => {
  let setting: Setting;
  let server: ServeProcess;
  before(async () => {
    setting = makeSetting({});
    server = await ServeProcess.start(setting);
  });
  after(async () => {
    await server.kill();
    setting.remove();
  });

  it("prints an address that signs a browser in once where there is no screen", async () => {
    const { code, stdout } = await finish(setting, ["open"]);
    assert.equal(code, 0);
    const [url = ""] = /http:\S+$/m.exec(stdout) ?? [];
    const { origin, hash } = new URL(url);
    const asked = { code: /^#\/sign-in\/([\w-]+)$/.exec(hash)?.[1] };
    const signIn = (): Promise<Response> =>
      fetch(`${origin}/sign-in`, { method: "POST", body: JSON.stringify(asked) });
    assert.deepEqual([(await signIn()).status, (await signIn()).status], [200, 401]);
  });

  it("gives the user's browser a file of the user's own, and no command line has the code", async () => {
    const [browser, seen] = [join(setting.root, "browser"), join(setting.root, "seen")];
    writeFileSync(browser, `#!/bin/sh\nprintf '%s' "$*" > '${seen}.part'; mv '${seen}.part' '${seen}'\n`);
    chmodSync(browser, 0o755);
    const at = { ...setting, env: { ...setting.env, BROWSER: browser } };
    const { code, stdout } = await finish(at, ["open"]);
    assert.deepEqual([code, stdout], [0, `Opened ${server.url} in your browser.\n`]);
    while (!existsSync(seen)) await new Promise((resolve) => setImmediate(resolve));
    const page = fileURLToPath(readFileSync(seen, "utf8"));
    assert.equal(statSync(page).mode & 0o777, 0o600);
    assert.equal(statSync(dirname(page)).mode & 0o777, 0o700);
    assert.match(
      readFileSync(page, "utf8"),
      /location\.replace\("http:\S+\/inspector\/#\/sign-in\/[\w-]{43}"\)/,
    );
    const printed = await finish(at, ["open", "--print"]);
    assert.match(printed.stdout, /^http:\S+\/inspector\/#\/sign-in\//m);
  });
});
