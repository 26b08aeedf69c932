/** Which file a program's name is resolved to: never one that a command or another user could have put there. */
import assert from "node:assert/strict";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, relative } from "node:path";
import { test, type TestContext } from "node:test";
import { childEnvironment } from "../../packages/core/src/platform/child-environment.ts";
import {
  findProgram,
  namedProgram,
  passedOverText,
  safePath,
} from "../../packages/core/src/platform/executables.ts";
import { outputOf, startProgram, waitForProgram } from "../../packages/core/src/platform/start-program.ts";
import { findClaude } from "../../packages/runtimes/src/claude/find-claude.ts";
import { findCodex } from "../../packages/runtimes/src/codex/find-codex.ts";

const NAME = "pagurus-example";

interface Place {
  base: string;
  home: string;
  root: string;
  /** Writes an executable and returns its path. */
  program(path: string): string;
}

function place(t: TestContext): Place {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "pagurus-programs-")));
  t.after(() => rmSync(base, { recursive: true, force: true }));
  const [home, root] = [join(base, "home"), join(base, "workspace")];
  for (const folder of [home, root]) mkdirSync(folder);
  return {
    base,
    home,
    root,
    program(path) {
      const file = join(base, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, "#!/bin/sh\n");
      chmodSync(file, 0o755);
      return file;
    },
  };
}

/** Entries of PATH that a command or another user can fill, by kind. */
const UNSAFE: Record<string, (at: Place) => string> = {
  "a folder of the workspace": ({ program }) => dirname(program(`workspace/node_modules/.bin/${NAME}`)),
  "the workspace itself": ({ program }) => dirname(program(`workspace/${NAME}`)),
  "a link to a folder of the workspace": ({ base, program }) => {
    symlinkSync(dirname(program(`workspace/.venv/bin/${NAME}`)), join(base, "linked"));
    return join(base, "linked");
  },
  "a folder below a link to the workspace": ({ base, root, program }) => {
    program(`workspace/tools/${NAME}`);
    symlinkSync(root, join(base, "door"));
    return join(base, "door", "tools");
  },
  "a folder whose program is a link into the workspace": ({ base, program }) => {
    mkdirSync(join(base, "clean"));
    symlinkSync(program(`workspace/built/${NAME}`), join(base, "clean", NAME));
    return join(base, "clean");
  },
  "a folder whose program is a link to a link into the workspace": ({ base, program }) => {
    mkdirSync(join(base, "clean"));
    symlinkSync(program(`workspace/built/${NAME}`), join(base, "first"));
    symlinkSync(join(base, "first"), join(base, "clean", NAME));
    return join(base, "clean");
  },
  "a spelling with dots": ({ root, program }) => {
    program(`workspace/bin/${NAME}`);
    return `${root}/src/../bin/`;
  },
  "a relative folder": ({ program }) => relative(process.cwd(), dirname(program(`tools/${NAME}`))),
  "a folder that everyone can write": ({ program }) => {
    const folder = dirname(program(`open/${NAME}`));
    chmodSync(folder, 0o777);
    return folder;
  },
  "a folder below one that everyone can write": ({ base, program }) => {
    const folder = dirname(program(`open/bin/${NAME}`));
    chmodSync(join(base, "open"), 0o777);
    return folder;
  },
  "a folder for temporary files of everyone": ({ program }) => {
    const folder = dirname(program(`open/${NAME}`));
    chmodSync(folder, 0o1777);
    return folder;
  },
  "another project of the home": ({ program }) =>
    dirname(program(`home/code/other/node_modules/.bin/${NAME}`)),
  "the home itself": ({ program }) => dirname(program(`home/${NAME}`)),
  "a toolchain's folder that is a link to a project": ({ home, program }) => {
    mkdirSync(join(home, ".cargo"));
    symlinkSync(dirname(program(`home/code/x/bin/${NAME}`)), join(home, ".cargo", "bin"));
    return join(home, ".cargo", "bin");
  },
};

for (const [kind, make] of Object.entries(UNSAFE)) {
  test(`a program is not taken from ${kind} (finding 4.1)`, (t) => {
    const at = place(t);
    const entry = make(at);
    const rules = { env: { HOME: at.home }, workspaces: [at.root] };
    const found = findProgram(NAME, { ...rules, path: entry });
    assert.equal(found.file, undefined);
    assert.equal(found.passedOver.length, 1);
    const safe = dirname(at.program(`home/.local/bin/${NAME}`));
    const path = [entry, safe].join(delimiter);
    assert.equal(findProgram(NAME, { ...rules, path }).file, join(safe, NAME), "the next folder is used");
    if (!kind.includes("whose program is a link")) assert.equal(safePath({ ...rules, path }), safe);
  });
}

