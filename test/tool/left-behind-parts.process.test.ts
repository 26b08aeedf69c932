/** Places in the workspace that are such by a part of their content, or since settings of the user name them. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fixture, temporaryFolder, textOf } from "./fixture.ts";

const WRITE = (path: string): string => `mkdir -p "$(dirname '${path}')"; echo x > '${path}'`;

test("compiler settings and composer.json are compared by what they load: options pass, plugins and scripts are held back", async (t) => {
  const harmless: [string, string][] = [
    [
      "tsconfig.json",
      '{"extends":"./tsconfig.base.json","compilerOptions":{"strict":true},"include":["src"]}',
    ],
    ["tsconfig.base.json", '{ // made by a tool\n"compilerOptions": {"target": "es2022",},}'],
    ["packages/a/jsconfig.json", '{"compilerOptions":{"checkJs":true}}'],
    ["composer.json", '{"require":{"a/b":"1"}}'],
  ];
  const dangerous: [string, string][] = [
    ["tsconfig.json", '{"compilerOptions":{"plugins":[{"name":"./evil"}]}}'],
    ["tsconfig.json", '{"ts-node":{"require":["./evil.js"]}}'],
    ["tsconfig.json", '{"extends":"./evil.json"}'],
    ["tsconfig.json", '{"extends":["./tsconfig.base.json","./node_modules/evil/tsconfig.json"]}'],
    ["packages/a/tsconfig.app.json", '{"vueCompilerOptions":{"plugins":["./evil"]}}'],
    ["jsconfig.json", "not JSON"],
    ["composer.json", '{"scripts":{"post-install-cmd":"./evil"}}'],
  ];
  const plant = ([path, text]: [string, string]): string =>
    `mkdir -p "$(dirname '${path}')"; cat > '${path}' <<'END'\n${text}\nEND`;
  for (const [file, isHeld] of [
    ...harmless.map((each) => [each, false] as const),
    ...dangerous.map((each) => [each, true] as const),
  ]) {
    const { root, call } = fixture(t, { home: temporaryFolder(t) });
    const shell = (command: string): Promise<unknown> => call("shell", { command });
    await shell(plant(file));
    const [path, content] = file;
    assert.equal(existsSync(join(root, path)), !isHeld, content);
    assert.equal((await call("write", { path, content })).isError, isHeld, content);
  }
});

test("a file that settings of the user name is a place: a shell's, an agent's and those of git", async (t) => {
  const folder = temporaryFolder(t);
  const home = join(folder, "user");
  const root = join(home, "work");
  mkdirSync(join(root, "src"), { recursive: true });
  mkdirSync(join(home, ".claude"));
  writeFileSync(
    join(home, ".bashrc"),
    '[ -e "$HOME/work/env.sh" ] && . "$HOME/work/env.sh"\nalias w="cd ~/work/src"\n',
  );
  writeFileSync(
    join(home, ".claude", "settings.json"),
    JSON.stringify({
      hooks: { Stop: [{ hooks: [{ type: "command", command: `${root}/ci/stop.sh --all` }] }] },
    }),
  );
  writeFileSync(join(home, ".gitconfig"), "[core]\n hooksPath = githooks\n");
  const { call } = fixture(t, {
    cwd: root,
    home: join(folder, "pagurus"),
    env: { ...process.env, HOME: home, XDG_CONFIG_HOME: undefined },
  });
  const shell = async (command: string): Promise<string> => textOf(await call("shell", { command }));
  const named = ["env.sh", "ci/stop.sh", "githooks/pre-commit"];
  const others = ["env.txt", "src/env.sh", "ci/stop.sh.txt"];
  const text = await shell([...named, ...others].map(WRITE).join("\n"));
  for (const path of named) assert.equal(existsSync(join(root, path)), false, `${path}: ${text}`);
  for (const path of others) assert.equal(existsSync(join(root, path)), true, path);
  for (const path of named) assert.equal((await call("write", { path, content: "x" })).isError, true, path);
  for (const path of others) assert.equal((await call("write", { path, content: "x" })).isError, false, path);
});
