import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { runCommand } from "../../packages/host/src/command/host-command.ts";
import { textWidth } from "../../packages/host/src/command/layout.ts";
import { Desk } from "./desk.ts";
import { command } from "./fake-cli.ts";
import { Launcher } from "./launch.ts";
import { completed, FakePagurus } from "./fake-pagurus.ts";

const silent = async function* (): AsyncGenerator<typeof completed> {
  yield completed;
};

test("bare pagurus opens a chat on a terminal, and prints help elsewhere (finding D6)", async (context) => {
  // A home with a configuration: a new one is offered setup first.
  const home = mkdtempSync(join(tmpdir(), "pagurus-bare-"));
  writeFileSync(join(home, "pagurus.json"), "{}");
  context.after(() => rmSync(home, { recursive: true, force: true }));
  const desk = new Desk(silent, { argv: [], env: { PAGURUS_HOME: home } });
  await desk.say("hello\r");
  await desk.say("\u0004");
  assert.equal(await desk.end(), 0);
  assert.deepEqual(
    desk.pagurus.requests.map(({ prompt }) => prompt),
    ["hello"],
  );
  const { code, err } = await command([], { input: "" });
  assert.equal(code, 2);
  assert.match(err, /Usage: pagurus/);
});

test("one Ctrl-C at an empty line asks for a second one, and Ctrl-D leaves at once (finding D6)", async () => {
  const desk = new Desk(silent);
  await desk.say("\u0003");
  await desk.until(/Ctrl-C again leaves, as Ctrl-D does\.\n› $/);
  await desk.type("still here\r");
  await desk.say("\u0004");
  assert.equal(await desk.end(), 0);
  assert.equal(desk.pagurus.requests[0]?.prompt, "still here");
  const twice = new Desk(silent);
  await twice.leaves();
  assert.equal(await twice.end(), 130);
});

test("/help breaks its lines between words at the width of the terminal (finding D5)", async () => {
  const where = { pagurus: new FakePagurus(), sessionKey: "main", agentId: "main", cwd: "/" };
  const { text: whole } = await runCommand("/help", where);
  const words = whole.split(/\s+/);
  for (const columns of [100, 80, 60, 40]) {
    const { text } = await runCommand("/help", { ...where, columns });
    assert.deepEqual(
      text.split("\n").filter((line) => textWidth(line) > columns),
      [],
    );
    assert.deepEqual(text.split(/\s+/), words);
  }
  const desk = new Desk(silent, { columns: 50 });
  await desk.say("/help\r");
  await desk.until(/\/exit[^›]*› $/);
  const shown = (await desk.screen()).split("› /help\n")[1] ?? "";
  assert.deepEqual(
    shown.split("\n").filter((line) => textWidth(line) > 50),
    [],
  );
  await desk.say("\u0004");
  assert.equal(await desk.end(), 0);
});

test("/cost and /context in a new chat show why they are empty (finding D5)", async () => {
  const user = new Launcher();
  try {
    const { out, err } = await user.run(["chat"], "/cost\n/context\n/context diff\nhi\n/cost\n/context\n");
    const [cost, first, second, ...rest] = out.split("\n");
    assert.equal(cost, "This conversation has cost nothing: it has made no request to a model yet.");
    assert.deepEqual([first, second], Array(2).fill("No request to a model is recorded here yet."));
    assert.match(rest.join("\n"), /^Cost: /m);
    assert.match(rest.join("\n"), /^Request 0 of turn/m);
    assert.doesNotMatch(out + err, /No session/);
  } finally {
    user.remove();
  }
});
