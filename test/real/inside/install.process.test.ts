/** `pagurus install` and `pagurus uninstall` with the real Claude Code: what is in its folder before and after, and its own check. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { claudeBinary } from "../programs.ts";
import { InsideBench } from "./inside-bench.ts";

const SETTINGS = '{\n    "theme":"dark",   "env": {"A":"b"}\n}';

/** Each file and folder of a tree with its permissions and bytes. */
function treeOf(root: string): Record<string, string> {
  return Object.fromEntries(
    readdirSync(root, { recursive: true, encoding: "utf8" })
      .toSorted()
      .map((name) => {
        const path = join(root, name);
        const stat = statSync(path);
        const mode = (stat.mode & 0o7777).toString(8);
        return [name, stat.isDirectory() ? mode : `${mode} ${readFileSync(path, "base64")}`];
      }),
  );
}

describe("the engine's installation in Claude Code", { timeout: 600_000 }, () => {
  const open: InsideBench[] = [];
  after(async () => {
    for (const bench of open) await bench.end();
  });

  async function opened(): Promise<InsideBench> {
    const bench = await InsideBench.open((nth) => ({ text: `Answer ${nth}.` }));
    open.push(bench);
    writeFileSync(join(bench.config, "settings.json"), SETTINGS);
    mkdirSync(join(bench.config, "skills", "mine"), { recursive: true });
    writeFileSync(
      join(bench.config, "skills", "mine", "SKILL.md"),
      "---\nname: mine\ndescription: mine\n---\nMine.\n",
    );
    return bench;
  }

  it("shows each change, and is taken back byte for byte, also from two homes", async () => {
    const bench = await opened();
    const before = treeOf(bench.config);
    const shown = await bench.pagurus("install", "claude-code", "--dry-run");
    assert.deepEqual(treeOf(bench.config), before, "a dry run changes nothing");
    await bench.pagurus("install", "claude-code", "--yes");
    const first = treeOf(bench.config);
    for (const name of Object.keys(first))
      if (!(name in before) && statSync(join(bench.config, name)).isFile())
        assert.ok(shown.includes(name), name);
    await bench.pagurus("install", "claude-code", "--yes");
    assert.deepEqual(treeOf(bench.config), first, "a second installation changes nothing");
    const other = ["env", `PAGURUS_HOME=${join(bench.root, "other")}`];
    const run = (...args: string[]): void => {
      const launcher = process.env["PAGURUS_TEST_PROGRAM"] ?? join(import.meta.dirname, "../../..");
      const command = [...other, process.execPath, join(launcher, "bin/pagurus.js"), ...args];
      const { status, stderr } = spawnSync(command[0] ?? "", command.slice(1), {
        env: bench.env(),
        encoding: "utf8",
      });
      assert.equal(status, 0, stderr);
    };
    run("install", "claude-code", "--yes");
    run("uninstall", "claude-code", "--yes");
    assert.deepEqual(treeOf(bench.config), first, "the second home leaves the installation of the first");
    await bench.pagurus("uninstall", "claude-code", "--yes");
    assert.deepEqual(treeOf(bench.config), before);
  });

  it("leaves what the user has changed since, and the user's own settings and skills through its use", async () => {
    const bench = await opened();
    await bench.install();
    await bench.startHost();
    const claude = bench.claude();
    assert.equal(await claude.send("Hello"), "Answer 1.");
    await claude.end();
    appendFileSync(join(bench.mod, "README.md"), "My note.\n");
    const report = await bench.pagurus("doctor").catch(String);
    assert.match(report, /adapter in claude-code is not as it was installed/);
    const taken = await bench.pagurus("uninstall", "claude-code", "--yes");
    assert.match(taken, /README\.md: left as it is, since you have changed it/);
    assert.equal(readFileSync(join(bench.config, "settings.json"), "utf8"), SETTINGS);
    assert.ok(existsSync(join(bench.config, "skills", "mine", "SKILL.md")));
    // The bench has changed the deadlines.
    assert.deepEqual(readdirSync(bench.mod).toSorted(), ["README.md", "place.json"]);
  });

  it("passes Claude Code's own check, with every hook that the mod registers", async () => {
    const bench = await opened();
    await bench.install();
    const checked = spawnSync(claudeBinary(), ["plugin", "validate", "--json", bench.mod], {
      env: bench.env(),
      encoding: "utf8",
    });
    assert.equal(checked.status, 0, checked.stdout);
    for (const hook of [
      "session.start",
      "session.append",
      "session.compact",
      "prompt.submit",
      "tool.call",
      "turn.complete",
    ])
      assert.ok(checked.stdout.includes(hook), `${hook}: ${checked.stdout}`);
    assert.doesNotMatch(checked.stdout, /error TS\d+/);
  });

  it("passes tests of the mod in Claude Code's own runner: an answer of the host, a refusal, an answer that divides a pair", async () => {
    const bench = await opened();
    await bench.install();
    const folder = join(bench.root, "mod");
    cpSync(bench.mod, folder, { recursive: true });
    writeFileSync(join(folder, "mod.test.ts"), MOD_TEST);
    const ran = spawnSync(claudeBinary(), ["plugin", "test", folder], { env: bench.env(), encoding: "utf8" });
    assert.equal(ran.status, 0, `${ran.stdout}${ran.stderr}`);
    assert.match(`${ran.stdout}${ran.stderr}`, /3 pass/);
    rmSync(folder, { recursive: true });
  });
});

/** Runs inside Claude Code's runner, with its kit. */
const MOD_TEST = String.raw`
import { test, expect, mock } from 'claude-code/testing'
const LIST = [
  { role: 'user', text: 'First', toolUses: [], handle: 'h1' },
  { role: 'assistant', text: 'I look', toolUses: [{ tool_use_id: 't1', tool: 'Bash', input: {} }], handle: 'h2' },
  { role: 'user', text: '', toolUses: [], toolResults: [{ tool_use_id: 't1', text: 'out', isError: false }], handle: 'h3' },
]
function compacted($: any, on: any, answer: object, status = 200): any {
  mock.clock(on, { now: 1_000 })
  on('fs.read', () => ({ value: JSON.stringify({ socket: '/tmp/x.sock', wake: [] }) }))
  on('session.version', () => ({ value: { version: '1' } }))
  on('session.id', () => ({ value: 's1' }))
  on('session.cwd', () => ({ value: '/work' }))
  on('ui.log', () => ({ value: undefined }))
  on('http.fetch', (_: any, e: any) => {
    const isHello = String(e.url).endsWith('hello')
    return { value: { status: isHello ? 200 : status, ok: true, headers: {}, text: JSON.stringify(isHello ? { protocol: 1 } : answer) } }
  })
  on('session.compact', () => ({ messages: [{ role: 'user', text: 'by the program', toolUses: [] }] }))
  return $.session.compact({ trigger: 'manual', messages: LIST })
}
const texts = (made: any) => made.messages.map((each: any) => each.text)
test('an answer of the host is taken, without handles', async ($: any, on: any) => {
  const made = await compacted($, on, { head: 'What happened', keep: [1, 2] })
  expect(texts(made)).toEqual(['What happened', 'I look', ''])
  expect(made.messages.some((each: any) => 'handle' in each)).toBe(false)
})
test('a refusal leaves the compaction to the program', async ($: any, on: any) => {
  expect(texts(await compacted($, on, { error: { message: 'no' } }, 409))).toEqual(['by the program'])
})
test('an answer that divides a pair leaves it too', async ($: any, on: any) => {
  expect(texts(await compacted($, on, { head: 'What happened', keep: [2] }))).toEqual(['by the program'])
})
`;
