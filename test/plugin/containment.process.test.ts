import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { Launcher } from "../cli/launch.ts";
import { longTest } from "../runner/long-tests.ts";

/** A user with linked plugins, by name and code. */
function userWith(t: TestContext, codes: Record<string, string>): Launcher {
  const launcher = new Launcher();
  t.after(() => launcher.remove());
  const paths = Object.entries(codes).map(([name, code]) => {
    const file = join(launcher.root, `${name}.mjs`);
    writeFileSync(file, code);
    return file;
  });
  const home = launcher.env.PAGURUS_HOME;
  mkdirSync(home, { mode: 0o700 });
  writeFileSync(join(home, "pagurus.json"), JSON.stringify({ plugins: { load: { paths } } }), {
    mode: 0o600,
  });
  return launcher;
}

/** Errors without a stack frame of the plugin, and one with such a frame. */
const WILD = `import { connect } from "node:net";
export default (api) => {
  Promise.reject(new Error("rejected at once"));
  setTimeout(() => { throw new Error("thrown in a timer"); }, 1);
  connect({ path: "/nowhere/at-all.sock" });
};`;

describe("an error of plugin code that nothing handles", () => {
  longTest("is contained and named by run, plugins info and doctor (finding A5)", async (t) => {
    const user = userWith(t, { wild: WILD });
    const run = await user.runProgram(["run", "hello"]);
    assert.equal(run.code, 0, run.err);
    assert.match(
      run.err,
      /degraded \(plugin, [^)]*\): The plugin wild has an error that nothing in it handles: /,
    );
    const info = await user.runProgram(["plugins", "info", "wild"]);
    assert.equal(info.code, 0, info.err);
    for (const words of ["rejected at once", "thrown in a timer", "ENOENT"])
      assert.match(info.out, new RegExp(`^! It has an error that nothing in it handles: .*${words}`, "m"));
    const doctor = await user.runProgram(["doctor"]);
    assert.match(doctor.out, /The plugin wild has an error that nothing in it handles: rejected at once/);
    for (const { out, err } of [run, info, doctor]) {
      assert.doesNotMatch(`${out}${err}`, /kill -9/);
      assert.doesNotMatch(`${out}${err}`, /^\s+at /m);
    }
  });

  it("is contained in a running engine, also where it is a text, which has no stack", async (t) => {
    const engine = `export default (api) => {
      api.registerContextEngine("wild", () => ({
        info: { id: "wild", name: "Wild" },
        ingest: async () => ({ ingested: true }),
        compact: async () => ({ ok: true, compacted: false }),
        assemble: async ({ messages }) => {
          await new Promise((resolve) => {
            setTimeout(() => {
              resolve();
              throw "thrown in a timer";
            }, 1);
          });
          return { messages, estimatedTokens: 0 };
        },
      }));
    };`;
    const user = userWith(t, { wild: engine });
    const set = await user.runProgram(["config", "set", "plugins.slots.contextEngine", "wild"]);
    assert.equal(set.code, 0, set.err);
    const run = await user.runProgram(["run", "hello", "--json"]);
    assert.equal(run.code, 0, run.err);
    assert.match(run.out, /"engine":"wild"/);
    assert.doesNotMatch(run.err, /thrown in a timer/);
  });

  it("of the host's own code ends the process as Node does (finding A5)", () => {
    const module = (name: string): string =>
      new URL(`../../packages/host/src/plugin/${name}.ts`, import.meta.url).href;
    for (const [fault, message] of [
      ['Promise.reject(new Error("host rejection"))', /Error: host rejection/],
      ['setTimeout(() => { throw new Error("host throw"); }, 1)', /Error: host throw/],
    ] as const) {
      const code = `import { containPlugin } from ${JSON.stringify(module("containment"))};
        containPlugin("other", "/nowhere/plugin", () => undefined);
        setTimeout(() => undefined, 10_000);
        ${fault};`;
      const args = ["--input-type=module-typescript", "--eval", code];
      const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
      assert.equal(status, 1, stderr);
      assert.match(stderr, message);
    }
  });
});

describe("a plugin that cannot be loaded", () => {
  const BROKEN = 'throw new Error("no such service");';

  longTest("refuses no run where it is no gate, and is a degradation on each (finding C8)", async (t) => {
    const user = userWith(t, { idle: BROKEN });
    for (const prompt of ["one", "two"]) {
      const run = await user.runProgram(["run", prompt]);
      assert.equal(run.code, 0, run.err);
      assert.match(run.err, /degraded \(plugin, [^)]*\): The plugin idle is not loaded: no such service/);
    }
    const status = await user.runProgram(["status"]);
    assert.match(status.out, /Plugin idle is not loaded: no such service/);
  });

  longTest(
    "refuses runs where its code names a gate, and where its entry requires it (finding C8)",
    async (t) => {
      const gate = `${BROKEN}\nexport default (api) => api.on("before_tool_call", () => undefined);`;
      const user = userWith(t, { gate });
      const run = await user.runProgram(["run", "one"]);
      assert.equal(run.code, 2);
      assert.match(run.err, /No run starts without it, since it is a gate \(before_tool_call\)\. Repair it/);
      await user.runProgram(["config", "set", "plugins.entries.gate.required", "false"]);
      assert.equal((await user.runProgram(["run", "one"])).code, 0);
      await user.runProgram(["config", "set", "plugins.entries.gate.required", "true"]);
      assert.match((await user.runProgram(["run", "one"])).err, /since it is required by its entry/);
    },
  );
});
