/** `/undo`, `/redo` and `/rewind` with files, on a full terminal (tmux). */
import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { startServer, type ModelServer, type RecordedRequest, type ReplyStep } from "../../servers/server.ts";
import { needTerminal, Terminal } from "../../servers/terminal.ts";
import { LAUNCHER } from "../../runner/program.ts";
import { makeSetting, modelConfig, type Setting } from "../../turn/setting.ts";

let setting: Setting;
let server: ModelServer;
let terminal: Terminal;

function reply({ body }: RecordedRequest): ReplyStep {
  const { messages } = body as { messages: { role: string; content: unknown }[] };
  const last = messages.at(-1);
  if (last?.role === "user" && JSON.stringify(last.content).includes("Change the plan")) {
    const command = "printf second > plan.txt; printf made > new.txt; sleep 1";
    return { toolCalls: [{ id: `c${server.requests.length}`, name: "shell", arguments: { command } }] };
  }
  return { text: "All is changed." };
}

before(async () => {
  needTerminal();
  setting = makeSetting();
  server = await startServer({ protocol: "openai-completions", script: reply });
  const more = { agents: { defaults: { permission: { mode: "auto" } } }, checkpoints: { enabled: true } };
  const config = modelConfig("openai-completions", server.url, {}, more);
  writeFileSync(join(setting.home, "pagurus.json"), JSON.stringify(config), { mode: 0o600 });
  writeFileSync(join(setting.workspace, "plan.txt"), "first");
  const { NO_COLOR: _, ...env } = setting.env;
  terminal = new Terminal(setting.root, setting.workspace, env);
  await terminal.sees(/ready>/);
  await terminal.types(`"${process.execPath}" "${LAUNCHER}"`);
  await terminal.sees(/test\/model · auto/);
});

after(async () => {
  terminal.end();
  await server.close();
  rmSync(setting.root, { recursive: true, force: true, maxRetries: 5 });
});

const plan = (): string => readFileSync(join(setting.workspace, "plan.txt"), "utf8");
const isMade = (): boolean => existsSync(join(setting.workspace, "new.txt"));

test("/undo restores the files and the input in one action, and /redo does it again", async () => {
  await terminal.types("Change the plan");
  await terminal.sees(/All is changed\./);
  assert.deepEqual([plan(), isMade()], ["second", true]);
  await terminal.types("/undo");
  await terminal.sees(/2 files changed back; \/redo takes it back:\s+D new\.txt\s+M plan\.txt/);
  assert.deepEqual([plan(), isMade()], ["first", false]);
  await terminal.press("C-u");
  await terminal.types("/redo");
  await terminal.sees(/2 files restored/);
  assert.deepEqual([plan(), isMade()], ["second", true]);
});

test("/rewind shows the messages, then what to rewind, and names a file that the user changed since", async () => {
  writeFileSync(join(setting.workspace, "plan.txt"), "mine");
  await terminal.types("/rewind");
  await terminal.sees(/before which message/);
  await terminal.press("Enter");
  await terminal.sees(/Rewind what\?[^]*The conversation and the files/);
  await terminal.press("Enter");
  await terminal.sees(/changed plan\.txt since[^]*Keep as it is/);
  await terminal.press("Enter");
  await terminal.sees(/plan\.txt: you or another conversation changed it since/);
  assert.deepEqual([plan(), isMade()], ["mine", false]);
});
