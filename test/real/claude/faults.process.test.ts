/** Claude Code is killed in each phase of a turn: one clear sentence, and the session continues, nothing lost, nothing twice. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { after, before, describe, it } from "node:test";
import type { TurnEvent } from "../../../packages/contract/src/host/events.ts";
import type { Pagurus } from "../../../packages/contract/src/host/host.ts";
import type { ReplyStep } from "../../servers/server.ts";
import { ClaudeBench, conversation } from "./claude-bench.ts";
import { until } from "../../runner/until.ts";

const DIED = /^Claude Code ended by SIGKILL\. What was done .* starts Claude Code again\.$/;
const NOT_STARTED = /^Claude Code did not start: Claude Code ended by SIGKILL\. .*$/;
const UNKNOWN = "The turn ended before this tool call finished; its outcome is unknown.";
const HOST = fileURLToPath(new URL("../codex/faults-host.child.ts", import.meta.url));

let bench: ClaudeBench;
let pagurus: Pagurus;
let reply: () => ReplyStep = () => ({ text: "Fine." });
let onAsked: () => unknown = () => undefined;

before(async () => {
  bench = await ClaudeBench.with(() => reply());
  pagurus = await bench.host({
    permission: "ask",
    more: {
      askPermission: async () => {
        await onAsked();
        return "once";
      },
      plugins: {
        deadly: (api) =>
          api.registerTool({
            name: "deadly",
            description: "Kills Claude Code.",
            parameters: { type: "object", properties: {} },
            execute: async () => {
              kill();
              await bench.nothingLeft();
              return { content: [{ type: "text", text: "It was done." }], isError: false };
            },
          }),
      },
    },
  });
});

after(async () => {
  await bench.end();
  await bench.nothingLeft();
});

function kill(): void {
  for (const pid of bench.programs()) process.kill(pid, "SIGKILL");
}

interface Phase {
  when: string;
  reply?: () => ReplyStep;
  on?: (event: TurnEvent) => unknown;
  asked?: () => unknown;
  /** This turn's lines in the next turn's request, its prompt first; an unanswered input is taken back. */
  keeps?: (string | RegExp)[];
  sentence?: RegExp;
  /** No program runs when the turn begins. */
  isCold?: boolean;
}

function bash(command: string): ReplyStep {
  return { text: "I look.", toolCalls: [{ id: "toolu_1", name: "Bash", arguments: { command } }] };
}

const CALLED = ["user: Go on.", "assistant: I look."];

const PHASES: Phase[] = [
  {
    when: "while it starts",
    isCold: true,
    on: (event) => event.type === "model.request" && until(() => bench.programs().length > 0).then(kill),
    sentence: NOT_STARTED,
  },
  {
    when: "before the model's first byte",
    reply: () => {
      kill();
      return { hangAfterChunks: 0 };
    },
  },
  {
    when: "while text streams in",
    reply: () => ({ text: "Half of it is said.", hangAfterChunks: 8, chunkSize: 6 }),
    on: (event) => event.type === "text.delta" && kill(),
    keeps: ["user: Go on.", /^assistant: Half/],
  },
  {
    when: "while a tool of the host runs",
    reply: () => ({
      text: "I look.",
      toolCalls: [{ id: "toolu_1", name: "mcp__pagurus__deadly", arguments: {} }],
    }),
    keeps: [...CALLED, "call mcp__pagurus__deadly toolu_1", `result toolu_1 ${UNKNOWN}`],
  },
  {
    when: "while a command of its own runs",
    reply: () => bash(`trap '' HUP TERM; touch ${bench.root}/begun; sleep 300; sleep 300`),
    on: (event) =>
      event.type === "tool.started" && until(() => existsSync(join(bench.root, "begun"))).then(kill),
    keeps: [...CALLED, "call Bash toolu_1", `result toolu_1 ${UNKNOWN}`],
  },
  {
    when: "while a permission is asked for",
    reply: () => bash("echo never"),
    asked: kill,
    keeps: [...CALLED, "call Bash toolu_1", `result toolu_1 ${UNKNOWN}`],
  },
];

