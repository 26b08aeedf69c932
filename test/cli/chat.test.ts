import assert from "node:assert/strict";
import type { PassThrough } from "node:stream";
import { test } from "node:test";
import type { TurnEvent } from "../../packages/contract/src/host/events.ts";
import { execute } from "../../packages/cli/src/cli-program.ts";
import { command, fakeCli } from "./fake-cli.ts";
import { completed, failed, FakePagurus, statusReport } from "./fake-pagurus.ts";

const noHome = { PAGURUS_HOME: "/nowhere/pagurus" };
const echo = async function* (request: { prompt: string }): AsyncGenerator<TurnEvent> {
  yield { type: "text.delta", delta: `[${request.prompt}]` };
  yield completed;
};

test("lines from a pipe are turns, one after the other", async () => {
  const { code, out, pagurus } = await command(["chat"], {
    input: "one\n\ntwo\n",
    script: { turns: [echo] },
  });
  assert.deepEqual([code, out], [0, "[one]\n[two]\n"]);
  assert.deepEqual(
    pagurus.requests.map((request) => request.sessionKey),
    ["main", "main"],
  );
});

test("a trailing backslash continues the line, also at the end of the input", async () => {
  const { pagurus } = await command(["chat"], { input: "a\\\nb\nc\\", script: { turns: [echo] } });
  assert.deepEqual(
    pagurus.requests.map((request) => request.prompt),
    ["a\nb", "c\n"],
  );
});

test("slash commands are answered, paths and doubled slashes are prompts", async () => {
  const input = "/statu\n/etc/hosts is what?\n//help\n/exit\nnever\n";
  const { out, pagurus } = await command(["chat"], { input, script: { turns: [echo] } });
  assert.match(out, /There is no command \/statu\. Did you mean \/status\?/);
  assert.deepEqual(
    pagurus.requests.map((request) => request.prompt),
    ["/etc/hosts is what?", "/help"],
  );
});

test("/model chooses the model of the next turns and /model default resets it", async () => {
  const input = "/model ollama/b\nx\n/model default\ny\n";
  const { pagurus } = await command(["chat"], { input, env: noHome, script: { turns: [echo] } });
  assert.deepEqual(
    pagurus.requests.map((request) => request.model),
    ["ollama/b", undefined],
  );
});

test("/model refuses a ref that no run could use, and reports a missing key", async () => {
  const input = "/model nope/x\none\n/model openai/gpt-5\ntwo\n";
  const { pagurus, out } = await command(["chat"], { input, env: noHome, script: { turns: [echo] } });
  assert.match(out, /The model ref "nope\/x" names no known provider.* The model stays as it is\./);
  assert.match(out, /next turns of this chat use openai\/gpt-5\. But: The provider "openai" needs a key/);
  assert.deepEqual(
    pagurus.requests.map((request) => request.model),
    [undefined, "openai/gpt-5"],
  );
});

test("the greeting names session, model, runtime, engine and interrupted turns", async () => {
  const status = statusReport({ interruptedTurns: ["t9"], configWarnings: ["Unknown key x."] });
  const { err } = await command(["chat"], { input: "", script: { status } });
  assert.match(err, /session main · model offline\/extract · runtime embedded · engine legacy/);
  assert.match(err, /Interrupted turn: t9/);
  assert.match(err, /Config: Unknown key x\./);
});

test("a failed turn does not end the chat, and is its exit code without a terminal", async () => {
  const turns = [[failed("model_unavailable", "Gone.")], [completed]];
  const { code, err, pagurus } = await command(["chat"], { input: "a\nb\n", script: { turns } });
  assert.equal(code, 1);
  assert.equal(pagurus.requests.length, 2);
  assert.match(err, /pagurus: Gone\. \[model_unavailable\]/);
});

test("a command's error is shown and the chat continues", async () => {
  const { err, pagurus } = await command(["chat"], { input: "/undo\nhi\n", script: { turns: [echo] } });
  assert.match(err, /has no turn to undo\. \[entry_not_found\]/);
  assert.equal(pagurus.requests.length, 1);
});

test("an interrupt aborts the running turn only, one more with nothing running leaves with 130", async () => {
  const pagurus = new FakePagurus({
    turns: [
      async function* (request, turn) {
        cli.interrupt();
        assert.equal(request.signal?.aborted, true);
        assert.equal(turn.aborted, true);
        yield failed("turn_aborted", "Aborted.");
        setImmediate(() => setImmediate(() => cli.interrupt()));
      },
    ],
  });
  const cli = fakeCli({ pagurus });
  (cli.stdin as PassThrough).write("hello\n");
  assert.equal(await execute(["chat"], cli), 130);
  assert.deepEqual(cli.exits, []);
  assert.match(cli.err(), /aborted/);
});

test("where no terminal shows it, no gauge is written after a turn", async () => {
  const gauged = {
    ...completed,
    context: { tokens: 1, budget: 2 },
    cost: { turn: 1 },
  } as TurnEvent;
  const { out, err } = await command(["chat"], { input: "hi\n", script: { turns: [[gauged]] } });
  assert.doesNotMatch(out + err, /context █|cost/);
});

test("--max-cost applies to each turn of a chat", async () => {
  const { pagurus } = await command(["chat", "--max-cost", ".5"], {
    input: "a\nb\n",
    script: { turns: [echo] },
  });
  assert.deepEqual(
    pagurus.requests.map((request) => request.maxCost),
    [0.5, 0.5],
  );
});

test("/cost shows the costs and the limits in force", async () => {
  const cost = { turn: 0.012, session: 0.34, day: 1.2, limits: { session: 5, day: 20 } };
  const { out } = await command(["chat"], { input: "/cost\n", script: { status: statusReport({ cost }) } });
  assert.equal(
    out,
    "Cost: last turn $0.012, session $0.34, today $1.20\nCost limits: session $5.00, day $20.00\n",
  );
});
