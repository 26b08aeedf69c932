/** A channel answers each slash command that the list offers there. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { runCommand, type CommandParts } from "../../packages/channels/src/chat-commands.ts";
import { commandsOf } from "../../packages/host/src/command/host-command.ts";
import { record } from "../cli/fake-pagurus.ts";

const PARTS: CommandParts = {
  pagurus: {
    renew: () => Promise.resolve(record("a")),
    commands: () => [{ name: "knot", usage: "", summary: "Ties." }],
  },
  dispatcher: { stopAnywhere: () => Promise.resolve(false) },
  inbox: { open: () => Promise.resolve([]) },
};
const PLACE = { agentId: "main", sessionKey: "a", cwd: "/" };

async function answerTo(name: string): Promise<string> {
  const answer = await runCommand(PARTS, PLACE, { name, rest: "" });
  return "text" in answer ? answer.text : answer.work.kind;
}

test("a channel answers each command that its help lists, and the help lists each that is offered there", async () => {
  const help = await answerTo("help");
  const offered = commandsOf("channel").map(({ name }) => name);
  assert.deepEqual(
    [...help.matchAll(/^\/(\w+)/gm)].map(([, name]) => name),
    [...offered, "knot"],
  );
  for (const name of [...offered, "knot"]) assert.doesNotMatch(await answerTo(name), /There is no command/);
});

test("a command that a channel does not offer is answered with those that it does", async () => {
  assert.match(await answerTo("output"), /^There is no command \/output\.\n\/new: /);
});
