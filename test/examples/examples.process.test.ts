/** The two examples, as their readers would try them: at the command line, whole. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, it } from "node:test";
import { ROOT } from "../../scripts/command.ts";
import { engineChecks, harnessChecks, type SuiteReport } from "../../packages/testkit/src/index.ts";
import { everyNth } from "../runner/short-form.ts";
import { Launcher } from "../cli/launch.ts";
import { longSuite } from "../runner/long-tests.ts";

const ENGINE = join(ROOT, "examples/newest-turns");
const HARNESS = join(ROOT, "examples/program");

/** Least share of the checks that the engine offers something for. */
const OFFERED = 0.57;

function lines(file: string): number {
  return readFileSync(file, "utf8").trimEnd().split("\n").length;
}

function failures({ results }: SuiteReport): string[] {
  return results.flatMap(({ id, status, reason }) => (status === "failed" ? [`${id}: ${reason}`] : []));
}

longSuite("the examples", () => {
  let user: Launcher;
  beforeEach(() => {
    user = new Launcher();
  });
  afterEach(() => user.remove());

  it("are short", () => {
    assert.ok(lines(join(ENGINE, "index.js")) < 100);
    assert.ok(lines(join(HARNESS, "index.js")) < 200);
  });

  it("hold an engine that passes the suite (finding B11)", async () => {
    const checks = everyNth(engineChecks(), 4);
    const only = ["--only", checks.map(({ id }) => id).join(",")];
    const { code, out, err } = await user.run(["engines", "test", ENGINE, "--json", ...only]);
    const report = JSON.parse(out) as SuiteReport;
    assert.deepEqual(failures(report), []);
    assert.equal(report.results.length, checks.length);
    assert.ok(report.passed >= checks.length * OFFERED, `${report.passed} of ${checks.length} passed`);
    assert.deepEqual([code, err], [0, ""]);
  });

  it("hold a harness that passes the suite", async () => {
    const checks = everyNth(harnessChecks(), 8);
    const only = checks.map(({ id }) => id);
    const args = ["runtimes", "test", "example-program", "--plugin", HARNESS, "--json"];
    const { code, out, err } = await user.run([...args, "--only", only.join(",")]);
    const report = JSON.parse(out) as SuiteReport;
    assert.deepEqual(failures(report), []);
    const threads = only.filter((id) => id === "thread.kept").length;
    assert.equal(report.passed, only.length - threads, "all but what is about native threads");
    assert.deepEqual([code, err], [0, ""]);
  });
});

longSuite("a conformance run at the command line", () => {
  let user: Launcher;
  beforeEach(() => {
    user = new Launcher();
  });
  afterEach(() => user.remove());

  /** A plugin whose engine turns the history around, and leaves compactions to the host. */
  function writeBackward(): string {
    const file = join(user.root, "backward.mjs");
    const code = `import { delegateCompactionToRuntime } from "openclaw/plugin-sdk/core";
    export default (api) => api.registerContextEngine("backward", () => ({
      info: { id: "backward", name: "Backward" },
      ingest: async () => ({ ingested: true }),
      assemble: async ({ messages }) => ({ messages: messages.toReversed(), estimatedTokens: 10 }),
      compact: (params) => delegateCompactionToRuntime(params),
    }));`;
    writeFileSync(file, code);
    return file;
  }

  it("shows each check, why one failed, and ends with 1 when one did", async () => {
    const only = "info.identity,assemble.order,compact.makes-room,maintain.answer";
    const { code, out } = await user.run(["engines", "test", writeBackward(), "--only", only]);
    assert.equal(code, 1);
    assert.match(out, /^The engine backward$/m);
    assert.match(out, /^✓ info\.identity +The engine has an id and a name/m);
    assert.match(
      out,
      /^✗ assemble\.order +Messages keep their original order[^\n]*\n +→ The message .* is twice in the assembled context/m,
    );
    assert.match(out, /^· maintain\.answer +not offered: The engine has no maintain\(\)\.$/m);
    assert.match(
      out,
      /^· compact\.makes-room +not offered: The engine leaves its compactions to the host\.$/m,
    );
    assert.match(out, /^1 passed, 1 failed, 2 skipped\.$/m);
  });

  it("takes declared gaps from a file, and refuses one that is none", async () => {
    const gaps = join(user.root, "gaps.json");
    writeFileSync(gaps, JSON.stringify({ "assemble.order": "It is a mirror." }));
    const only = ["--only", "assemble.order", "--gaps", gaps];
    const declared = await user.run(["engines", "test", writeBackward(), ...only]);
    assert.equal(declared.code, 0, declared.err);
    assert.match(declared.out, /^· assemble\.order +declared gap: It is a mirror\.$/m);
    writeFileSync(gaps, "[]");
    const refused = await user.run(["engines", "test", writeBackward(), ...only]);
    assert.equal(refused.code, 2);
    assert.match(refused.err, /is not a JSON object with a reason for each check's id\. \[usage_invalid\]/);
  });

  it("refuses a plugin without an engine and a runtime that there is not, in one sentence", async () => {
    const [engine, runtime] = await Promise.all([
      user.run(["engines", "test", HARNESS]),
      user.run(["runtimes", "test", "nobody"]),
    ]);
    assert.deepEqual([engine.code, runtime.code], [2, 2]);
    assert.match(engine.err, /^pagurus: The plugin example-program has no engine \(its engines: none\)\./);
    assert.match(
      runtime.err,
      /^pagurus: No runtime "nobody" is registered; choose one of .*codex.*\. \[runtime_unknown\]/,
    );
  });
});
