import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { processIsAlive } from "../../../packages/core/src/platform/process-group.ts";
import { updatePlugin, type InstallStep } from "../../../packages/host/src/plugin/install/install.ts";
import { sweep, withPluginsLock } from "../../../packages/host/src/plugin/install/staging.ts";
import { readInstalls } from "../../../packages/host/src/plugin/installs.ts";
import { pluginFiles, PluginUser } from "./user.ts";
import { ALL, FULL } from "../../runner/short-form.ts";
import { until } from "../../runner/until.ts";

const CHILD = join(import.meta.dirname, "install.child.ts");
const STEPS: (InstallStep | "npm")[] = [
  "sweep",
  "stage",
  "fetch",
  "dependencies",
  "npm",
  "inspect",
  "scripts",
  "place",
  "record",
  "done",
];
/** The steps that are tried. */
const TRIED = ALL ? STEPS : STEPS.filter((step) => step === "npm");
/** Steps that a plain test run follows to the end, which takes a second each. */
const FOLLOWED = new Set(["npm", "record", "done"]);
const config = { plugins: { entries: { eng: { enabled: true } } } };

/** Updates a plugin from 1.0.0 to 2.0.0 in a process that is killed before the step. */
async function killedAt(user: PluginUser, step: string): Promise<void> {
  const env = { ...user.env, ...(step === "npm" && { FAKE_NPM: "hang-install" }) };
  const child = spawn(process.execPath, [CHILD, user.home, "eng", step], {
    env: env as NodeJS.ProcessEnv,
    stdio: ["ignore", "inherit", "inherit"],
  });
  const [, signal] = (await once(child, "exit")) as [number | null, string | null];
  assert.equal(signal, "SIGKILL", step);
}

describe("kill -9 during an update", () => {
  it(`at each of ${TRIED.length} steps leaves a working plugin, and no permanent leftovers`, async (t) => {
    const user = new PluginUser(t);
    const pkg = { scripts: { postinstall: "make" } };
    user.publish("eng", pluginFiles("eng", "1.0.0", { pkg }));
    const { record } = await user.install("eng", { allowScripts: true });
    user.publish("eng", pluginFiles("eng", "2.0.0", { pkg }));
    const before = join(user.root, "before");
    cpSync(user.home, before, { recursive: true });
    for (const step of TRIED) {
      rmSync(user.home, { recursive: true });
      cpSync(before, user.home, { recursive: true });
      await killedAt(user, step);
      // The installation counts from the writing of the list.
      const version = step === "done" ? "2.0.0" : "1.0.0";
      assert.deepEqual(await user.load(config), { tools: [`eng ${version}`], failures: [] }, step);
      if (step === "npm") await ended(user);
      // The next command cleans up and continues as usual.
      if (!FULL && !FOLLOWED.has(step)) {
        await withPluginsLock(user.home, undefined, async () => sweep(user.home, readInstalls(user.home)));
        assert.deepEqual(user.places, [record.folder], step);
        continue;
      }
      const updated = await updatePlugin("eng", user.options());
      assert.equal(updated.record.version, "2.0.0", step);
      assert.deepEqual((await user.load(config)).tools, ["eng 2.0.0"], step);
      const left = new Set(user.places);
      left.delete(updated.record.folder);
      if (step !== "done") left.delete(record.folder);
      assert.deepEqual([...left], [], step);
      assert.equal(readInstalls(user.home).length, 1, step);
    }
  });
});

/** Checks that npm did not outlive its host. */
async function ended(user: PluginUser): Promise<void> {
  const file = String(user.env["FAKE_NPM_PID"]);
  assert.ok(existsSync(file));
  const pid = Number(readFileSync(file, "utf8"));
  await until(() => !processIsAlive(pid));
}
