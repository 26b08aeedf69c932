/** Permission questions in a real terminal (tmux) of turns that a server runs: the terminal's answer counts, and so does another client's. */
import assert from "node:assert/strict";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { createClient, type PagurusClient } from "../../../packages/client/src/index.ts";
import { ServeProcess } from "../../server/serve-setting.ts";
import { startServer, type ModelServer, type ReplyStep } from "../../servers/server.ts";
import { needTerminal, Terminal } from "../../servers/terminal.ts";
import { LAUNCHER } from "../../runner/program.ts";
import { makeSetting, modelConfig, type Setting } from "../../turn/setting.ts";
import { readBody } from "../../turn/wire-bodies.ts";

let setting: Setting;
let model: ModelServer;
let server: ServeProcess;
let client: PagurusClient;
let terminal: Terminal;

/** Answers to "hold" wait for it. */
let held = Promise.withResolvers<void>();

/** The last word of the prompt is the file that the call makes. */
async function step(request: Parameters<typeof readBody>[1]): Promise<ReplyStep> {
  const { messages } = readBody("openai-completions", request);
  if (messages.some(({ role, text }) => role === "user" && text === "hold")) {
    await held.promise;
    return { text: `The end of ${messages.at(-1)?.text}.` };
  }
  const input = messages.findLastIndex(({ role, text }) => role === "user" && text.startsWith("make "));
  const name = messages[input]?.text.split(" ").at(-1) ?? "";
  const result = messages.slice(input).findLast(({ role }) => role === "tool");
  if (!result) return { toolCalls: [{ id: name, name: "shell", arguments: { command: `touch ${name}` } }] };
  return {
    text: JSON.stringify(result.results).includes("denied") ? `${name} is refused.` : `${name} is made.`,
  };
}

function isMade(name: string): boolean {
  return existsSync(join(setting.workspace, name));
}

async function asked(): Promise<string> {
  for (;;) {
    const [question] = await client.approvals();
    if (question) return question.id;
  }
}

before(async () => {
  needTerminal();
  model = await startServer({ protocol: "openai-completions", script: step });
  const defaults = { permission: { mode: "ask", sandbox: "off" } };
  const cost = { input: 3, output: 15 };
  setting = makeSetting(modelConfig("openai-completions", model.url, { cost }, { agents: { defaults } }));
  server = await ServeProcess.start(setting);
  client = createClient({ url: server.url, token: server.key });
  const pagurus = `"${process.execPath}" "${LAUNCHER}"`;
  terminal = new Terminal(setting.root, setting.workspace, {
    ...setting.env,
    PAGURUS_TOKEN: server.key,
    PAGURUS_PLAIN: "1",
  });
  await terminal.sees(/ready>/);
  await terminal.types(`pagurus() { ${pagurus} "$@"; }; clear`);
});

after(async () => {
  held.resolve();
  terminal.end();
  await server.kill();
  await model.close();
  // The shell may still write its history.
  rmSync(setting.root, { recursive: true, force: true, maxRetries: 5 });
});

test("an answer in a chat counts for a turn of the server that was found", async () => {
  await terminal.types("pagurus chat --session talk");
  await terminal.sees(/^›\s*$/m);
  await terminal.types("make one");
  await terminal.sees(/Allow shell in [^]*touch one[^]*instead:\s*$/);
  assert.equal((await client.approvals()).length, 1);
  await terminal.types("y");
  await terminal.sees(/one is made\.[^]*›\s*$/);
  assert.ok(isMade("one"));
  const [work] = await client.listWork("talk");
  assert.equal(work?.outcome, "completed");
  assert.doesNotMatch(terminal.screen(), /another client/);
});

test("another client that answers first closes the question of a chat, which names it", async () => {
  await terminal.types("make two");
  await terminal.sees(/touch two[^]*instead:\s*$/);
  assert.equal(await client.answer(await asked(), "once"), true);
  await terminal.sees(/note: another client allowed shell[^]*two is made\.[^]*›\s*$/);
  await terminal.types("make three");
  await terminal.sees(/touch three[^]*instead:\s*$/);
  assert.equal(await client.answer(await asked(), "deny"), true);
  await terminal.sees(/note: another client denied shell[^]*three is refused\.[^]*›\s*$/);
  assert.deepEqual(["two", "three"].map(isMade), [true, false]);
});

