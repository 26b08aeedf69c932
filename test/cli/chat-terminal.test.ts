import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import type { TurnEvent } from "../../src/contract/events.ts";
import type { PermissionQuestion, RunRequest } from "../../src/contract/host.ts";
import { execute } from "../../src/cli/program.ts";
import { fakeCli, type FakeCli } from "./fake-cli.ts";
import { completed, FakePagurus, type FakeTurn } from "./fake-pagurus.ts";

type Play = (request: RunRequest, turn: FakeTurn, at: Desk) => AsyncIterable<TurnEvent>;

const delta = (text: string): TurnEvent => ({ type: "text.delta", delta: text });
/** Lets what was typed be read. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

/** A person at a terminal, in a chat whose turns play `play`. */
class Desk {
  readonly cli: FakeCli;
  readonly pagurus: FakePagurus;
  readonly #screen = new PassThrough({ encoding: "utf8" });
  readonly ended: Promise<number>;
  #shown = "";

  constructor(play: Play) {
    this.pagurus = new FakePagurus({ turns: [(request, turn) => play(request, turn, this)] });
    const cli = fakeCli({ pagurus: this.pagurus, env: { NO_COLOR: "1" } });
    this.#screen.on("data", (text: string) => (this.#shown += text));
    const stdout = Object.assign(this.#screen, { isTTY: true, columns: 80 });
    this.cli = { ...cli, stdout, stderr: stdout };
    this.ended = execute(["chat"], this.cli);
  }

  async type(keys: string): Promise<void> {
    await settle();
    (this.cli.stdin as unknown as PassThrough).write(keys);
    await settle();
  }

  /** What the terminal was sent, without cursor movements. */
  async screen(): Promise<string> {
    await settle();
    // eslint-disable-next-line no-control-regex
    return this.#shown.replace(/\u001b\[[\d;]*[A-Za-z]/g, "");
  }

  ask(signal: AbortSignal): Promise<string> {
    const question: PermissionQuestion = { toolName: "shell", summary: "make", cwd: "/w", signal };
    return this.cli.options[0]?.askPermission?.(question) ?? Promise.resolve("nobody");
  }
}

test("typing while a turn runs holds its output back and steers it", async () => {
  const desk = new Desk(async function* (_request, turn, at) {
    yield delta("one ");
    await at.type("wa");
    yield delta("two ");
    assert.doesNotMatch(await at.screen(), /two/);
    await at.type("it\r");
    assert.match(await at.screen(), /two/);
    assert.deepEqual(turn.steered, ["wait"]);
    yield completed;
  });
  await desk.type("go\r");
  await desk.type("\u0004");
  assert.equal(await desk.ended, 0);
  assert.equal(desk.pagurus.requests.length, 1);
});

test("output goes on when what was typed is erased, or when the turn ends; the typed words stay", async () => {
  const desk = new Desk(async function* (request, _turn, at) {
    if (request.prompt === "go") {
      await at.type("x");
      yield delta("held");
      await at.type("\u007f");
      assert.match(await at.screen(), /held/);
      await at.type("next");
    }
    yield delta("the end");
    yield completed;
  });
  await desk.type("go\r");
  assert.match(await desk.screen(), /the end\n› next$/);
  await desk.type("\r");
  await desk.type("/exit\r");
  assert.equal(await desk.ended, 0);
  assert.deepEqual(
    desk.pagurus.requests.map((request) => request.prompt),
    ["go", "next"],
  );
});

test("a slash command during a turn waits for its end", async () => {
  const desk = new Desk(async function* (_request, turn, at) {
    await at.type("/model a/b\r");
    assert.deepEqual(turn.steered, []);
    assert.match(await at.screen(), /\/model runs when the turn has ended/);
    yield completed;
  });
  await desk.type("go\r");
  assert.match(await desk.screen(), /next turns of this chat use a\/b/);
  await desk.type("/exit\r");
  await desk.ended;
});

test("permission is asked at the chat's own line; what was half typed is no answer", async () => {
  const answers: string[] = [];
  const desk = new Desk(async function* (request, _turn, at) {
    await at.type("y");
    const asked = at.ask(request.signal ?? new AbortController().signal);
    await at.type("\r");
    answers.push(await asked);
    const again = at.ask(new AbortController().signal);
    await at.type("a\r");
    answers.push(await again);
    yield completed;
  });
  await desk.type("go\r");
  await desk.type("/exit\r");
  assert.equal(await desk.ended, 0);
  assert.deepEqual(answers, ["deny", "always"]);
  assert.match(await desk.screen(), /Allow shell in \/w\?\n {4}make\n/);
});

test("Ctrl-C denies an open question and aborts the turn; the chat goes on, and ends with the next one", async () => {
  let answer = "";
  const desk = new Desk(async function* (request, _turn, at) {
    const asked = at.ask(request.signal ?? new AbortController().signal);
    await at.type("ye\u0003");
    answer = await asked;
    yield { type: "turn.failed", error: { code: "turn_aborted", message: "Aborted." }, degraded: [] };
  });
  await desk.type("go\r");
  assert.equal(answer, "deny");
  assert.match(await desk.screen(), /aborted\n› $/);
  await desk.type("half\u0003");
  await desk.type("\u0003");
  assert.equal(await desk.ended, 130);
});

test("a backslash continues the line at the prompt and while steering", async () => {
  const steered: string[][] = [];
  const desk = new Desk(async function* (_request, turn, at) {
    await at.type("c\\\rd\r");
    steered.push([...turn.steered]);
    yield completed;
  });
  await desk.type("a\\\rb\r");
  await desk.type("/exit\r");
  await desk.ended;
  assert.equal(desk.pagurus.requests[0]?.prompt, "a\nb");
  assert.deepEqual(steered, [["c\nd"]]);
});

test("what a model says cannot drive the terminal", async () => {
  const desk = new Desk(async function* () {
    yield delta("a\u001b]0;owned\u0007b\n");
    yield completed;
  });
  await desk.type("go\r");
  assert.match(await desk.screen(), /a\]0;ownedb\n/);
  await desk.type("/exit\r");
  await desk.ended;
});
