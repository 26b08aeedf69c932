import assert from "node:assert/strict";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout } from "node:timers/promises";
import { checkPluginSettings } from "../../../packages/cli/src/config/config-plugins.ts";
import {
  findKnown,
  knownPlugins,
  linkPlugin,
  setEnabled,
  uninstallPlugin,
} from "../../../packages/host/src/plugin/install/manage.ts";
import { packageFolder, readInstalls } from "../../../packages/host/src/plugin/installs.ts";
import { withPluginsLock } from "../../../packages/host/src/plugin/install/staging.ts";
import { pluginFiles, PluginUser } from "./user.ts";
import { longTest } from "../../runner/long-tests.ts";

describe("enabling a plugin", () => {
  it("changes one key and keeps every comment", async (t) => {
    const user = new PluginUser(t);
    user.configure(
      "// mine\n{\n  plugins: {\n    // the engine\n    slots: { contextEngine: 'legacy' },\n  },\n}\n",
    );
    await user.install(user.publish("x", pluginFiles("eng")));
    await setEnabled(user.home, "eng", true);
    assert.equal(
      user.configText,
      "// mine\n{\n  plugins: {\n    // the engine\n    slots: { contextEngine: 'legacy' },\n    entries: {\n      eng: {\n        enabled: true\n      }\n    },\n  },\n}\n",
    );
    assert.deepEqual((await user.load(user.config)).tools, ["eng 1.0.0"]);
    await setEnabled(user.home, "eng", false);
    assert.deepEqual((await user.load(user.config)).tools, []);
  });

  it("is refused where the plugin could not work, before anything runs", async (t) => {
    const user = new PluginUser(t);
    const configSchema = { type: "object", required: ["url"], properties: { url: { type: "string" } } };
    const { record } = await user.install(
      user.publish("x", pluginFiles("eng", "1.0.0", { manifest: { configSchema } })),
    );
    await assert.rejects(setEnabled(user.home, "eng", true), {
      code: "config_invalid",
      message: /plugins\.entries\.eng\.config\.url must be a string, but is missing/,
    });
    user.configure('{"plugins": {"entries": {"eng": {"config": {"url": "http://x"}}}, "deny": ["eng"]}}');
    await assert.rejects(setEnabled(user.home, "eng", true), {
      code: "config_invalid",
      message: /is named in plugins\.deny/,
    });
    user.configure('{"plugins": {"entries": {"eng": {"config": {"url": "http://x"}}}, "allow": []}}');
    await assert.rejects(setEnabled(user.home, "eng", true), { message: /is not named in plugins\.allow/ });
    user.configure('{"plugins": {"entries": {"eng": {"enabled": true, "config": {"url": 5}}}}}');
    const { tools, failures } = await user.load(user.config);
    assert.deepEqual(
      [tools, failures],
      [
        [],
        [
          "eng: plugins.entries.eng.config.url must be a string, but is a number; correct the plugin's settings.",
        ],
      ],
    );
    rmSync(packageFolder(user.home, record), { recursive: true });
    await assert.rejects(setEnabled(user.home, "eng", true), {
      code: "config_invalid",
      message: /does not exist/,
    });
    await assert.rejects(setEnabled(user.home, "none", true), {
      code: "plugin_unknown",
      message: /there are: eng/,
    });
    assert.match(knownPlugins(user.home)[0]?.problem ?? "", /does not exist/);
  });

  it("refuses a plugin whose id has changed", async (t) => {
    const user = new PluginUser(t);
    const { record } = await user.install(user.publish("x", pluginFiles("eng")));
    writeFileSync(join(packageFolder(user.home, record), "pagurus.plugin.json"), '{"id": "codex"}');
    const { tools, failures } = await user.load({ plugins: { entries: { eng: { enabled: true } } } });
    assert.deepEqual(
      [tools, failures],
      [[], ['eng: The plugin eng now has the id "codex"; install it again.']],
    );
  });
});

