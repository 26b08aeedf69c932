import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { after, before, test } from "node:test";
import { FULL } from "../runner/short-form.ts";
import { MAIN } from "../runner/program.ts";
import { Launcher, type Ended } from "./launch.ts";
import { firstOf, longTest } from "../runner/long-tests.ts";

const user = new Launcher();
after(() => user.remove());

/** Runs `pagurus …` in a shell line where `$PAGURUS` is its path. */
function shell(line: string): Promise<Ended> {
  const env = { ...user.env, PAGURUS: `${process.execPath} ${MAIN}` };
  const child = spawn("/bin/sh", ["-c", line], {
    cwd: user.root,
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended: Ended = { code: null, out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (ended.out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (ended.err += text));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ ...ended, code }));
  });
}

before(async () => {
  const { code, err } = await user.run(["run", "-"], `Remember this: ${"shells ".repeat(15_000)}`);
  assert.equal(code, 0, err);
});

longTest("an export that does not fit on the disk fails and leaves no file", async () => {
  const { code, err } = await shell("ulimit -f 64; $PAGURUS sessions export main -o copy.jsonl");
  assert.equal(code, 1, err);
  assert.match(err, /"copy\.jsonl" cannot be written \(file too large\).*\[store_write_failed\]\n$/);
  assert.deepEqual(
    readdirSync(user.root).filter((name) => name.includes("copy")),
    [],
  );
});

test("a partial write to an output file is a failure, also when no write follows", async () => {
  const { code, err } = await shell("ulimit -f 64; $PAGURUS sessions export main > part.jsonl");
  assert.equal(code, 1, err);
  assert.match(err, /^pagurus: The standard output cannot be written \(file too large\)[^\n]*\n$/);
});

/** One for each kind of output: a text, a long text, events as they come, what commander prints. */
const KINDS = ["sessions list", "sessions export main", "run hello --json", "--help"];
const OTHERS = [
  "sessions show main",
  "sessions search Remember",
  "config get",
  "config schema",
  "context show",
  "context preview",
  "status",
  "doctor",
  "run hello",
  "--version",
];
const COMMANDS = FULL ? [...KINDS, ...OTHERS] : firstOf(KINDS);

// A device that refuses every write; only Linux has one.
for (const command of existsSync("/dev/full") ? COMMANDS : []) {
  test(`${command} on a full device fails with one sentence`, async () => {
    const { code, err } = await shell(`$PAGURUS ${command} > /dev/full`);
    assert.equal(code, 1, err);
    const lines = err.split("\n").filter((line) => line.startsWith("pagurus: The standard output cannot"));
    assert.equal(lines.length, 1, err);
    assert.doesNotMatch(err, /\n {4}at /);
  });
}

longTest("a run whose output failed is recorded as aborted", async () => {
  if (existsSync("/dev/full")) await shell("$PAGURUS run hello --session lost --json > /dev/full");
  else await shell("ulimit -f 0; $PAGURUS run hello --session lost --json > lost.jsonl");
  const { out } = await user.run(["status", "--session", "lost", "--json"]);
  assert.deepEqual((JSON.parse(out) as { interruptedTurns: string[] }).interruptedTurns, []);
});

longTest("a pipe beside a prompt is part of the input; a silent one is not waited for", async () => {
  const piped = await shell("printf 'the crab is Ludwig' | $PAGURUS run 'Who is it?' --session pipe");
  assert.equal(piped.code, 0, piped.err);
  const shown = await user.run(["sessions", "show", "pipe"]);
  assert.match(shown.out, /Who is it\?\n<stdin>\nthe crab is Ludwig\n<\/stdin>/);
  const { ended } = user.start(["run", "Who is it?", "--session", "silent"]);
  const silent = await ended;
  assert.equal(silent.code, 0, silent.err);
});
