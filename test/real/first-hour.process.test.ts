/**
 * A new user's first hour, typed into a real terminal: the first command of README, a chat, the user's own Claude Code, and
 * a mistake of each kind. With `PAGURUS_SCREENS=1` the screens are written to docs/guides/screens.
 */
import assert from "node:assert/strict";
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { startServer, type ModelServer } from "../servers/server.ts";
import { claudeBinary } from "./programs.ts";
import { needTerminal, Terminal } from "../servers/terminal.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const SCREENS = join(ROOT, "docs/guides/screens");

let root: string;
let server: ModelServer;
let terminal: Terminal;

before(async () => {
  needTerminal();
  root = mkdtempSync(join(tmpdir(), "pagurus-first-hour-"));
  const bin = join(root, "bin");
  const work = join(root, "harbour");
  for (const folder of [bin, work, join(root, "claude")]) mkdirSync(folder);
  copyFileSync(join(ROOT, "README.md"), join(work, "README.md"));
  writeFileSync(
    join(bin, "pagurus"),
    `#!/bin/sh\nexec "${process.execPath}" "${join(ROOT, "bin/pagurus.js")}" "$@"\n`,
  );
  chmodSync(join(bin, "pagurus"), 0o755);
  symlinkSync(claudeBinary(), join(bin, "claude"));
  server = await startServer({
    protocol: "anthropic-messages",
    script: (_request, index) => ({ text: `The lamp of the pier is **green** (${index}).` }),
  });
  terminal = new Terminal(root, work, {
    PATH: [bin, dirname(process.execPath), process.env["PATH"] ?? ""].join(delimiter),
    HOME: root,
    PAGURUS_NO_PROBE: "1",
    LANG: "C.UTF-8",
    CLAUDE_CONFIG_DIR: join(root, "claude"),
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_TELEMETRY: "1",
    DISABLE_AUTOUPDATER: "1",
  });
  await terminal.sees(/ready>/);
});
after(async () => {
  terminal.end();
  await server.close();
  rmSync(root, { recursive: true, force: true, maxRetries: 5 });
});

/** Writes the screen for the pages, without the machine's paths. */
function keep(name: string): void {
  if (process.env["PAGURUS_SCREENS"] !== "1") return;
  mkdirSync(SCREENS, { recursive: true });
  const lines = terminal
    .screen()
    .replaceAll(root, "~")
    .replaceAll(/^ready>/gm, "$")
    .split("\n");
  const text = lines.map((line) => line.trimEnd()).join("\n");
  writeFileSync(join(SCREENS, `first-hour-${name}.txt`), `${text.trimEnd()}\n`);
}

/** Types a command on a clear screen and waits for the shell's prompt; returns the screen. */
async function shell(line: string, name: string): Promise<string> {
  await terminal.types("clear");
  await terminal.types(`${line}; echo "exit code $?"`);
  await terminal.sees(/^exit code \d+/m);
  keep(name);
  // As one line: the terminal has wrapped long ones.
  return terminal.screen().replaceAll(/\s+/g, " ");
}

describe("the first hour of a new user", () => {
  it("begins with an answer, though nothing is configured", async () => {
    const screen = await shell('pagurus run "How do I run the tests? @README.md"', "run");
    assert.match(screen, /npm test/);
    assert.match(screen, /offline\/extract/);
    assert.match(screen, /exit code 0/);
  });

  it("continues with a model of the user's own and a chat that continues the folder's conversation", async () => {
    const lab = `{api: "anthropic-messages", baseUrl: "${server.url}", apiKey: "key-1", models: [{id: "m", contextWindow: 60000}]}`;
    assert.match(await shell(`pagurus config set models.providers.lab '${lab}'`, "config"), /exit code 0/);
    assert.match(await shell("pagurus config set agents.defaults.model lab/m", "model"), /exit code 0/);
    await terminal.types("clear");
    await terminal.types("pagurus chat");
    await terminal.sees(/harbour/);
    await terminal.types("Which colour has the lamp?");
    await terminal.sees(/lamp of the pier is .*green/);
    keep("chat");
    await terminal.types("/help");
    await terminal.sees(/\/compact/);
    keep("help");
    await terminal.press("C-d");
    await terminal.sees(/ready>\s*$/);
    assert.match(await shell("pagurus sessions list", "sessions"), /harbour .*How do I run the tests/);
  });

  it("puts an engine in front of the user's own Claude Code, in its own conversation", async () => {
    const base = `ANTHROPIC_BASE_URL=${server.url.replace(/\/v1$/, "")} ANTHROPIC_API_KEY=key-2`;
    const screen = await shell(`${base} pagurus wire -- claude -p "Which lamp?"`, "wire");
    assert.match(screen, /lamp of the pier is/);
    assert.match(screen, /exit code 0/);
    assert.match(await shell("pagurus sessions list", "sessions-two"), /Which lamp\?/);
  });

  const mistakes: readonly [name: string, line: string, shows: RegExp, code: number][] = [
    ["command", 'pagurus rnu "x"', /run/, 2],
    ["model", 'pagurus run "x" --model modle/m', /modle/, 2],
    ["key", "pagurus config set agents.defaults.maxStep 5; pagurus config validate", /maxSteps/, 0],
    ["engine", "pagurus wire --engine losless -- claude", /lossless/, 2],
    ["session", 'pagurus run --session "a b" "x"', /a b/, 2],
    ["file", 'pagurus run "Read @missing.md"', /missing\.md/, 0],
    ["program", "pagurus wire -- no-such-program", /no-such-program/, 2],
    ["plugin", "pagurus plugins install ./nothing-here", /nothing-here/, 2],
    ["broken", "echo '{ agents: {' > ~/.pagurus/pagurus.json; pagurus run x", /pagurus\.json/, 2],
  ];
  for (const [name, line, shows, code] of mistakes)
    it(`reports a mistake in a sentence (${name}), and nothing is lost by it`, async () => {
      const screen = await shell(line, `mistake-${name}`);
      assert.match(screen.replace(line, ""), shows);
      assert.match(screen, new RegExp(`exit code ${code}`), screen);
      assert.doesNotMatch(screen, /\bat .*\(?file:\/\/|node:internal/);
    });

  it("finds its conversations again, also under a broken configuration", async () => {
    assert.match(await shell("pagurus sessions list", "after"), /How do I run the tests/);
  });
});