describe("linking a folder", () => {
  it("uses it in place, once it is enabled, and unlinking keeps it unchanged", async (t) => {
    const user = new PluginUser(t);
    user.configure("{\n  plugins: { load: { paths: ['./other.mjs'] } }, // keep\n}\n");
    const folder = user.folder("work", pluginFiles("eng"));
    await linkPlugin(user.home, folder);
    assert.deepEqual(user.config.plugins?.load?.paths, ["./other.mjs", folder]);
    assert.equal(user.config.plugins?.entries?.["eng"]?.enabled, false);
    await linkPlugin(user.home, folder);
    await setEnabled(user.home, "eng", true);
    assert.deepEqual((await user.load(user.config)).tools, ["eng 1.0.0"]);
    await assert.rejects(uninstallPlugin(user.home, "none"), { code: "plugin_unknown" });
    await uninstallPlugin(user.home, "eng");
    assert.deepEqual(user.config, { plugins: { load: { paths: ["./other.mjs"] }, entries: {} } });
    assert.match(user.configText, /\/\/ keep/);
    await linkPlugin(user.home, folder);
  });

  longTest("keeps every link when several are created at once", async (t) => {
    const user = new PluginUser(t);
    const folders = ["one", "two"].map((id) => user.folder(id, pluginFiles(id)));
    const order: string[] = [];
    await Promise.all([
      withPluginsLock(user.home, undefined, async () => {
        await setTimeout(150);
        order.push("first");
      }),
      ...folders.map((folder) => linkPlugin(user.home, folder).then(() => order.push("link"))),
    ]);
    assert.deepEqual(order, ["first", "link", "link"]);
    assert.deepEqual(user.config.plugins?.load?.paths?.toSorted(), folders);
    const held = withPluginsLock(user.home, undefined, () => setTimeout(150));
    await Promise.all([
      held.then(() => order.push("held")),
      setEnabled(user.home, "one", true).then(() => order.push("on")),
    ]);
    assert.deepEqual(order.slice(3), ["held", "on"]);
  });

  it("is refused for a non-plugin, an outward link, or a taken id", async (t) => {
    const user = new PluginUser(t);
    await assert.rejects(linkPlugin(user.home, join(user.root, "none")), {
      code: "config_invalid",
      message: /does not exist/,
    });
    const outside = user.folder("outside", { "evil.js": "export default () => undefined;" });
    const folder = user.folder("work", { "package.json": '{"name": "eng", "main": "in.js"}' });
    symlinkSync(join(outside, "evil.js"), join(folder, "in.js"));
    await assert.rejects(linkPlugin(user.home, folder), {
      code: "plugin_invalid",
      message: /symbolic link out of/,
    });
    await assert.rejects(linkPlugin(user.home, user.folder("has space", { "index.js": "" })), {
      code: "plugin_invalid",
      message: /no plugin can have/,
    });
    await assert.rejects(linkPlugin(user.home, user.folder("a", pluginFiles("lossless"))), {
      code: "plugin_duplicate_id",
    });
    await user.install(user.publish("x", pluginFiles("eng")));
    await assert.rejects(linkPlugin(user.home, user.folder("b", pluginFiles("eng"))), {
      code: "plugin_duplicate_id",
      message: /is installed already/,
    });
    assert.deepEqual(user.places.length, 1);
  });
});