describe("A turn in which Claude Code is killed", { timeout: 240_000 }, () => {
  for (const [index, phase] of PHASES.entries())
    it(`${phase.when} fails in one sentence, and the next one has the whole conversation, once`, async () => {
      const sessionKey = `killed-${index}`;
      if (phase.isCold !== true) {
        reply = () => ({ text: "Ready." });
        await bench.ask(pagurus, "Are you ready?", { sessionKey });
      } else {
        kill();
        await bench.nothingLeft();
      }
      reply = phase.reply ?? (() => ({ text: "Fine." }));
      onAsked = phase.asked ?? (() => undefined);
      const events: TurnEvent[] = [];
      for await (const event of pagurus.run({ prompt: "Go on.", cwd: bench.cwd, sessionKey })) {
        events.push(event);
        await phase.on?.(event);
      }
      const last = events.at(-1);
      assert.equal(last?.type, "turn.failed", JSON.stringify(last));
      assert.equal(last.error.code, "runtime_failed");
      assert.match(last.error.message, phase.sentence ?? DIED);
      await bench.nothingLeft();
      reply = () => ({ text: "Fine." });
      await bench.ask(pagurus, "And now?", { sessionKey });
      const ready = phase.isCold === true ? [] : ["user: Are you ready?", "assistant: Ready."];
      const shown = conversation(bench.request(-1));
      const expected = [...ready, ...(phase.keeps ?? []), "user: And now?"];
      assert.equal(shown.length, expected.length, JSON.stringify(shown));
      for (const [at, line] of expected.entries())
        if (typeof line === "string") assert.equal(shown[at], line);
        else assert.match(shown[at] ?? "", line);
    });

  it("between turns goes unnoticed", async () => {
    reply = () => ({ text: "Fine." });
    await bench.ask(pagurus, "One?", { sessionKey: "between" });
    kill();
    await bench.ask(pagurus, "Two?", { sessionKey: "between" });
    assert.deepEqual(conversation(bench.request(-1)), ["user: One?", "assistant: Fine.", "user: Two?"]);
  });
});

describe("A host that is killed", { timeout: 240_000 }, () => {
  const PLACES: { when: string; reply: () => ReplyStep; lineType: string }[] = [
    {
      when: "while text streams in",
      reply: () => ({ text: "Half of it is said.", hangAfterChunks: 8, chunkSize: 6 }),
      lineType: "text.delta",
    },
    {
      when: "while a command runs",
      reply: () => bash(`trap '' HUP TERM; sleep 300`),
      lineType: "tool.started",
    },
    {
      when: "while its own tool runs",
      reply: () => ({ toolCalls: [{ id: "toolu_1", name: "mcp__pagurus__slow", arguments: {} }] }),
      lineType: "called",
    },
  ];
  for (const [index, place] of PLACES.entries())
    it(`${place.when} leaves no process, and the session continues in another`, async () => {
      await pagurus.close();
      await bench.nothingLeft();
      reply = place.reply;
      const sessionKey = `host-${index}`;
      const request = { prompt: "Go on.", cwd: bench.cwd, sessionKey };
      const order = { home: join(bench.root, "home"), config: bench.config(), request };
      const child = spawn(process.execPath, [HOST, JSON.stringify(order)], {
        env: { ...bench.env } as NodeJS.ProcessEnv,
        stdio: ["ignore", "pipe", "inherit"],
      });
      for await (const line of createInterface({ input: child.stdout }))
        if ((JSON.parse(line) as { type: string }).type === place.lineType) child.kill("SIGKILL");
      await bench.nothingLeft();
      pagurus = await bench.host();
      reply = () => ({ text: "Fine." });
      await bench.ask(pagurus, "And now?", { sessionKey });
      const shown = conversation(bench.request(-1));
      assert.equal(shown.filter((line) => line === "user: And now?").length, 1);
      await pagurus.close();
      const kept = readdirSync(join(bench.root, "home", "runtimes", "claude"), { recursive: true }).map(
        String,
      );
      assert.deepEqual(
        kept.filter((name) => /\.jsonl$|^(?:prompts|scratch|session-env)\/./.test(name)),
        [],
        "no words are left on the disk",
      );
    });
});
