import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { claudeLines, writeLines } from "../replay/generated-session.ts";
import { Launcher } from "./launch.ts";

const user = new Launcher();
after(() => user.remove());
const sessions = join(user.root, "sessions");
const temporary = join(user.root, "tmp");
for (const folder of [sessions, join(sessions, "below"), temporary]) mkdirSync(folder);
writeLines(join(sessions, "one.jsonl"), claudeLines(12, 1));
writeLines(join(sessions, "below", "two.jsonl"), claudeLines(8, 2));
writeFileSync(join(sessions, "notes.jsonl"), '{"note":"no session"}\n');
Object.assign(user.env, { TMPDIR: temporary });

interface Report {
  sessions: { file: string; calls: number; format: string }[];
  leftOut: { file: string; why: string }[];
  engines: { id: string; figures: { name: string; value?: number; unit: string }[] }[];
  worse?: unknown[];
}

/** Every file below a folder with the hash of its bytes. */
function contents(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => {
      const file = join(parentPath, name);
      return `${file} ${createHash("sha1").update(readFileSync(file)).digest("hex")}`;
    })
    .toSorted();
}

function replay(...args: string[]): ReturnType<Launcher["runProgram"]> {
  return user.runProgram(["context", "replay", ...args]);
}

test("a folder is replayed with bundled engines and one at a path, and nothing is written but what is asked for", async () => {
  const before = contents(sessions);
  const example = join(import.meta.dirname, "../../examples/newest-turns");
  const ended = await replay(sessions, "--engine", "lossless", "--engine", "legacy", "--engine", example);
  assert.equal(ended.code, 0, ended.err);
  assert.match(ended.out, /^2 sessions, 120 model calls, [\d,]+ tokens; window 64,000/);
  // In the order of the command line.
  assert.match(ended.out, /^figure +lossless +legacy +newest-turns$/m);
  assert.match(ended.out, /^next action in context +[\d.]+ %/m);
  assert.match(ended.out, /Left out: .*notes\.jsonl: it has no model call of a known program/);
  // No progress on a pipe.
  assert.equal(ended.err, "");
  assert.deepEqual(contents(sessions), before);
  assert.ok(!existsSync(user.env.PAGURUS_HOME));
  assert.deepEqual(
    readdirSync(temporary).filter((name) => name.startsWith("pagurus-")),
    [],
  );
});

test("figures equal to the saved baseline end with 0, worse ones with 1 and their names", async () => {
  const file = join(user.root, "figures.json");
  const one = join(sessions, "one.jsonl");
  const saved = await replay(one, "--engine", "legacy", "--json", "--save", file);
  assert.equal(saved.code, 0, saved.err);
  const report = JSON.parse(saved.out) as Report;
  assert.deepEqual(report, JSON.parse(readFileSync(file, "utf8")));
  assert.deepEqual(
    report.sessions.map(({ calls, format }) => [calls, format]),
    [[72, "claude-code"]],
  );
  const same = await replay(one, "--engine", "legacy", "--baseline", file);
  assert.equal(same.code, 0, same.err);
  assert.match(same.out, /No figure is worse than in the baseline\./);
  for (const { figures } of report.engines)
    for (const figure of figures) if (figure.name === "token equivalents a call") figure.value = 1;
  writeFileSync(file, JSON.stringify(report));
  const worse = await replay(one, "--engine", "legacy", "--baseline", file);
  assert.equal(worse.code, 1, worse.err);
  assert.match(
    worse.out,
    /1 figure worse than in the baseline:\nlegacy: token equivalents a call is [\d,]+, and was 1$/m,
  );
  const other = await replay(join(sessions, "below"), "--engine", "legacy", "--baseline", file);
  assert.equal(other.code, 2);
  assert.match(other.err, /cannot be compared: it is of other sessions/);
});

test("a session of this host is named by its key, and only read", async () => {
  assert.equal((await user.run(["run", "hello", "--session", "own"])).code, 0);
  const before = contents(user.env.PAGURUS_HOME).filter((file) => file.includes("agents"));
  const ended = await replay("own", "--engine", "legacy", "--json");
  assert.equal(ended.code, 0, ended.err);
  const report = JSON.parse(ended.out) as Report;
  assert.deepEqual(
    report.sessions.map(({ calls, format }) => [calls, format]),
    [[1, "pagurus"]],
  );
  assert.deepEqual(
    contents(user.env.PAGURUS_HOME).filter((file) => file.includes("agents")),
    before,
  );
});

test("two versions of one engine are two columns, also where each has a process of its own", async () => {
  const example = join(import.meta.dirname, "../../examples/newest-turns");
  const copy = join(user.root, "newer");
  cpSync(example, copy, { recursive: true });
  const ended = await replay(join(sessions, "one.jsonl"), "--json", "--engine", example, "--engine", copy);
  assert.equal(ended.code, 0, ended.err);
  const { engines } = JSON.parse(ended.out) as Report;
  assert.deepEqual(
    engines.map(({ id }) => id),
    [`newest-turns ${example}`, `newest-turns ${copy}`],
  );
  assert.deepEqual(engines[0]?.figures, engines[1]?.figures);
});

test("what cannot be replayed is refused with one sentence", async () => {
  for (const [args, expected] of [
    [["nowhere"], /There is no file, folder or session "nowhere"/],
    [[join(sessions, "notes.jsonl")], /holds no session that can be replayed: it has no model call/],
    [[sessions, "--window", "9000"], /A window of 9000 tokens is too small/],
    [[sessions, "--engine", "unheard"], /No context engine "unheard" is registered/],
    [[sessions, "--baseline", "missing.json"], /The baseline cannot be read/],
  ] as const) {
    const { code, err, out } = await replay(...args);
    assert.notEqual(code, 0);
    assert.match(err, expected);
    assert.equal(err.trim().split("\n").length, 1, err);
    assert.equal(out, "");
  }
});

test("an interrupted replay ends its processes and removes their folders", async () => {
  const long = join(user.root, "long.jsonl");
  writeLines(long, claudeLines(400, 3));
  const { child, ended } = user.start(["context", "replay", long, "--engine", "lossless"]);
  while (
    !readdirSync(temporary, { recursive: true }).some((name) => String(name).includes("pagurus-replay-"))
  )
    await new Promise((resolve) => setImmediate(resolve));
  child.kill("SIGINT");
  const { code, err } = await ended;
  assert.equal(code, 130, err);
  assert.match(err, /The run was interrupted\./);
  assert.deepEqual(
    readdirSync(temporary).filter((name) => name.startsWith("pagurus-")),
    [],
  );
});