describe("a link that cannot be read", () => {
  const broken = { "pagurus.plugin.json": "{" };

  it("is disabled by the name of its folder, which the refusal and the list show", async (t) => {
    const user = new PluginUser(t);
    const path = user.folder("eng2", broken);
    // Its own id is unknown, so that an allow list does not exclude what may be a gate.
    user.configure(JSON.stringify({ plugins: { allow: ["its-own"], load: { paths: [path] } } }));
    assert.deepEqual(knownPlugins(user.home)[0]?.id, "eng2");
    assert.match((await user.load(user.config)).failures.join("\n"), /^eng2: [^\n]+ is not valid JSON/);
    assert.match(checkPluginSettings(user.config, user.home).problems.join("\n"), /is not valid JSON/);
    await setEnabled(user.home, "eng2", false);
    assert.deepEqual(user.config.plugins?.entries, { eng2: { enabled: false } });
    assert.deepEqual(await user.load(user.config), { tools: [], failures: [] });
    assert.deepEqual(checkPluginSettings(user.config, user.home).problems, []);
    user.configure(JSON.stringify({ plugins: { deny: ["eng2"], load: { paths: [path] } } }));
    assert.deepEqual(await user.load(user.config), { tools: [], failures: [] });
  });

  it("is named by its path where another plugin has its folder's name", async (t) => {
    const user = new PluginUser(t);
    await user.install(user.publish("x", pluginFiles("eng")));
    const path = user.folder("eng", broken);
    const entries = { eng: { enabled: false } };
    user.configure(JSON.stringify({ plugins: { entries, load: { paths: [path] } } }));
    assert.deepEqual((await user.load(user.config)).failures.length, 1);
    await setEnabled(user.home, "eng", true);
    assert.deepEqual((await user.load(user.config)).failures.length, 1);
    await setEnabled(user.home, path, false);
    assert.deepEqual(await user.load(user.config), { tools: ["eng 1.0.0"], failures: [] });
  });
});

const ENGINE_RESET = { key: "plugins.slots.contextEngine", value: "legacy" };

describe("disabling a plugin", () => {
  it("writes legacy into the slot that named its engine, and enabling it leaves that choice (finding A2)", async (t) => {
    const user = new PluginUser(t);
    await user.install(
      user.publish("x", pluginFiles("eng", "1.0.0", { manifest: { kind: ["context-engine"] } })),
    );
    user.configure('{"plugins": {"slots": {"contextEngine": "eng"}, "entries": {"eng": {"enabled": true}}}}');
    assert.deepEqual((await setEnabled(user.home, "eng", false)).resetSlots, [ENGINE_RESET]);
    assert.equal(user.config.plugins?.slots?.contextEngine, "legacy");
    assert.deepEqual((await setEnabled(user.home, "eng", true)).resetSlots, []);
    assert.equal(user.config.plugins?.slots?.contextEngine, "legacy");
  });
});

