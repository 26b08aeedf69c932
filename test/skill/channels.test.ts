/** Custom commands, skills and plans in each channel. */
import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import {
  commandRows,
  expandLine,
  isCommand,
  runCommand,
} from "../../packages/host/src/command/host-command.ts";
import { ChatScreen } from "../../packages/cli/src/chat/chat-screen.ts";
import { ToolOutputs } from "../../packages/cli/src/chat/tool-outputs.ts";
import type { TurnEvent } from "../../packages/contract/src/host/events.ts";
import { commandReport, expandCommand } from "../../packages/host/src/skill/custom-commands.ts";
import { skillReport } from "../../packages/host/src/skill/section.ts";
import { command, fakeCli } from "../cli/fake-cli.ts";
import { completed, FakePagurus, statusReport, type Script } from "../cli/fake-pagurus.ts";
import { SkillPlace } from "./place.ts";
import { turns } from "../runner/loop-turns.ts";

const echo = async function* (request: { prompt: string }): AsyncGenerator<TurnEvent> {
  yield { type: "text.delta", delta: `[${request.prompt}]` };
  yield completed;
};

/** A host with the command files and skills of `place`. */
function script(place: SkillPlace, more: Script = {}): Script {
  return {
    turns: [echo],
    skills: skillReport(place),
    customCommands: {
      list: () => Promise.resolve(commandReport(place)),
      expand: ({ name, args }) => Promise.resolve(expandCommand(place, name, args ?? "")),
    },
    ...more,
  };
}

function fourCommands(place: SkillPlace): void {
  place.write("home/commands/review.md", "---\nargument-hint: <file>\nmodel: test/small\n---\nReview $1.");
  place.write("home/commands/git/push_2.md", "Push it.");
  place.write("home/commands/status.md", "Not this one.");
  place.write("home/commands/knot.md", "Nor this.");
}

