import assert from "node:assert/strict";
import { test } from "node:test";
import type { TurnEvent } from "../../packages/contract/src/host/events.ts";
import { parseAnswer, questionText } from "../../packages/cli/src/chat/permission-prompt.ts";
import { PERMISSION_MODES } from "../../packages/contract/src/host/permission-modes.ts";
import { Desk } from "./desk.ts";
import { command, fakeCli } from "./fake-cli.ts";
import { completed } from "./fake-pagurus.ts";

const silent = async function* (): AsyncGenerator<TurnEvent> {
  yield completed;
};
const signal = new AbortController().signal;

test("/permission shows the mode of a chat and changes it for the next turns (finding D1)", async () => {
  const input = [
    "/permission",
    "one",
    "/permission read-only",
    "two",
    "/permission",
    "/permission yolo",
    "three",
    "/permission default",
    "four",
  ];
  const { out, pagurus } = await command(["chat"], {
    input: `${input.join("\n")}\n`,
    script: { turns: [silent] },
  });
  assert.deepEqual(
    pagurus.requests.map(({ permission }) => permission),
    [undefined, "read-only", "read-only", undefined],
  );
  assert.match(out, /^Permission mode: ask \(configured\)\n/);
  assert.match(out, /Permission mode: read-only \(chosen here; configured: ask\)/);
  for (const mode of PERMISSION_MODES)
    assert.match(out, new RegExp(`/permission ${mode} +[A-Z]`), "a sentence for each");
  assert.match(out, /On this machine: /);
  assert.match(out, /There is no permission mode "yolo"; say read-only, deny, ask, sandbox, auto, default\./);
});

test("/permission in a chat that began with --permission shows and changes that (finding D1)", async () => {
  const { out, pagurus } = await command(["chat", "--permission", "deny"], {
    input: "/permission\none\n/permission auto\ntwo\n",
    script: { turns: [silent] },
  });
  assert.match(out, /^Permission mode: deny \(chosen here/);
  assert.deepEqual(
    pagurus.requests.map(({ permission }) => permission),
    ["deny", "auto"],
  );
});

test("the question on the terminal offers once, this command and all like it (finding D1)", async () => {
  const question = {
    toolName: "shell",
    summary: "npm test -- a",
    cwd: "/w",
    rule: "shell: exactly this command in /w",
    similar: "any `npm test …` in /w",
    signal,
  };
  assert.equal(
    questionText(fakeCli(), question),
    "Allow shell in /w?\n    npm test -- a\n[y] once  [a] always: shell: exactly this command in /w  " +
      "[s] always any `npm test …` in /w  [n] no, or type what to do instead: ",
  );
  assert.deepEqual(["s", " Similar "].map(parseAnswer), ["similar", "similar"]);
  const answers: unknown[] = [];
  const desk = new Desk(async function* (_request, _turn, at) {
    const asked = at.ask(signal, question);
    await at.type("s\r");
    answers.push(await asked);
    yield completed;
  });
  await desk.say("go\r");
  await desk.say("\u0004");
  assert.equal(await desk.end(), 0);
  assert.deepEqual(answers, ["similar"]);
});

test("text typed at a question denies the call and steers the asking turn (finding D2)", async () => {
  const answers: unknown[] = [];
  const desk = new Desk(async function* (_request, turn, at) {
    const own = at.ask(signal, { sessionKey: "main" });
    await at.type("use pnpm, not npm\r");
    answers.push(await own);
    assert.deepEqual(turn.steered, ["use pnpm, not npm"]);
    const pasted = at.ask(signal);
    await at.type("\u001b[200~one\ntwo\u001b[201~\r");
    answers.push(await pasted);
    assert.deepEqual(turn.steered, ["use pnpm, not npm", "one\ntwo"]);
    yield completed;
  });
  await desk.say("go\r");
  await desk.say("\u0004");
  assert.equal(await desk.end(), 0);
  assert.deepEqual(answers, ["deny", "deny"]);
});

test("text typed at the question of a subagent goes to it with the denial (finding D2)", async () => {
  const answers: unknown[] = [];
  const desk = new Desk(async function* (_request, turn, at) {
    const asked = at.ask(signal, { sessionKey: "main:child" });
    await at.type("not in this folder\r");
    answers.push(await asked);
    assert.deepEqual(turn.steered, []);
    yield completed;
  });
  await desk.say("go\r");
  await desk.say("\u0004");
  assert.equal(await desk.end(), 0);
  assert.deepEqual(answers, [{ deny: "not in this folder" }]);
});

test("a command at a question is run, and the question asked again (finding D2)", async () => {
  const answers: unknown[] = [];
  const desk = new Desk(async function* (_request, turn, at) {
    const asked = at.ask(signal);
    await at.type("/permission auto\r");
    await at.until(/\/permission runs when the turn has ended[^]*instead: $/);
    await at.type("y\r");
    answers.push(await asked);
    assert.deepEqual(turn.steered, []);
    yield completed;
  });
  await desk.say("go\r");
  await desk.until(/permission mode auto[^]*› $/);
  await desk.type("\u0004");
  assert.equal(await desk.end(), 0);
  assert.deepEqual(answers, ["once"]);
});
