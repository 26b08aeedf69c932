/** Rules of Claude Code for certain files, in turns that work on such files. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { afterEach, describe, it, test, type TestContext } from "node:test";
import { PathRules } from "../../packages/host/src/turn/prepare/path-rules.ts";
import { TurnChannel } from "../../packages/host/src/turn/state/steering-channel.ts";
import { calls, MembersBench } from "./members/members-bench.ts";

const RULES: Readonly<Record<string, string>> = {
  "list.md": '---\npaths:\n  - "src/**/*.{ts,tsx}"\n  - lib/**\n---\nUse tabs.',
  "inline.md": '---\npaths: ["**/*.css", docs/**]\n---\nUse variables.',
  "always.md": "Be kind.",
};

describe("a rule for certain files", () => {
  let bench: MembersBench;
  afterEach(() => bench.end());

  function write(name: string, text: string): void {
    mkdirSync(dirname(join(bench.root, name)), { recursive: true });
    writeFileSync(join(bench.root, name), text);
  }

  it("joins the first result of a turn about one of them, and is nowhere before", async () => {
    bench = await MembersBench.open([
      calls("read", { path: "plain.txt" }),
      calls("read", { path: "src/a.tsx" }),
      calls("edit", { path: "src/a.tsx", old_text: "one", new_text: "two" }),
      { text: "Done." },
    ]);
    for (const [name, text] of Object.entries(RULES)) write(join(".claude/rules", name), text);
    write("plain.txt", "words");
    write("src/a.tsx", "one");
    await bench.ask(await bench.start({}), "One");
    const results = (at: number): string[] =>
      bench.body(at).messages.flatMap((message) => message.results.map(({ text }) => text));
    assert.match(bench.body(0).system, /Be kind\./);
    assert.doesNotMatch(bench.body(0).system, /Use tabs|Use variables/);
    assert.doesNotMatch(results(1).join(), /Use tabs/);
    assert.match(results(2).at(-1) ?? "", /list\.md[^]*Use tabs\./);
    assert.equal(results(3).join().split("Use tabs.").length, 2, "once in a turn");
    assert.doesNotMatch(results(3).join(), /Use variables/);
  });
});

/** A trusted folder with a rule for `src/**`; the texts that reads of these paths add, in one turn. */
function reader(t: TestContext): { root: string; channel: TurnChannel; rules: (path: string) => string } {
  const root = mkdtempSync(join(tmpdir(), "pagurus-rules-"));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  for (const [name, text] of [
    [".claude/rules/a.md", "---\npaths: [src/**, ..x]\n---\nUse tabs."],
    ["src/a.ts", "one"],
    ["lib/b.ts", "two"],
    ["..x", "three"],
  ] as const) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  const channel = new TurnChannel();
  const paths = new PathRules({ cwd: root, trusted: true, home: "/nowhere" }, channel);
  const rules = (path: string): string => {
    const outcome = { content: [], isError: false };
    const added = paths.added({ name: "read", arguments: { path } }, outcome);
    return JSON.stringify(added?.content ?? []);
  };
  return { root, channel, rules };
}

test("a file is found as the tools find it: by links, by the home folder, by a name that begins with dots", (t) => {
  const paths = [
    () => "src/../src/a.ts",
    () => "..x",
    (root: string) => join(root, "src/a.ts"),
    (root: string) => `~/${relative(homedir(), join(root, "src/a.ts"))}`,
    (root: string) => {
      symlinkSync("src", join(root, "link"));
      return "link/a.ts";
    },
    (root: string) => {
      symlinkSync("../lib/b.ts", join(root, "src/b.ts"));
      return "src/b.ts";
    },
  ];
  for (const of of paths) {
    const { root, rules } = reader(t);
    assert.equal(rules("lib/b.ts"), "[]");
    const path = of(root);
    assert.match(rules(path), /Use tabs/, path);
    assert.equal(rules(path), "[]");
  }
});

test("a rule is shown again with the first matching file after a compaction of the turn", (t) => {
  const { channel, rules } = reader(t);
  assert.match(rules("src/a.ts"), /Use tabs/);
  assert.equal(rules("src/a.ts"), "[]");
  channel.emit({
    type: "compaction.completed",
    lane: "in-attempt",
    trigger: "threshold",
    backend: "embedded",
    ownsCompaction: false,
    tokensBefore: 2,
    tokensAfter: 1,
    handledBy: "test",
  });
  assert.equal(rules("lib/b.ts"), "[]");
  assert.match(rules("src/a.ts"), /Use tabs/);
  assert.equal(rules("src/a.ts"), "[]");
});
