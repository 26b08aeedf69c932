import assert from "node:assert/strict";
import { test } from "node:test";
import type { TurnEvent } from "../../packages/contract/src/host/events.ts";
import { delta, Desk } from "./desk.ts";
import { completed } from "./fake-pagurus.ts";

test("typing during a turn holds back its output and steers it", async () => {
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
  await desk.say("go\r");
  await desk.say("\u0004");
  assert.equal(await desk.end(), 0);
  assert.equal(desk.pagurus.requests.length, 1);
});

test("output continues when the typed text is erased, or when the turn ends; the typed text is kept", async () => {
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
  await desk.say("go\r");
  await desk.until(/the end\n› next$/);
  await desk.type("\r");
  await desk.say("/exit\r");
  assert.equal(await desk.end(), 0);
  assert.deepEqual(
    desk.pagurus.requests.map((request) => request.prompt),
    ["go", "next"],
  );
});

test("a slash command during a turn waits for its end", async () => {
  const desk = new Desk(async function* (_request, turn, at) {
    await at.type("/model ollama/b\r");
    assert.deepEqual(turn.steered, []);
    assert.match(await at.screen(), /\/model runs when the turn has ended/);
    yield completed;
  });
  await desk.say("go\r");
  await desk.until(/next turns of this chat use ollama\/b/);
  await desk.say("/exit\r");
  await desk.end();
});

test("permission is asked at the chat's own line; half-typed text is not an answer and is restored", async () => {
  const answers: unknown[] = [];
  const desk = new Desk(async function* (request, _turn, at) {
    await at.type("y");
    const asked = at.ask(request.signal ?? new AbortController().signal);
    await at.type("\r");
    answers.push(await asked);
    const again = at.ask(new AbortController().signal);
    await at.type("a\r");
    answers.push(await again);
    await at.until(/› y$/);
    yield completed;
  });
  await desk.say("go\r");
  await desk.until(/empty\n› y$/);
  await desk.type("\u0015");
  await desk.type("/exit\r");
  assert.equal(await desk.end(), 0);
  assert.deepEqual(answers, ["deny", "always"]);
  assert.match(await desk.screen(), /Allow shell in \/w\?\n {4}make\n/);
});

test("Ctrl-C denies an open question and aborts the turn; the chat continues, and ends with two more", async () => {
  let answer: unknown;
  const desk = new Desk(async function* (request, _turn, at) {
    const asked = at.ask(request.signal ?? new AbortController().signal);
    await at.type("ye\u0003");
    answer = await asked;
    yield { type: "turn.failed", error: { code: "turn_aborted", message: "Aborted." }, degraded: [] };
  });
  await desk.say("go\r");
  await desk.until(/aborted\n› $/);
  assert.equal(answer, "deny");
  await desk.say("half\u0003");
  await desk.leaves();
  assert.equal(await desk.end(), 130);
});

test("a backslash continues the line at the prompt and while steering", async () => {
  const steered: string[][] = [];
  const desk = new Desk(async function* (_request, turn, at) {
    await at.type("c\\\rd\r");
    steered.push([...turn.steered]);
    yield completed;
  });
  await desk.say("a\\\rb\r");
  await desk.say("/exit\r");
  await desk.end();
  assert.equal(desk.pagurus.requests[0]?.prompt, "a\nb");
  assert.deepEqual(steered, [["c\nd"]]);
});

test("an end of input during a turn lets it finish and denies its questions", async () => {
  let answer: unknown;
  const desk = new Desk(async function* (request, _turn, at) {
    const asked = at.ask(request.signal ?? new AbortController().signal);
    await at.type("\u0004");
    answer = await asked;
    assert.equal(await at.ask(new AbortController().signal), "deny");
    yield delta("done");
    yield completed;
  });
  await desk.say("go\r");
  assert.equal(await desk.end(), 0);
  assert.equal(answer, "deny");
  assert.match(await desk.screen(), /done\n$/);
});

test("activity of parallel tools is held back while a question is open", async () => {
  const desk = new Desk(async function* (_request, _turn, at) {
    const asked = at.ask(new AbortController().signal);
    await at.until(/instead: $/);
    yield { type: "tool.started", toolCallId: "c", toolName: "grep", arguments: { pattern: "x" } };
    assert.match(await at.screen(), /instead: $/);
    await at.type("y\r");
    assert.equal(await asked, "once");
    assert.match(await at.screen(), /• grep x\n/);
    yield completed;
  });
  await desk.say("go\r");
  await desk.say("/exit\r");
  assert.equal(await desk.end(), 0);
});

