/** A chat in lines, as for a screen reader, in a real terminal (tmux): from bare `pagurus` to the exit code that the shell gets. */
import assert from "node:assert/strict";
import { chmodSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { startServer, type ModelServer } from "../../servers/server.ts";
import { needTerminal, Terminal } from "../../servers/terminal.ts";
import { LAUNCHER } from "../../runner/program.ts";
import { finish, makeSetting, modelConfig, type Setting } from "../../turn/setting.ts";

const WORDS = "Take the oar instead";
const NUMBERS = Array.from({ length: 40 }, (_, index) => `w${index + 10}`);
const LAMPS = Array.from({ length: 12 }, (_, index) => `lamp ${index + 1} is lit`).join("\n");

let setting: Setting;
let server: ModelServer;
let terminal: Terminal;
/** Blocks the answer of the third request; it may be opened before the request comes. */
const held = Promise.withResolvers<void>();

before(async () => {
  needTerminal();
  setting = makeSetting();
  server = await startServer({
    protocol: "openai-completions",
    script: async (_request, index) => {
      if (index === 0)
        return { toolCalls: [{ id: "c1", name: "shell", arguments: { command: "touch boat" } }] };
      if (index === 1) return { text: "The oar is taken." };
      if (index === 2) {
        await held.promise;
        return { toolCalls: [{ id: "c2", name: "read", arguments: { path: "lamps.txt" } }] };
      }
      if (index === 3) return { text: "The lamp is **green** now." };
      return { text: `${NUMBERS.join(" ")} landed`, chunkSize: 4, delayMs: 60 };
    },
  });
  const config = modelConfig(
    "openai-completions",
    server.url,
    {},
    {
      agents: { defaults: { permission: { mode: "ask" } } },
    },
  );
  writeFileSync(join(setting.home, "pagurus.json"), JSON.stringify(config), { mode: 0o600 });
  writeFileSync(join(setting.workspace, "lamps.txt"), LAMPS);
  const program = join(setting.root, "pagurus");
  writeFileSync(program, `#!/bin/sh\nexec "${process.execPath}" "${LAUNCHER}" "$@"\n`);
  chmodSync(program, 0o755);
  const { NO_COLOR: _, ...env } = setting.env;
  const path = [setting.root, dirname(process.execPath), env["PATH"] ?? ""].join(delimiter);
  terminal = new Terminal(setting.root, setting.workspace, { ...env, PATH: path, PAGURUS_PLAIN: "1" });
  await terminal.sees(/ready>/);
});

after(async () => {
  terminal.end();
  await server.close();
  // The shell may still write its history.
  rmSync(setting.root, { recursive: true, force: true, maxRetries: 5 });
});

test("bare `pagurus` opens a chat (finding D6)", async () => {
  await terminal.types('pagurus; echo "exit code $?"');
  await terminal.sees(/session main · model test\/model/);
  await terminal.sees(/^›\s*$/m);
});

test("input typed at a question is in the next request and in the transcript (finding D2)", async () => {
  await terminal.types("Cross the bay");
  await terminal.sees(/Allow shell in/);
  await terminal.types(WORDS);
  await terminal.sees(/The oar is taken\.[^]*›\s*$/);
  assert.ok(server.requests[1]?.text.includes(WORDS));
  const shown = await finish(setting, ["sessions", "show", "main"]);
  assert.equal(shown.code, 0, shown.stderr);
  assert.ok(shown.stdout.includes(WORDS), shown.stdout);
});

test("a wait shows a spinner, a tool one folded line, and bold text its style (finding D4)", async () => {
  await terminal.types("Which lamp?");
  await terminal.sees(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] waiting for/);
  held.resolve();
  await terminal.sees(/The lamp is green now\.[^]*›\s*$/);
  const screen = terminal.screen();
  assert.match(screen, /✓ read: 1[23] lines.*\(\/output \d+\)/);
  assert.doesNotMatch(screen, /lamp 7 is lit|[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/);
  assert.match(terminal.styled(), /\u001b\[1mgreen/);
  await terminal.press("C-o");
  await terminal.sees(/lamp 7 is lit[^]*lamp 12 is lit[^]*›\s*$/);
});

test("a resize while text streams neither removes from the answer nor adds to it (finding D3)", async () => {
  await terminal.types("clear the way");
  await terminal.sees(/w10/);
  assert.doesNotMatch(terminal.screen(), /landed/);
  for (let columns = 60; !terminal.screen().includes("landed"); columns = columns === 60 ? 100 : 60) {
    terminal.resize(columns, 40);
    await pause(300);
  }
  terminal.resize(120, 40);
  await terminal.sees(/landed[^]*›\s*$/);
  const screen = terminal.screen().replaceAll(/\s+/g, "");
  assert.ok(screen.includes(`${NUMBERS.join("")}landed`), terminal.screen());
});

test("one Ctrl-C asks for a second, which exits with 130 on its own line (finding D6)", async () => {
  await terminal.press("C-c");
  await terminal.sees(/Ctrl-C again leaves/);
  await terminal.press("C-c");
  await terminal.sees(/^exit code 130$/m);
});

test("Ctrl-D exits with 0 on its own line (finding D6)", async () => {
  await terminal.types("clear");
  await terminal.types('pagurus; echo "exit code $?"');
  await terminal.sees(/^›\s*$/m);
  await terminal.press("C-d");
  await terminal.sees(/^exit code 0$/m);
});