test("text that is typed at the question of a chat denies the call and joins the turn", async () => {
  await terminal.types("make four");
  await terminal.sees(/touch four[^]*instead:\s*$/);
  await terminal.types("Use a boat");
  await terminal.sees(/four is refused\.[^]*›\s*$/);
  assert.ok(model.requests.at(-1)?.text.includes("Use a boat"));
  assert.equal(isMade("four"), false);
  const [steered, turn] = await client.listWork("talk");
  assert.deepEqual([steered?.outcome, steered?.intoWork], ["steered", turn?.id]);
  await terminal.press("C-d");
  await terminal.sees(/ready>\s*$/);
});

test("pagurus run asks at its terminal, with a server that is named, too", async () => {
  await terminal.types("clear; pagurus run --session work 'make five'");
  await terminal.sees(/touch five[^]*instead:\s*$/);
  await terminal.types("y");
  await terminal.sees(/five is made\.\s+ready>/);
  await terminal.types(`clear; pagurus --server ${server.url} run --session work 'make six'`);
  await terminal.sees(/touch six[^]*instead:\s*$/);
  await terminal.types("n");
  await terminal.sees(/six is refused\.\s+ready>/);
  await terminal.types("clear; pagurus run --session work 'make seven'");
  await terminal.sees(/touch seven[^]*instead:\s*$/);
  assert.equal(await client.answer(await asked(), "once"), true);
  await terminal.sees(/another client allowed shell[^]*seven is made\.\s+ready>/);
  assert.deepEqual(["five", "six", "seven"].map(isMade), [true, false, true]);
});

test("a chat asks before a turn of the server exceeds a cost limit, and another client may answer", async () => {
  await terminal.types("clear; pagurus chat --session costs --max-cost 0.0000001");
  await terminal.sees(/^›\s*$/m);
  await terminal.types("make eight");
  await terminal.sees(/for the turn is reached[^]*\[y\] Allow \$[\d.]+ more {2}\[n\] stop[^]*:\s*$/);
  assert.equal(
    model.requests.some(({ text }) => text.includes("make eight")),
    false,
  );
  await terminal.types("n");
  await terminal.sees(/next request was not sent[^]*›\s*$/);
  await terminal.types("make nine");
  await terminal.sees(/\[y\] Allow \$[\d.]+ more[^]*:\s*$/);
  const id = await asked();
  await assert.doesNotReject(client.answer(id, "once", { content: { dollars: 1 } }));
  await terminal.sees(/another client allowed cost limit[^]*touch nine[^]*instead:\s*$/);
  await terminal.types("y");
  await terminal.sees(/nine is made\.[^]*›\s*$/);
  await terminal.press("C-d");
  await terminal.sees(/ready>\s*$/);
});

test("words for a turn of the server are taken back, and come back at Esc, before the turn has them", async () => {
  await terminal.types("clear; PAGURUS_PLAIN=0 pagurus chat --session wheel");
  await terminal.sees(/^test\/model · /m);
  await terminal.types("hold");
  await terminal.sees(/› hold/);
  await terminal.types("turn left");
  await terminal.sees(/joins the turn: turn left/);
  while ((await client.listWork("wheel"))[0]?.state !== "steering");
  await terminal.press("Up");
  await terminal.sees(/^ ?turn left\s*$/m);
  assert.doesNotMatch(terminal.screen(), /joins the turn/);
  await terminal.press("C-u");
  await terminal.types("turn right");
  await terminal.sees(/joins the turn: turn right/);
  while ((await client.listWork("wheel"))[0]?.state !== "steering");
  await terminal.press("Escape");
  await terminal.sees(/aborted[^]*^ ?turn right\s*$/m);
  assert.doesNotMatch(terminal.screen(), /joins the turn/);
  const outcomes = (await client.listWork("wheel")).map(({ outcome }) => outcome);
  assert.deepEqual(outcomes, ["withdrawn", "withdrawn", "aborted"]);
  held.resolve();
  held = Promise.withResolvers<void>();
  await terminal.press("C-u");
  await terminal.press("C-d");
  await terminal.sees(/ready>\s*$/);
  assert.ok(!model.requests.some(({ text }) => text.includes("turn left") || text.includes("turn right")));
});

test("what a turn of the server has taken cannot be taken back", async () => {
  await terminal.types("clear; PAGURUS_PLAIN=0 pagurus chat --session helm");
  await terminal.sees(/^test\/model · /m);
  await terminal.types("hold");
  await terminal.sees(/› hold/);
  await terminal.types("turn left");
  await terminal.sees(/joins the turn: turn left/);
  while ((await client.listWork("helm"))[0]?.state !== "steering");
  held.resolve();
  await terminal.sees(/› turn left[^]*The end of turn left\./);
  const [steered] = await client.listWork("helm");
  await assert.rejects(client.withdraw(steered?.id ?? ""), /has begun already/);
  await terminal.press("C-d");
  await terminal.sees(/ready>\s*$/);
});
