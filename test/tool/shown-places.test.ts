/** The list of places that commands and reading tools may see. */
import assert from "node:assert/strict";
import { mkdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test, type TestContext } from "node:test";
import { holdsNoKey } from "../../packages/core/src/platform/toolchain-places.ts";
import { closedPlaces, type ClosedPlaces } from "../../packages/host/src/tool/places/closed-places.ts";
import { temporaryFolder } from "./fixture.ts";

interface Disk {
  base: string;
  home: string;
  write(path: string, text?: string): string;
  places(root: string, more?: { unmask?: string[]; env?: Record<string, string> }): ClosedPlaces;
}

function disk(t: TestContext): Disk {
  const base = temporaryFolder(t);
  const home = join(base, "home");
  mkdirSync(home);
  return {
    base,
    home,
    write(path, text = "x") {
      const file = join(base, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
      return file;
    },
    places: (root, { unmask = [], env = {} } = {}) =>
      closedPlaces({
        root: realpathSync(root),
        home: join(home, ".pagurus"),
        files: [],
        readable: [],
        unmask,
        env: { PATH: "/usr/bin", HOME: home, ...env },
      }),
  };
}

test("the repository around a workspace is shown, but not a home that is one (finding 6.1)", (t) => {
  const { base, home, write, places } = disk(t);
  write("code/mono/.git/HEAD");
  const manifest = write("code/mono/package.json");
  const inner = dirname(write("code/mono/packages/a/index.js"));
  assert.equal(places(inner).isSecret(manifest), false);
  assert.equal(places(inner).isSecret(write("code/other/.env")), true);
  write("home/.git/HEAD");
  const project = dirname(write("home/projects/a/index.js"));
  assert.equal(places(project).isSecret(write("home/notes.txt")), true);
  assert.equal(places(project).isSecret(join(home, ".git/HEAD")), true);
  assert.equal(places(project).isSecret(join(base, "code")), true);
});

test("a .git file shows another folder only if that names the workspace as its own (finding 6.1)", (t) => {
  const { base, write, places } = disk(t);
  const root = dirname(write("code/a/index.js"));
  const victim = dirname(write("secret/project/.git/HEAD", "ref: refs/heads/main"));
  write("secret/project/.git/objects/ab/cd");
  write("code/a/.git", `gitdir: ${victim}\n`);
  assert.equal(places(root).isSecret(join(victim, "objects/ab/cd")), true);
  // Through a git folder of the workspace that shares the other one.
  write("code/a/fake/HEAD");
  write("code/a/fake/commondir", victim);
  write("code/a/fake/gitdir", join(root, ".git"));
  write("code/a/.git", "gitdir: fake\n");
  assert.equal(places(root).isSecret(join(victim, "objects/ab/cd")), true);
  // A real working tree.
  const own = dirname(write("main/.git/worktrees/a/gitdir", join(root, ".git")));
  write("main/.git/worktrees/a/commondir", "../..");
  write("main/.git/objects/ab/cd");
  write("code/a/.git", `gitdir: ${own}\n`);
  assert.equal(places(root).isSecret(join(base, "main/.git/objects/ab/cd")), false);
  assert.equal(places(root).isSecret(join(base, "main/src/x")), true);
});

test("variables and PATH show toolchains, but never a home, the disk or a folder above a home (finding 6.1)", (t) => {
  const { base, home, write, places } = disk(t);
  const root = dirname(write("code/a/index.js"));
  const note = write("home/private.txt");
  for (const [name, value] of Object.entries({
    PATH: `${home}:${base}:/:/usr/bin`,
    JAVA_HOME: home,
    GOROOT: "/",
    CARGO_HOME: base,
    VIRTUAL_ENV: base,
  }))
    assert.equal(places(root, { env: { [name]: value } }).isSecret(note), true, name);
  const java = write("jdk/lib/modules");
  assert.equal(places(root).isSecret(java), true);
  assert.equal(places(root, { env: { JAVA_HOME: join(base, "jdk") } }).isSecret(java), false);
  const library = write("tools/node/lib/x.js");
  write("tools/node/bin/node");
  assert.equal(places(root, { env: { PATH: join(base, "tools/node/bin") } }).isSecret(library), false);
  // The list knows what of a toolchain is shown.
  write("home/.cargo/bin/x");
  const token = write("home/.cargo/credentials.toml");
  assert.equal(places(root, { env: { PATH: join(home, ".cargo/bin") } }).isSecret(token), true);
});

test("unmask shows a place, and a link on the list only what the list allows (finding 6.1)", (t) => {
  const { home, write, places } = disk(t);
  const root = dirname(write("code/a/index.js"));
  const data = write("data/sets/a.csv");
  assert.equal(places(root).isSecret(data), true);
  assert.equal(places(root, { unmask: [dirname(data)] }).isSecret(data), false);
  rmSync(join(home, ".nvm"), { force: true });
  symlinkSync(home, join(home, ".nvm"));
  assert.equal(places(root).isSecret(write("home/private.txt")), true);
});

test("tools change neither toolchains nor hidden entries of a home that is the workspace (finding 4.1)", (t) => {
  const { home, write, places } = disk(t);
  const tool = write("home/.cargo/bin/x");
  const startup = write("home/.bashrc");
  const at = places(home);
  for (const path of [tool, join(home, ".cargo/bin/new"), startup])
    assert.match(at.refusal("write", path) ?? "", /programs of the user/);
  assert.equal(at.refusal("write", join(home, "notes.txt")), undefined);
  assert.deepEqual(
    [at.isSecret(tool), at.isSecret(startup), at.isSecret(join(home, "notes.txt"))],
    [false, true, false],
  );
});

test("settings with a line that looks like a key are hidden (finding 6.1)", () => {
  for (const text of [
    "[user]\n\tname = A\n\temail = a@b.example\n",
    '[core]\n\teditor = vim\n[url "git@github.com:"]\n\tinsteadOf = https://github.com/\n',
  ])
    assert.equal(holdsNoKey(text), true, text);
  for (const text of [
    '[url "https://me:pw@github.com/"]',
    "[http]\n\textraHeader = x",
    '[registries.x]\ntoken = "y"',
    "[sendemail]\n\tsmtpPass = x",
    "api_key=1",
  ])
    assert.equal(holdsNoKey(text), false, text);
});