test("commands of the host and of plugins take precedence over command files, and that is reported", async (t) => {
  const place = new SkillPlace(t);
  fourCommands(place);
  const pagurus = new FakePagurus(script(place, { commands: { knot: () => "tied" } }));
  const where = { pagurus, sessionKey: "main", agentId: "main", cwd: "/" };
  assert.match((await runCommand("/status", where)).text, /^Home:/);
  assert.equal((await runCommand("/knot", where)).text, "tied");
  assert.equal(await expandLine("/status", where), undefined);
  const { text } = await runCommand("/help", where);
  assert.match(text, /^\/review <file> +Review \$1\.$/m);
  assert.equal(text.match(/^\/(status|knot) /gm)?.length, 2);
  assert.match((await runCommand("/reviev x", where)).text, /Did you mean \/review\?/);
  const names = (await commandRows(where)).map(({ name }) => `/${name}`);
  assert.equal(new Set(names).size, names.length);
  assert.ok(names.includes("/git:push_2") && names.includes("/plan") && names.includes("/knot"));
  const { out } = await command(["commands", "list"], { pagurus });
  assert.match(out, /^· status: The host's own \/status takes precedence\.$/m);
  assert.match(out, /^· knot: A plugin's \/knot takes precedence\.$/m);
  assert.match(out, /^\/review <file> +offered +Review \$1\. +\//m);
  for (const line of ["/git:push_2", "/a1 x"]) assert.ok(isCommand(line), line);
  for (const line of ["/a:", "/a::b", "/a/b"]) assert.equal(isCommand(line), false, line);
});

test("in a chat the file's text is the input of a turn, with its model unless the user has chosen one", async (t) => {
  const place = new SkillPlace(t);
  fourCommands(place);
  const env = { PAGURUS_HOME: "/nowhere/pagurus" };
  const input = "/review a.ts\n/Git:push_2 now\n/model ollama/b\n/review b.ts\n";
  const { pagurus, out } = await command(["chat"], { input, env, script: script(place) });
  assert.deepEqual(
    pagurus.requests.map(({ prompt, model }) => [prompt, model]),
    [
      ["Review a.ts.", "test/small"],
      ["Push it.\n\nARGUMENTS: now", undefined],
      ["Review b.ts.", "ollama/b"],
    ],
  );
  assert.match(out, /^\[Review a\.ts\.\]$/m);
});

test("pagurus run accepts a command file's name as its prompt; any other prompt is unchanged", async (t) => {
  const place = new SkillPlace(t);
  fourCommands(place);
  const asked = async (...argv: string[]): Promise<unknown[]> => {
    const { pagurus } = await command(["run", ...argv], { script: script(place) });
    return pagurus.requests.map(({ prompt, model }) => [prompt, model]);
  };
  assert.deepEqual(await asked("/review x.ts"), [["Review x.ts.", "test/small"]]);
  assert.deepEqual(await asked("--model", "test/mine", "/review x.ts"), [["Review x.ts.", "test/mine"]]);
  assert.deepEqual(await asked("/status"), [["/status", undefined]]);
  assert.deepEqual(await asked("/unknown x"), [["/unknown x", undefined]]);
});

test("the tab key completes names of commands and nothing after them", async (t) => {
  const place = new SkillPlace(t);
  fourCommands(place);
  const pagurus = new FakePagurus(script(place));
  const lines: string[] = [];
  const cli = fakeCli({ env: { NO_COLOR: "1" } });
  const stdout = Object.assign(new PassThrough(), { isTTY: true, columns: 80 });
  const screen = new ChatScreen(
    { ...cli, stdout },
    {
      line: (text) => lines.push(text),
      later: () => undefined,
      open: () => undefined,
      interrupt: () => undefined,
      escape: () => false,
      takeBack: () => undefined,
      nextMode: () => undefined,
      nextThinking: () => undefined,
      rewind: () => undefined,
      end: () => undefined,
    },
    {
      notifyCompactions: true,
      outputs: new ToolOutputs(),
      commands: async () => {
        const rows = await commandRows({ pagurus, agentId: "main", cwd: "/" });
        return rows.map(({ name }) => `/${name}`);
      },
    },
  );
  screen.prompt();
  for (const keys of ["/gi", "\t", " x", "\t", "\r", "pl", "\t", "\r", "/REV", "\t", "\r"]) {
    (cli.stdin as unknown as PassThrough).write(keys);
    await turns();
  }
  screen.close();
  assert.deepEqual(lines, ["/git:push_2 x", "pl", "/review"]);
});

test("pagurus skills list shows which skills the model sees and why others are left out", async (t) => {
  const place = new SkillPlace(t);
  assert.match((await command(["skills", "list"], { script: script(place) })).out, /^No skills; /);
  place.skill("home/skills", "good", "Good\u001b[31m for much.");
  place.write("home/skills/bad/SKILL.md", "x");
  const { out } = await command(["skills", "list"], { script: script(place) });
  assert.match(out, /^good +offered +Good \[31m for much\. +\/.*\/good\/SKILL\.md$/m);
  assert.match(out, /^✗ bad: .*bad\/SKILL\.md is not used: it does not begin with front matter/m);
  assert.match(out, /^The list in a turn's instructions takes \d\d tokens, estimated\.$/m);
  const json = await command(["skills", "list", "--json"], { script: script(place) });
  assert.deepEqual(JSON.parse(json.out), skillReport(place));
});

test("a plan is shown when it changes, by /plan and in the status", async () => {
  const steps = [
    { step: "look", status: "completed" as const },
    { step: "write\nit", status: "inProgress" as const },
  ];
  const args = { plan: [] };
  const turn: TurnEvent[] = [
    { type: "tool.started", toolCallId: "p", toolName: "update_plan", arguments: args },
    { type: "plan.updated", explanation: "In two.", steps },
    {
      type: "tool.completed",
      toolCallId: "p",
      toolName: "update_plan",
      outcome: { content: [{ type: "text", text: "seen" }], isError: false },
    },
    { type: "text.delta", delta: "ok" },
    completed,
  ];
  const { err } = await command(["run", "go"], { script: { turns: [turn] } });
  assert.equal(err, "  In two.\n  [x] look\n  [>] write it\n");
  const plan = { turnId: "t", timestamp: "2026-01-02T03:04:05.000Z", steps };
  const pagurus = new FakePagurus({ status: statusReport({ plan }) });
  const where = { pagurus, sessionKey: "main", agentId: "main", cwd: "/" };
  assert.equal((await runCommand("/plan", where)).text, "[x] look\n[>] write it\n(2026-01-02 03:04:05)");
  assert.match((await runCommand("/status", where)).text, /^Plan: +1 of 2 steps done; now: write it$/m);
  const none = { ...where, pagurus: new FakePagurus() };
  assert.match((await runCommand("/plan", none)).text, /made no plan/);
});