test("an empty entry of PATH is not the current folder (finding 4.1)", (t) => {
  const { home } = place(t);
  const rules = { env: { HOME: home } };
  assert.equal(findProgram("package.json", { ...rules, path: "" }).file, undefined);
  assert.equal(
    findProgram("pagurus.js", { ...rules, path: `${delimiter}${delimiter}./bin${delimiter}bin` }).file,
    undefined,
  );
  assert.equal(safePath({ ...rules, path: `${delimiter}.${delimiter}/usr/bin` }), "/usr/bin");
});

test("a program is taken from toolchains, the system, and the user's own folders (finding 4.1)", (t) => {
  const at = place(t);
  const rules = { env: { HOME: at.home }, workspaces: [at.root] };
  for (const folder of [
    ".cargo/bin",
    ".nvm/versions/node/v24/bin",
    "go/bin",
    "bin",
    ".local/bin",
    ".opencode/bin",
  ]) {
    const file = at.program(`home/${folder}/${NAME}`);
    assert.equal(findProgram(NAME, { ...rules, path: dirname(file) }).file, file, folder);
    // In a workspace that is the home, or holds it, these are read-only for commands.
    for (const workspaces of [[at.home], [at.base]])
      assert.equal(findProgram(NAME, { ...rules, workspaces, path: dirname(file) }).file, file, folder);
  }
  const elsewhere = at.program(`tools/bin/${NAME}`);
  assert.equal(findProgram(NAME, { ...rules, path: dirname(elsewhere) }).file, elsewhere);
  assert.equal(findProgram("sh", { ...rules, path: "/bin" }).file, "/bin/sh");
});

test("the superuser takes no program from a folder that a group can write (finding 4.1)", (t) => {
  const at = place(t);
  const file = at.program(`shared/${NAME}`);
  chmodSync(dirname(file), 0o775);
  const isRoot = process.getuid?.() === 0;
  if (isRoot) chownSync(dirname(file), 0, 12_345);
  const found = findProgram(NAME, { env: { HOME: at.home }, path: dirname(file) });
  assert.equal(found.file, isRoot ? undefined : file);
});

test("a path is the user's word, and a bare name is never a file of the workspace (finding 4.1)", (t) => {
  const at = place(t);
  const file = at.program(`workspace/node_modules/.bin/${NAME}`);
  const rules = { env: { HOME: at.home, PATH: dirname(file) }, workspaces: [at.root] };
  assert.equal(namedProgram(file, rules).file, file);
  assert.equal(namedProgram(`node_modules/.bin/${NAME}`, { ...rules, cwd: at.root }).file, file);
  const bare = namedProgram(NAME, { ...rules, cwd: at.root });
  assert.equal(bare.file, undefined);
  assert.match(
    passedOverText(bare.passedOver, "x.command"),
    /is in a folder .* only by its path in x\.command/,
  );
});

test("agents that are installed in a project only are refused with the setting that names them (finding 4.1)", (t) => {
  const at = place(t);
  for (const name of ["codex", "claude"]) at.program(`home/project/node_modules/.bin/${name}`);
  const env = { HOME: at.home, PATH: join(at.home, "project/node_modules/.bin") };
  const codex = findCodex({ env, from: at.base });
  assert.match(
    "reason" in codex ? codex.reason : "",
    /node_modules\/\.bin\/codex .* plugins\.entries\.codex\.config\.command/,
  );
  const claude = findClaude({ env, from: at.base });
  assert.match("reason" in claude ? claude.reason : "", /plugins\.entries\.claude-cli\.config\.command/);
  const given = findCodex({ env, command: join(at.home, "project/node_modules/.bin/codex") });
  assert.ok("command" in given);
});

test("programs outside of the sandbox find no others in a workspace by name (finding 4.1)", (t) => {
  const at = place(t);
  const [own, project] = [join(at.home, ".cargo/bin"), join(at.home, "project/.venv/bin")];
  for (const folder of [own, project]) mkdirSync(folder, { recursive: true });
  const path = [project, "node_modules/.bin", own, "/usr/bin"].join(delimiter);
  assert.equal(childEnvironment({ HOME: at.home, PATH: path })["PATH"], [own, "/usr/bin"].join(delimiter));
});

test("a process is started by an absolute path only (finding 4.1)", async () => {
  const refused = { code: "internal" };
  assert.throws(() => startProgram("sh", [], {}), refused);
  assert.throws(() => waitForProgram("./sh", [], {}), refused);
  await assert.rejects(outputOf("sh", [], {}), refused);
});
