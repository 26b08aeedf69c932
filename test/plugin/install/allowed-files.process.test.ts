/** An installed plugin runs with the files that the user allowed, and with no others. */
import assert from "node:assert/strict";
import { appendFileSync, chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { knownPlugins, setEnabled } from "../../../packages/host/src/plugin/install/manage.ts";
import { describeInstall, updatePlugin } from "../../../packages/host/src/plugin/install/install.ts";
import {
  installFolder,
  packageFolder,
  readInstalls,
  writeInstalls,
  type InstallRecord,
} from "../../../packages/host/src/plugin/installs.ts";
import { pluginFiles, PluginUser } from "./user.ts";

const EXTRA = { files: { "lib/part.js": "export const part = 1;\n", "run.sh": "#!/bin/sh\n" } };

interface Installed {
  user: PluginUser;
  record: InstallRecord;
  /** Absolute path of a file of the plugin. */
  file(name: string): string;
}

async function installed(t: TestContext): Promise<Installed> {
  const user = new PluginUser(t);
  const { record } = await user.install(user.publish("eng-package", pluginFiles("eng", "1.0.0", EXTRA)));
  await setEnabled(user.home, "eng", true);
  return { user, record, file: (name) => join(packageFolder(user.home, record), name) };
}

const CHANGES: Readonly<Record<string, (place: Installed) => void>> = {
  "a changed module": ({ file }) => appendFileSync(file("main.js"), "// more\n"),
  "a changed file that the module may import": ({ file }) => writeFileSync(file("lib/part.js"), ""),
  "a new file": ({ file }) => writeFileSync(file("lib/new.js"), ""),
  "a removed file": ({ file }) => rmSync(file("lib/part.js")),
  "a file that became a program": ({ file }) => chmodSync(file("run.sh"), 0o755),
  "a new package beside it": ({ user, record }) => {
    const folder = join(installFolder(user.home, record), "node_modules", "other");
    mkdirSync(folder);
    writeFileSync(join(folder, "index.js"), "");
  },
};

describe("an installed plugin", () => {
  for (const [what, change] of Object.entries(CHANGES)) {
    it(`is not loaded with ${what}, and is named with both remedies`, async (t) => {
      const place = await installed(t);
      const { user } = place;
      assert.deepEqual((await user.load(user.config)).tools, ["eng 1.0.0"]);
      change(place);
      const { tools, failures } = await user.load(user.config);
      assert.deepEqual(tools, []);
      assert.match(
        failures.join("\n"),
        /^eng: The files of the plugin eng are not those that you allowed \(the newest is .+\); run "pagurus plugins update eng" to install it again, or "pagurus plugins enable eng"/,
      );
      assert.match(describeInstall(user.home, place.record).problem ?? "", /not those that you allowed/);
    });
  }

  it("runs no code of changed files, and refuses runs, since it may have been a gate", async (t) => {
    const { user, file } = await installed(t);
    const mark = join(user.root, "ran");
    writeFileSync(
      file("main.js"),
      `import { writeFileSync } from "node:fs";\nwriteFileSync(${JSON.stringify(mark)}, "");\n`,
    );
    const { failures } = await user.registry(user.config);
    assert.ok(!existsSync(mark));
    assert.deepEqual(
      failures.map(({ needed }) => needed),
      ["has other files than you allowed and may have been a gate"],
    );
  });

  it("is loaded with changed files once it was enabled again, and until they change again", async (t) => {
    const { user, file } = await installed(t);
    appendFileSync(file("main.js"), "// mine\n");
    assert.equal((await setEnabled(user.home, "eng", true)).changed, true);
    assert.equal((await setEnabled(user.home, "eng", true)).changed, false);
    assert.deepEqual((await user.load(user.config)).tools, ["eng 1.0.0"]);
    appendFileSync(file("main.js"), "// not mine\n");
    assert.deepEqual((await user.load(user.config)).tools, []);
  });

  it("has its files again after an update to the same version", async (t) => {
    const { user, file } = await installed(t);
    appendFileSync(file("main.js"), "// more\n");
    const { unchanged } = await updatePlugin("eng", user.options());
    assert.equal(unchanged, false);
    assert.deepEqual((await user.load(user.config)).tools, ["eng 1.0.0"]);
  });

  it("may fill a cache folder of its libraries", async (t) => {
    const { user, file } = await installed(t);
    mkdirSync(file(".cache"));
    writeFileSync(file(".cache/words"), "one");
    assert.deepEqual((await user.load(user.config)).tools, ["eng 1.0.0"]);
  });

  it("of an older record is loaded, and is recorded when it is enabled", async (t) => {
    const { user, file } = await installed(t);
    const old = readInstalls(user.home).map(({ files: _files, ...rest }) => rest);
    writeInstalls(user.home, old);
    appendFileSync(file("main.js"), "// before\n");
    assert.deepEqual((await user.load(user.config)).tools, ["eng 1.0.0"]);
    assert.equal((await setEnabled(user.home, "eng", true)).changed, false);
    appendFileSync(file("main.js"), "// after\n");
    assert.deepEqual((await user.load(user.config)).tools, []);
    assert.equal(knownPlugins(user.home)[0]?.id, "eng");
  });
});