describe("uninstalling a plugin", () => {
  it("removes its files, keeps its settings, and writes legacy into its slot (finding A2)", async (t) => {
    const user = new PluginUser(t);
    await user.install(
      user.publish("x", pluginFiles("eng", "1.0.0", { manifest: { kind: ["context-engine", "memory"] } })),
    );
    user.configure(
      "{\n  // slots\n  plugins: {\n    slots: { contextEngine: 'eng', memory: 'eng' },\n    entries: { eng: { enabled: true, config: { a: 1 } } }, // settings\n  },\n}\n",
    );
    const { resetSlots } = await uninstallPlugin(user.home, "eng");
    assert.deepEqual(resetSlots, [ENGINE_RESET, { key: "plugins.slots.memory", value: undefined }]);
    assert.deepEqual(user.config, {
      plugins: { slots: { contextEngine: "legacy" }, entries: { eng: { enabled: false, config: { a: 1 } } } },
    });
    assert.match(user.configText, /\/\/ slots[^]*\/\/ settings/);
    assert.deepEqual([user.places, readInstalls(user.home)], [[], []]);
    assert.throws(() => findKnown(user.home, "eng"), { code: "plugin_unknown" });
  });

  longTest("leaves a slot that is another's, and resets one whose engine only it can have had", async (t) => {
    const user = new PluginUser(t);
    const engine = (id: string) =>
      user.install(user.publish(id, pluginFiles(id, "1.0.0", { pkg: { name: id } })));
    await engine("one");
    await engine("two");
    const entries = { one: { enabled: true }, two: { enabled: true } };
    user.configure(
      JSON.stringify({ plugins: { slots: { contextEngine: "lossless", memory: "files" }, entries } }),
    );
    assert.deepEqual((await uninstallPlugin(user.home, "one")).resetSlots, []);
    await engine("one");
    user.configure(JSON.stringify({ plugins: { slots: { contextEngine: "an-engine-of-either" }, entries } }));
    assert.deepEqual((await uninstallPlugin(user.home, "one")).resetSlots, []);
    assert.deepEqual((await uninstallPlugin(user.home, "two")).resetSlots, [ENGINE_RESET]);
  });

  longTest(
    "that is interrupted leaves the plugin disabled or complete, and is finished by the next one",
    async (t) => {
      const user = new PluginUser(t);
      const tarball = user.publish("x", pluginFiles("eng"));
      for (const step of ["slots", "switch", "record", "files"]) {
        await user.install(tarball);
        user.configure(
          '{"plugins": {"slots": {"contextEngine": "eng"}, "entries": {"eng": {"enabled": true}}}}',
        );
        const onStep = (at: string): void => {
          if (at === step) throw new Error("interrupted");
        };
        await assert.rejects(uninstallPlugin(user.home, "eng", { onStep }), /interrupted/);
        const { tools, failures } = await user.load(user.config);
        const on = step === "slots" || step === "switch";
        assert.deepEqual([tools, failures], [on ? ["eng 1.0.0"] : [], []], step);
        const slot = user.config.plugins?.slots?.contextEngine;
        assert.equal(slot, step === "slots" ? "eng" : "legacy", step);
        if (step === "files") assert.throws(() => findKnown(user.home, "eng"), { code: "plugin_unknown" });
        else await uninstallPlugin(user.home, "eng");
        const other = user.publish("other", pluginFiles("other"));
        const { record } = await user.install(other);
        assert.deepEqual(user.places, [record.folder], step);
        await uninstallPlugin(user.home, "other");
      }
    },
  );

  for (const enabled of [true, false])
    it(`that is interrupted never enables a link that is ${enabled ? "enabled" : "disabled"}`, async (t) => {
      const user = new PluginUser(t);
      const folder = user.folder("work", pluginFiles("eng"));
      for (const step of ["slots", "switch", "record"]) {
        user.configure(
          JSON.stringify({
            plugins: { load: { paths: [folder, "./other.mjs", folder] }, entries: { eng: { enabled } } },
          }),
        );
        const onStep = (at: string): void => {
          if (at === step) throw new Error("interrupted");
        };
        await assert.rejects(uninstallPlugin(user.home, "eng", { onStep }), /interrupted/);
        const { tools } = await user.load(user.config);
        assert.deepEqual(tools, enabled && step !== "switch" ? ["eng 1.0.0"] : [], step);
        if (step !== "switch") await uninstallPlugin(user.home, "eng");
        assert.deepEqual(user.config.plugins?.load?.paths, ["./other.mjs"], step);
        assert.deepEqual((await user.load(user.config)).tools, [], step);
      }
    });

  it("leaves the entry of another one that has its id", async (t) => {
    const user = new PluginUser(t);
    const paths = ["one", "two"].map((name) => user.folder(name, pluginFiles("eng")));
    user.configure(JSON.stringify({ plugins: { load: { paths }, entries: { eng: { enabled: false } } } }));
    await uninstallPlugin(user.home, "eng");
    assert.deepEqual(user.config.plugins?.load?.paths, paths.slice(1));
    assert.deepEqual((await user.load(user.config)).tools, []);
  });

  it("works for a plugin whose files are broken or gone", async (t) => {
    const user = new PluginUser(t);
    const { record } = await user.install(user.publish("x", pluginFiles("eng")));
    rmSync(packageFolder(user.home, record), { recursive: true });
    user.configure('{"plugins": {"slots": {"contextEngine": "eng"}, "load": {"paths": ["./gone"]}}}');
    assert.deepEqual((await uninstallPlugin(user.home, "eng")).resetSlots, [ENGINE_RESET]);
    mkdirSync(join(user.root, "unused"));
    const [gone] = knownPlugins(user.home);
    assert.match(gone?.problem ?? "", /does not exist/);
    await uninstallPlugin(user.home, join(user.home, "gone"));
    assert.deepEqual(user.config.plugins?.load?.paths, []);
  });
});
