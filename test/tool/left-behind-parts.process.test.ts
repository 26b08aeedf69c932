/** Places in the workspace that are such by a part of their content, or since settings of the user name them. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
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

/** Settings of a workspace with a script that each starts without being asked. */
const STARTERS: Readonly<Record<string, [text: string, script: string]>> = {
  ".claude/settings.json": [
    JSON.stringify({
      hooks: {
        Stop: [{ hooks: [{ type: "command", command: '"$CLAUDE_PROJECT_DIR"/ci/stop.sh --all' }] }],
      },
    }),
    "ci/stop.sh",
  ],
  ".mcp.json": [
    JSON.stringify({ mcpServers: { a: { command: "node", args: ["tools/server.js", "src"] } } }, null, 2),
    "tools/server.js",
  ],
  ".vscode/tasks.json": [
    '{"tasks":[{"command":"${workspaceFolder}/dev/open.sh","runOptions":{"runOn":"folderOpen"}}]}',
    "dev/open.sh",
  ],
  ".envrc": ["source_env ./env/dev.sh\nPATH_add tools\n", "env/dev.sh"],
  ".husky/pre-commit": ["npm test\nsh checks/commit.sh\n", "checks/commit.sh"],
  ".pre-commit-config.yaml": [
    "repos:\n  - hooks:\n      - id: a\n        entry: lint/all.py --fix\n",
    "lint/all.py",
  ],
  "lefthook.yml": ["pre-commit:\n  jobs:\n    - run: ./hooks/lint.sh\n", "hooks/lint.sh"],
};

test("a script that settings of the workspace start without being asked is a place, what they only name is not", async (t) => {
  const folder = temporaryFolder(t);
  const root = join(folder, "work");
  const others = {
    ".github/workflows/ci.yml": "jobs:\n  a:\n    steps:\n      - run: node scripts/build.ts\n",
    ".vscode/launch.json": '{"configurations":[{"program":"${workspaceFolder}/src/main.js"}]}',
    ".mocharc.json": '{"spec":"test/all.js"}',
  };
  const named = Object.values(STARTERS).map(([, script]) => script);
  const plain = ["scripts/build.ts", "src/main.js", "test/all.js", "tools/other.js"];
  for (const [path, text] of [
    ...Object.entries(STARTERS).map(([path, [text]]) => [path, text] as const),
    ...Object.entries(others),
    ...[...named, ...plain].map((path) => [path, "old"] as const),
  ]) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  const { call } = fixture(t, { cwd: root, home: join(folder, "pagurus") });
  const text = textOf(await call("shell", { command: [...named, ...plain].map(WRITE).join("\n") }));
  for (const path of named) assert.equal(readFileSync(join(root, path), "utf8"), "old", `${path}: ${text}`);
  for (const path of plain) assert.equal(readFileSync(join(root, path), "utf8"), "x\n", path);
  for (const path of named) assert.equal((await call("write", { path, content: "x" })).isError, true, path);
  for (const path of plain) assert.equal((await call("write", { path, content: "x" })).isError, false, path);
});
