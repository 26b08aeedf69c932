import assert from "node:assert/strict";
import { test } from "node:test";
import type { TurnEvent } from "../../packages/contract/src/host/events.ts";
import { delta, Desk } from "./desk.ts";
import { completed } from "./fake-pagurus.ts";

const CALL = { toolCallId: "c", toolName: "shell" };
const LINES = Array.from({ length: 5 }, (_, index) => `line ${index + 1}`).join("\n");
const answered = (text: string): TurnEvent => ({
  type: "tool.completed",
  ...CALL,
  outcome: { content: [{ type: "text", text }], isError: false },
});

test("a resize while text streams draws no prompt and erases nothing (finding D3)", async () => {
  const desk = new Desk(async function* (_request, _turn, at) {
    yield delta("The spare key ");
    await at.until(/spare key $/);
    const before = at.raw();
    await at.resize(50);
    await at.resize(100);
    assert.equal(at.raw(), before);
    yield delta("hangs in berth 7.");
    yield completed;
  });
  await desk.say("go\r");
  await desk.until(/The spare key hangs in berth 7\.\n› $/);
  await desk.say("\u0004");
  assert.equal(await desk.end(), 0);
});

test("a resize at the prompt redraws the typed text, in the rows of the new width (finding D3)", async () => {
  const desk = new Desk(async function* () {
    yield completed;
  });
  await desk.say("x".repeat(50));
  const before = desk.raw().length;
  await desk.resize(20);
  // The line has three rows of 20 columns, the cursor in the third.
  assert.ok(desk.raw().slice(before).startsWith("\u001b[2A"), JSON.stringify(desk.raw().slice(before)));
  assert.match(desk.raw().slice(before), /› x{50}/);
  await desk.type("\r");
  await desk.say("\u0004");
  assert.equal(await desk.end(), 0);
  assert.equal(desk.pagurus.requests[0]?.prompt, "x".repeat(50));
});

test("an answer's Markdown has colours where the terminal has them, and is plain with NO_COLOR (finding D4)", async () => {
  const play = async function* (): AsyncGenerator<TurnEvent> {
    yield delta("a **bo");
    yield delta("ld** word\n# Ti");
    yield delta("tle");
    yield completed;
  };
  const colours = new Desk(play, { env: { NO_COLOR: "", TERM: "xterm" } });
  await colours.say("go\r");
  await colours.until(/a bold word\nTitle\n› $/);
  assert.match(colours.raw(), /a \u001b\[1mbold\u001b\[22m word\n/);
  await colours.say("\u0004");
  assert.equal(await colours.end(), 0);
  const plain = new Desk(play);
  await plain.say("go\r");
  await plain.until(/a \*\*bold\*\* word\n# Title\n› $/);
  await plain.say("\u0004");
  assert.equal(await plain.end(), 0);
});

test("a spinner runs during silence, and is erased from the terminal (finding D4)", async () => {
  const desk = new Desk(async function* (_request, _turn, at) {
    while (!/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] waiting for the model \(\d+ s\)…/.test(at.raw())) await at.screen();
    yield delta("here");
    yield completed;
  });
  await desk.say("go\r");
  await desk.until(/› go\r?\nhere\n› $/);
  await desk.say("\u0004");
  assert.equal(await desk.end(), 0);
});

test("tool output is one line with its size, opened by Ctrl-O and by /output (finding D4)", async () => {
  const desk = new Desk(async function* (_request, _turn, at) {
    yield { type: "tool.started", ...CALL, arguments: { command: "make" } };
    yield answered(`${LINES}\n`);
    await at.until(/✓ shell: 5 lines, 35 B \(\/output 1\)\n$/);
    await at.type("\u000f");
    await at.until(/── output 1 of shell: 5 lines, 35 B\nline 1\n[^]*line 5\n──\n$/);
    yield answered("one\ntwo\u001b[2J");
    yield answered("short");
    await at.until(/✓ shell: short\n$/);
    yield completed;
  });
  await desk.say("go\r");
  await desk.say("half");
  await desk.type("\u000f");
  await desk.until(/── output 2 of shell: 2 lines, 11 B\none\ntwo\[2J\n──\n› half$/);
  await desk.type("\u000f");
  await desk.until(/── output 1 of shell[^›]*──\n› half$/);
  await desk.type("\u0015/output 2\r");
  await desk.until(/\/output 2\r?\n── output 2 of shell[^›]*──\n› $/);
  await desk.type("/output 9\r");
  await desk.until(/There is no output 9; those of the last calls are kept, up to 2\.\n› $/);
  await desk.type("\u0004");
  assert.equal(await desk.end(), 0);
});