const pasted = (words: string): string => `\u001b[200~${words}\u001b[201~`;

test("a paste of several lines is one input, and can be typed around", async () => {
  const desk = new Desk(async function* () {
    yield completed;
  });
  await desk.say(`See ${pasted("a\r\n\tb\rc\n")} please\r`);
  await desk.say(pasted("/help\nfor me"));
  await desk.until(/› \[paste 2: 2 lines\]$/);
  await desk.type("\r");
  await desk.say(`${pasted("one line\n")}!\r`);
  await desk.say("/exit\r");
  assert.equal(await desk.end(), 0);
  assert.deepEqual(
    desk.pagurus.requests.map((request) => request.prompt),
    ["See a\n\tb\nc please", "/help\nfor me", "one line!"],
  );
});

test("a paste while a turn runs steers it once", async () => {
  const desk = new Desk(async function* (_request, turn, at) {
    yield delta("writing");
    await at.type(`${pasted("x\ny")}\r`);
    assert.deepEqual(turn.steered, ["x\ny"]);
    yield completed;
  });
  await desk.say("go\r");
  await desk.say("/exit\r");
  assert.equal(await desk.end(), 0);
});

test("the terminal is asked for marked pastes, and left as it was", async () => {
  const desk = new Desk(async function* () {
    yield completed;
  });
  await desk.say("/exit\r");
  assert.equal(await desk.end(), 0);
  assert.deepEqual(desk.raw().match(/\u001b\[\?2004[hl]/g), ["\u001b[?2004h", "\u001b[?2004l"]);
});

test("a model's text cannot control the terminal", async () => {
  const desk = new Desk(async function* () {
    yield delta("a\u001b]0;owned\u0007b\n");
    yield completed;
  });
  await desk.say("go\r");
  await desk.until(/a\]0;ownedb\n/);
  await desk.say("/exit\r");
  await desk.end();
});

const summary: TurnEvent = {
  ...completed,
  context: { tokens: 84_000, budget: 200_000, next: { lane: "in-attempt", handler: "legacy" } },
  cost: { turn: 0.012, session: 0.34, day: 1.2 },
} as TurnEvent;

test("after a turn one line shows how full the context is, the next compaction, and the cost", async () => {
  const desk = new Desk(
    async function* () {
      yield delta("done");
      yield summary;
    },
    { columns: 160 },
  );
  await desk.say("go\r");
  await desk.until(/› $/);
  const gauge = "context ████░░░░░░ 42 %  84,000 of 200,000 · compacts at 200,000 by legacy";
  const cost = "cost $0.012 (session $0.34, today $1.20)";
  await desk.until(/\$1\.20\)\n› $/);
  assert.ok((await desk.screen()).includes(`done\n${gauge} · ${cost}\n`));
  await desk.say("\u0004");
  assert.equal(await desk.end(), 0);
});

test("in a narrow terminal the cost after a turn has a line of its own", async () => {
  const desk = new Desk(async function* () {
    yield summary;
  });
  await desk.say("go\r");
  await desk.until(/compacts at 200,000 by legacy\ncost \$0\.012 .*\n› $/);
  await desk.say("\u0004");
  assert.equal(await desk.end(), 0);
});

test("/compact reports at once that it has started", async () => {
  let finish = (): void => undefined;
  const desk = new Desk(async function* () {
    yield completed;
  });
  desk.pagurus.compact = () =>
    new Promise((resolve) => {
      finish = () => resolve({ compacted: true, tokensBefore: 9_000, tokensAfter: 2_000, degraded: [] });
    });
  await desk.say("/compact\r");
  await desk.until(/\ncompacting…\n$/);
  finish();
  await desk.until(/Compacted: 9,000 → 2,000 tokens \(saved 7,000\)\./);
  await desk.say("\u0004");
  assert.equal(await desk.end(), 0);
});

test("/codex steer and stop act on the running turn at once", async () => {
  const desk = new Desk(async function* (_request, turn, at) {
    await at.type("/codex steer look at the tests\r");
    assert.deepEqual(turn.steered, ["look at the tests"]);
    assert.match(await at.screen(), /Sent to the running turn: "look at the tests"\./);
    await at.type("/codex stop\r");
    assert.equal(turn.aborted, true);
    yield completed;
  });
  await desk.say("go\r");
  await desk.until(/is being stopped\.[\s\S]*› $/);
  await desk.say("/exit\r");
  assert.equal(await desk.end(), 0);
});
