import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";
import { installFolder, packageFolder } from "../../../packages/host/src/plugin/installs.ts";
import { COMPILE_CACHE } from "../../runner/compile-cache.ts";
import { pluginFiles, PluginUser } from "./user.ts";
import { longTest } from "../../runner/long-tests.ts";

/** Environment of npm: no network, nothing of the user of the machine. */
function offline(user: PluginUser): Record<string, string | undefined> {
  return {
    PATH: process.env["PATH"],
    HOME: user.root,
    npm_config_cache: join(user.root, "cache"),
    npm_config_offline: "true",
    npm_config_update_notifier: "false",
    ...COMPILE_CACHE,
  };
}

longTest(
  "installs with the real npm, without a network, the host's packages or install scripts",
  async (t) => {
    const user = new PluginUser(t);
    const env = {
      ...offline(user),
      // What a surrounding npm run leaves in the environment must not lead it elsewhere.
      npm_config_global: "true",
      npm_config_ignore_scripts: "false",
    };
    const ran = join(user.root, "ran");
    const files = pluginFiles("@acme/engine", "1.2.3", {
      pkg: {
        peerDependencies: { openclaw: ">=2026.1.1" },
        devDependencies: { never: "1.0.0" },
        bin: "./main.js",
        scripts: { prepack: `touch ${ran}`, prepare: `touch ${ran}`, postinstall: `touch ${ran}` },
      },
    });
    const folder = user.folder("engine", files);
    const { record, facts } = await user.install(folder, { env });
    assert.equal(existsSync(ran), false);
    assert.deepEqual([record.source, record.spec, record.version], ["folder", folder, "1.2.3"]);
    assert.match(record.integrity, /^sha512-/);
    assert.deepEqual([facts.dependencies, facts.scripts], [0, ["@acme/engine-package"]]);
    assert.ok(existsSync(join(packageFolder(user.home, record), "main.js")));
    assert.equal(existsSync(join(installFolder(user.home, record), "node_modules", ".bin")), false);
    const config = { plugins: { entries: { "@acme/engine": { enabled: true } } } };
    assert.deepEqual((await user.load(config)).tools, ["_acme_engine 1.2.3"]);

    const claims = { ...files, "pagurus.plugin.json": '{"id": "lossless"}' };
    await assert.rejects(user.install(user.publish("claims", claims), { env, allowScripts: true }), {
      code: "plugin_duplicate_id",
    });
    assert.equal(existsSync(ran), false, "a script ran of a package that was refused");

    const tarball = user.publish("engine", files);
    const allowed = await user.install(tarball, { env, allowScripts: true });
    assert.ok(existsSync(ran));
    assert.equal(allowed.record.scripts, true);
  },
);

longTest("runs nothing of a git dependency, whose own .npmrc sets the git program", async (t) => {
  const user = new PluginUser(t);
  const ran = join(user.root, "ran");
  const dependency = user.folder("dependency", {
    "package.json": JSON.stringify({
      name: "dep",
      version: "1.0.0",
      scripts: { prepare: "exit 0" },
      devDependencies: { other: "git+file:///nowhere" },
    }),
    ".npmrc": `git=${join(user.root, "dependency", "git.sh")}\n`,
    "git.sh": `#!/bin/sh\ntouch ${ran}\nexit 1\n`,
  });
  chmodSync(join(dependency, "git.sh"), 0o755);
  const git = (...args: string[]): void => {
    const identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"];
    execFileSync("git", [...identity, ...args], { cwd: dependency, stdio: "ignore" });
  };
  git("init");
  git("add", ".");
  git("commit", "-m", "one");
  const dependencies = { dep: `git+file://${dependency}` };
  const tarball = user.publish("x", pluginFiles("eng", "1.0.0", { pkg: { dependencies } }));
  const env = offline(user);
  await assert.rejects(user.install(tarball, { env }), {
    code: "plugin_install_failed",
    message: /--allow-scripts/,
  });
  assert.equal(existsSync(ran), false);
  await assert.rejects(user.install(tarball, { env, allowScripts: true }), { code: "plugin_install_failed" });
  assert.equal(existsSync(ran), false, "the program of its .npmrc ran");
});

it("is not redirected by the user's npm settings", async (t) => {
  const user = new PluginUser(t);
  const npmrc = ["location=global", `prefix=${join(user.root, "global")}`, "lockfile-version=1"];
  writeFileSync(join(user.root, ".npmrc"), npmrc.join("\n"));
  const files = pluginFiles("eng", "1.0.0", { pkg: { scripts: { postinstall: "exit 0" } } });
  const { facts, record } = await user.install(user.publish("x", files), { env: offline(user) });
  assert.deepEqual(facts.scripts, ["eng-package"]);
  assert.ok(existsSync(join(packageFolder(user.home, record), "main.js")));
});
