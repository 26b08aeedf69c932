/** Tests Ctrl-C during a conformance run. */
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, it } from "node:test";
import { ROOT } from "../../scripts/command.ts";
import { Launcher, type Ended } from "../cli/launch.ts";
import { longSuite } from "../runner/long-tests.ts";

/** An engine that never answers, so that its check is running when the interrupt comes. */
const SLOW = `export default (api) => api.registerContextEngine("slow", () => ({
  info: { id: "slow", name: "Slow" },
  ingest: async () => ({ ingested: true }),
  assemble: () => { process.stderr.write("asked\\n"); return new Promise(() => setInterval(() => {}, 1000)); },
  compact: async () => ({ ok: true, compacted: false }),
}));`;

longSuite("an interrupt of a conformance run", () => {
  let user: Launcher;
  let scratch: string;
  beforeEach(() => {
    user = new Launcher();
    scratch = join(user.root, "tmp");
    mkdirSync(scratch);
    Object.assign(user.env, { TMPDIR: scratch });
  });
  afterEach(() => user.remove());

  /** Interrupts the command when it has printed the text. */
  async function interrupted(args: string[], words: string): Promise<Ended> {
    const { child, ended } = user.start(args);
    let seen = "";
    const look = (text: string): void => {
      const before = seen.includes(words);
      seen += text;
      if (!before && seen.includes(words)) child.kill("SIGINT");
    };
    child.stdout?.on("data", look);
    child.stderr?.on("data", look);
    return ended;
  }

  it("ends the program of a runtime and removes the run's folders", async () => {
    const plugin = join(ROOT, "examples/program");
    const args = [
      "runtimes",
      "test",
      "example-program",
      "--plugin",
      plugin,
      "--only",
      "turn.answer,tools.max-steps",
    ];
    const { code, err } = await interrupted(args, "✓ turn.answer");
    assert.deepEqual([code, err], [130, "The run was interrupted.\n"]);
    assert.deepEqual(readdirSync(scratch), []);
  });

  it("ends a check of an engine that does not answer", async () => {
    const plugin = join(user.root, "slow.mjs");
    writeFileSync(plugin, SLOW);
    const args = ["engines", "test", plugin, "--only", "assemble.empty"];
    const { code, out } = await interrupted(args, "asked");
    assert.equal(code, 130);
    assert.doesNotMatch(out, /passed/);
    assert.deepEqual(readdirSync(scratch), []);
  });
});
