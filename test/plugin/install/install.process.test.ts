import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout } from "node:timers/promises";
import { processIsAlive } from "../../../packages/core/src/platform/process-group.ts";
import { describeInstall, updatePlugin } from "../../../packages/host/src/plugin/install/install.ts";
import { installFolder, readInstalls } from "../../../packages/host/src/plugin/installs.ts";
import { pluginFiles, PluginUser } from "./user.ts";
import { longTest } from "../../runner/long-tests.ts";

const enabled = (id: string) => ({ plugins: { entries: { [id]: { enabled: true } } } });

describe("installing a plugin", () => {
  it("puts a package of the registry into the home, pinned, and leaves it disabled", async (t) => {
    const user = new PluginUser(t);
    user.publish(
      "@acme/engine",
      pluginFiles("engine", "1.2.3", {
        pkg: { dependencies: { left: "1" }, scripts: { postinstall: "touch ran" } },
      }),
    );
    const { record, manifest, facts, replaced } = await user.install("@acme/engine");
    assert.deepEqual(
      [record.id, record.source, record.spec, record.package, record.version, record.scripts],
      ["engine", "npm", "@acme/engine", "engine-package", "1.2.3", false],
    );
    assert.match(record.integrity, /^sha512-[A-Za-z0-9+/]{86}==$/);
    assert.deepEqual(manifest.kinds, ["context-engine"]);
    assert.deepEqual(
      [facts.dependencies, facts.scripts, facts.native, replaced],
      [1, ["engine-package"], false, undefined],
    );
    assert.deepEqual(readInstalls(user.home), [record]);
    const args = JSON.parse(
      readFileSync(join(installFolder(user.home, record), ".npm-install"), "utf8"),
    ) as string[];
    for (const flag of ["--ignore-scripts", "--no-audit", "--no-fund", "--omit=dev"])
      assert.ok(args.includes(flag), flag);
    assert.deepEqual(await user.load({}), { tools: [], failures: [] });
    assert.deepEqual(await user.load(enabled("engine")), { tools: ["engine 1.2.3"], failures: [] });
  });

  it("takes a tarball, a folder and a scoped id, and reports the content", async (t) => {
    const user = new PluginUser(t);
    const tarball = user.publish(
      "x",
      pluginFiles("@acme/one", "1.0.0", {
        files: { "build/core.node": "elf" },
        pkg: { scripts: { postinstall: "node-gyp" } },
      }),
    );
    const { record, facts } = await user.install(tarball, { allowScripts: true });
    assert.deepEqual(
      [record.source, record.spec, record.scripts, facts.native],
      ["tarball", tarball, true, true],
    );
    assert.match(record.folder, /^@acme\+one\/1\.0\.0-[0-9a-z]{16}$/);
    const folder = installFolder(user.home, record);
    assert.match(readFileSync(join(folder, ".npm-install"), "utf8"), /--ignore-scripts"/);
    assert.match(readFileSync(join(folder, ".npm-rebuild"), "utf8"), /--ignore-scripts=false/);
    assert.deepEqual(await user.load(enabled("@acme/one")), { tools: ["_acme_one 1.0.0"], failures: [] });
  });

  it("does not load what the lists exclude", async (t) => {
    const user = new PluginUser(t);
    await user.install(user.publish("x", pluginFiles("one")));
    const { plugins } = enabled("one");
    assert.deepEqual((await user.load({ plugins: { ...plugins, deny: ["one"] } })).tools, []);
    assert.deepEqual((await user.load({ plugins: { ...plugins, allow: ["two"] } })).tools, []);
    assert.deepEqual((await user.load({ plugins: { ...plugins, allow: ["one"] } })).tools, ["one 1.0.0"]);
    assert.deepEqual((await user.load({ plugins: { ...plugins, allow: ["one"], deny: ["one"] } })).tools, []);
  });

  longTest(
    "may bring one of several engines: all are loaded, and the slot names the one that is used",
    async (t) => {
      const user = new PluginUser(t);
      for (const id of ["one", "two"]) {
        const code = `export default (api) => api.registerContextEngine("${id}-engine", () => ({ info: { id: "${id}" } }));`;
        await user.install(user.publish(id, pluginFiles(id, "1.0.0", { code })));
      }
      const entries = { one: { enabled: true }, two: { enabled: true } };
      const registry = await user.registry({ plugins: { slots: { contextEngine: "two-engine" }, entries } });
      assert.deepEqual(registry.engineIds, ["one-engine", "two-engine"]);
      const engine = (await registry.engine("two-engine")({})) as { info: { id: string } };
      assert.equal(engine.info.id, "two");
    },
  );

  longTest(
    "updates from the original source, keeps the old one for running hosts, and sweeps it with the next command",
    async (t) => {
      const user = new PluginUser(t);
      user.publish("eng", pluginFiles("eng", "1.0.0"));
      await user.install("eng");
      assert.equal((await updatePlugin("eng", user.options())).unchanged, true);
      user.publish("eng", pluginFiles("eng", "2.0.0"));
      const updated = await updatePlugin("eng", user.options());
      assert.deepEqual(
        [updated.replaced, updated.record.version, updated.unchanged],
        ["1.0.0", "2.0.0", false],
      );
      assert.deepEqual((await user.load(enabled("eng"))).tools, ["eng 2.0.0"]);
      assert.equal(user.places.length, 2);
      await updatePlugin("eng", user.options());
      assert.deepEqual(user.places, [updated.record.folder]);
      await assert.rejects(updatePlugin("none", user.options()), { code: "plugin_unknown" });
    },
  );

  longTest(
    "updates without install scripts unless allowed, and names a missing folder or tarball",
    async (t) => {
      const user = new PluginUser(t);
      const pkg = { scripts: { postinstall: "touch ran" } };
      const publish = (version: string) => user.publish("eng", pluginFiles("eng", version, { pkg }));
      const tarball = publish("1.0.0");
      await user.install(tarball, { allowScripts: true });
      assert.equal((await updatePlugin("eng", user.options())).unchanged, true, "what ran is kept");
      publish("2.0.0");
      const { record, facts } = await updatePlugin("eng", user.options());
      assert.deepEqual([record.version, record.scripts, facts.scripts], ["2.0.0", false, ["eng-package"]]);
      assert.equal(existsSync(join(installFolder(user.home, record), ".npm-rebuild")), false);
      const again = await updatePlugin("eng", user.options({ allowScripts: true }));
      assert.deepEqual([again.record.scripts, again.unchanged], [true, false]);
      rmSync(tarball);
      await assert.rejects(updatePlugin("eng", user.options()), {
        code: "usage_invalid",
        message: /eng\.tgz" does not exist/,
      });
    },
  );

  it("is reinstalled by an update if npm's record of it is missing", async (t) => {
    const user = new PluginUser(t);
    const { record } = await user.install(user.publish("eng", pluginFiles("eng")));
    const lock = join(installFolder(user.home, record), "package-lock.json");
    for (const text of ["", "{}"]) {
      writeFileSync(lock, text);
      assert.match(
        describeInstall(user.home, record).problem ?? "",
        text === "" ? /JSON/ : /does not list the packages/,
      );
    }
    assert.equal((await updatePlugin("eng", user.options())).unchanged, false);
  });

  const refusals: [name: string, files: ReturnType<typeof pluginFiles>, code: string, message: RegExp][] = [
    [
      "a package that is no plugin",
      { "package.json": '{"name":"a","version":"1.0.0","main":"a.js"}', "a.js": "" },
      "plugin_invalid",
      /is not a plugin/,
    ],
    [
      "a manifest that is no JSON",
      pluginFiles("a", "1.0.0", { files: { "pagurus.plugin.json": "{" } }),
      "plugin_invalid",
      /not valid JSON/,
    ],
    [
      "an id with a way out",
      pluginFiles("a", "1.0.0", { manifest: { id: "../x" } }),
      "plugin_invalid",
      /id must be letters/,
    ],
    [
      "an id that every object has",
      pluginFiles("a", "1.0.0", { manifest: { id: "constructor" } }),
      "plugin_invalid",
      /id must be/,
    ],
    [
      "an id of the host",
      pluginFiles("a", "1.0.0", { manifest: { id: "Codex" } }),
      "plugin_duplicate_id",
      /belongs to Pagurus/,
    ],
    [
      "a module outside",
      pluginFiles("a", "1.0.0", { pkg: { main: "../../../x.js" } }),
      "plugin_invalid",
      /not a path within its folder/,
    ],
    [
      "an entry module that is a link out",
      pluginFiles("a", "1.0.0", { files: { "main.js": { link: "/etc/hostname" } } }),
      "plugin_invalid",
      /symbolic link out of/,
    ],
    [
      "a manifest that is a link out",
      pluginFiles("a", "1.0.0", { files: { "pagurus.plugin.json": { link: "/etc/hostname" } } }),
      "plugin_invalid",
      /symbolic link out of/,
    ],
    [
      "any other link out",
      pluginFiles("a", "1.0.0", { files: { "data/x": { link: "../../../../../../.." } } }),
      "plugin_invalid",
      /symbolic link out of/,
    ],
    [
      "a plugin of another version of the host",
      pluginFiles("a", "1.0.0", { pkg: { peerDependencies: { pagurus: "^99.0.0" } } }),
      "engine_contract",
      /was written for Pagurus "\^99\.0\.0"/,
    ],
    ["no module", pluginFiles("a", "1.0.0", { pkg: { main: "none.js" } }), "config_invalid", /has no module/],
  ];
  longTest("refuses a non-plugin or one with outward links, and keeps the installation", async (t) => {
    const user = new PluginUser(t);
    const { record } = await user.install(user.publish("old", pluginFiles("old")));
    for (const [name, files, code, message] of refusals)
      await assert.rejects(user.install(user.publish("bad", files)), { code, message }, name);
    assert.deepEqual(readInstalls(user.home), [record]);
    assert.deepEqual(user.places, [record.folder]);
    assert.deepEqual((await user.load(enabled("old"))).tools, ["old 1.0.0"]);
  });

  longTest("refuses another package under a taken id, also in another case", async (t) => {
    const user = new PluginUser(t);
    await user.install(user.publish("x", pluginFiles("engine")));
    const other = user.publish("y", pluginFiles("engine", "9.0.0", { pkg: { name: "other" } }));
    await assert.rejects(user.install(other), {
      code: "plugin_duplicate_id",
      message: /from the package engine-package/,
    });
    const cased = user.publish("z", pluginFiles("ENGINE", "9.0.0", { pkg: { name: "engine-package" } }));
    await assert.rejects(user.install(cased), { code: "plugin_duplicate_id" });
    user.configure(
      JSON.stringify({ plugins: { load: { paths: [user.folder("work", pluginFiles("linked"))] } } }),
    );
    const linked = user.publish("l", pluginFiles("linked"));
    await assert.rejects(user.install(linked), { code: "plugin_duplicate_id", message: /is linked already/ });
    user.configure("{");
    await assert.rejects(user.install(linked), { code: "config_invalid" });
  });

  it("never touches a folder of the user's own", async (t) => {
    const user = new PluginUser(t);
    mkdirSync(join(user.home, "plugins", "mine", "1.0.0-0123456789abcdef"), { recursive: true });
    writeFileSync(join(user.home, "plugins", "mine", "notes.txt"), "mine");
    const tarball = user.publish("x", pluginFiles("mine"));
    await assert.rejects(user.install(tarball), {
      code: "plugin_install_failed",
      message: /is a folder of yours/,
    });
    assert.deepEqual(user.places.toSorted(), ["mine/1.0.0-0123456789abcdef", "mine/notes.txt"]);
  });

  longTest("reports npm's error in one sentence, without the password of a URL", async (t) => {
    const user = new PluginUser(t);
    await assert.rejects(user.install("missing"), {
      code: "plugin_install_failed",
      message:
        "npm could not fetch missing (E404: No such package); check the name and the network, and try again.",
    });
    user.env["FAKE_NPM"] = "fail-install";
    await assert.rejects(user.install(user.publish("x", pluginFiles("x"))), (error: Error) => {
      assert.doesNotMatch(error.message, /secret|complete log|\n/);
      return /registry\.example/.test(error.message);
    });
    user.env["FAKE_NPM"] = "lie";
    user.publish("lied", pluginFiles("lied"));
    await assert.rejects(user.install("lied"), {
      code: "plugin_install_failed",
      message: /differs from npm.s record/,
    });
    await assert.rejects(user.install("x", { env: { PATH: user.home } }), { message: /npm is not found/ });
    assert.deepEqual(user.places, []);
  });

  longTest("ends npm with all its children at the deadline and when it is aborted", async (t) => {
    const user = new PluginUser(t);
    const tarball = user.publish("x", pluginFiles("x"));
    user.env["FAKE_NPM"] = "hang-install";
    const pidFile = String(user.env["FAKE_NPM_PID"]);
    const controller = new AbortController();
    const install = user.install(tarball, { signal: controller.signal });
    install.catch(() => undefined);
    while (!existsSync(pidFile) || readFileSync(pidFile, "utf8") === "") await setTimeout(10);
    const pid = Number(readFileSync(pidFile, "utf8"));
    controller.abort();
    await assert.rejects(install, { code: "turn_aborted" });
    await assert.rejects(user.install(tarball, { deadlineMs: 50 }), { message: /npm took longer than/ });
    while (processIsAlive(pid)) await setTimeout(10);
    assert.deepEqual(user.places, []);
  });

  longTest("lets one process install at a time", async (t) => {
    const user = new PluginUser(t);
    const order: string[] = [];
    const install = (id: string) =>
      user.install(user.publish(id, pluginFiles(id)), { onStep: (step) => void order.push(`${id} ${step}`) });
    await Promise.all([install("a"), install("b")]);
    const first = order[0]?.split(" ")[0];
    assert.ok(
      order.slice(0, 7).every((step) => step.startsWith(`${first} `)),
      order.join(", "),
    );
    assert.deepEqual(
      readInstalls(user.home).map(({ id }) => id),
      ["a", "b"],
    );
  });

  it("reports an unreadable list of installations, and runs nothing", async (t) => {
    const user = new PluginUser(t);
    await user.install(user.publish("x", pluginFiles("x")));
    for (const text of [
      "{",
      "[]",
      '{"plugins": {"x": 1}}',
      '{"plugins": {"x": {"folder": "../.."}}}',
      "null",
    ]) {
      writeFileSync(join(user.home, "plugins", "installs.json"), text);
      assert.throws(() => readInstalls(user.home), { code: "plugin_install_failed" });
      const { failures } = await user.load(enabled("x"));
      assert.match(failures.join("\n"), /installs\.json cannot be read/);
      await assert.rejects(user.install("x"), { code: "plugin_install_failed" });
    }
  });
});
