/** Codex is killed in each phase of a turn: one clear sentence, and the session continues, nothing lost, nothing twice. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { TurnEvent } from "../../../packages/contract/src/host/events.ts";
import type { Pagurus } from "../../../packages/contract/src/host/host.ts";
import type { PluginRegister } from "../../../packages/contract/src/host/plugin.ts";
import type { RunRequest } from "../../../packages/contract/src/host/run.ts";
import type { ReplyStep } from "../../servers/server.ts";
import { failedWith, FaultBench, type Expected } from "./fault-bench.ts";
import type { TapRules } from "./tap.child.ts";
import { until } from "../../runner/until.ts";

const DIED = /^Codex ended by SIGKILL\. What was done .* starts Codex again\.$/;
const NOT_STARTED = /^Codex did not start \(`[^`]* app-server`\): Codex ended by SIGKILL\.$/;

interface Phase {
  when: string;
  /** Where the tap kills Codex; else the test does. */
  tap?: TapRules["kill"];
  /** The reply to the request of the turn in which Codex dies. */
  reply?: (bench: FaultBench) => ReplyStep;
  /** Called with each event of that turn. */
  on?: (event: TurnEvent, bench: FaultBench) => unknown;
  request?: Partial<RunRequest>;
  /** Lines of this turn in the next turn's request, its prompt first; an unanswered input is taken back. */
  keeps?: Expected[];
  sentence?: RegExp;
  /** Codex is not running when the turn begins. */
  isFirst?: boolean;
  /** Another runtime executed the turn before, so that no thread is bound. */
  isUnbound?: boolean;
}

function shell(cmd: string): ReplyStep {
  return { text: "I look.", toolCalls: [{ id: "call_1", name: "exec_command", arguments: { cmd } }] };
}

async function killed(bench: FaultBench): Promise<void> {
  bench.killCodex();
  await bench.nothingLeft();
}

/** A tool of the host that kills Codex while it runs. */
function deadlyTool(bench: () => FaultBench): PluginRegister {
  return (api) =>
    api.registerTool({
      name: "deadly",
      description: "Kills Codex.",
      parameters: { type: "object", properties: {} },
      execute: async () => {
        await killed(bench());
        return { content: [{ type: "text", text: "It was done." }], isError: false };
      },
    });
}

const UNKNOWN = "The turn ended before this tool call finished; its outcome is unknown.";

const PHASES: Phase[] = [
  {
    when: "while it starts",
    isFirst: true,
    tap: { at: "request", method: "initialize", pass: true },
    sentence: NOT_STARTED,
  },
  {
    when: "after a thread was started",
    isFirst: true,
    isUnbound: true,
    tap: { at: "answer", method: "thread/start", pass: true },
  },
  {
    when: "while history is injected",
    isFirst: true,
    isUnbound: true,
    tap: { at: "request", method: "thread/inject_items", pass: true },
  },
  {
    when: "while a thread is resumed",
    isFirst: true,
    tap: { at: "request", method: "thread/resume", pass: true },
  },
  {
    when: "while the turn is sent",
    isFirst: true,
    tap: { at: "request", method: "turn/start", pass: false },
  },
  {
    when: "before the model's first byte",
    reply: (bench) => {
      bench.killCodex();
      return { hangAfterChunks: 0 };
    },
  },
  {
    when: "while text streams in",
    reply: () => ({ text: "Half of it is said.", hangAfterChunks: 8, chunkSize: 6 }),
    on: (event, bench) => event.type === "text.delta" && bench.killCodex(),
    keeps: ["user: Go on.", /^assistant: Half/],
  },
  {
    when: "while a tool of the host runs",
    reply: () => ({ text: "I look.", toolCalls: [{ id: "call_1", name: "deadly", arguments: {} }] }),
    keeps: ["user: Go on.", "assistant: I look.", "call deadly call_1", `result call_1 ${UNKNOWN}`],
  },
  {
    when: "while a command of its own runs",
    // One that ignores SIGTERM.
    reply: ({ root }) => shell(`trap '' HUP TERM; touch ${root}/begun; sleep 300; sleep 300`),
    on: async (event, bench) => {
      if (event.type !== "tool.started") return;
      await until(() => existsSync(join(bench.root, "begun")), "the command has begun");
      assert.ok(bench.processes().length > bench.appServers().length, "the command runs");
      bench.killCodex();
    },
    keeps: ["user: Go on.", "assistant: I look.", "call exec_command call_1", `result call_1 ${UNKNOWN}`],
  },
  {
    when: "while an approval waits",
    reply: () => shell("touch a-file"),
    request: { permission: "ask" },
    keeps: ["user: Go on.", "assistant: I look.", "call exec_command call_1", `result call_1 ${UNKNOWN}`],
  },
  {
    when: "after the last byte, before the turn is complete",
    tap: { at: "notification", method: "turn/completed", pass: false },
    reply: () => ({ text: "All of it is said." }),
    keeps: ["user: Go on.", "assistant: All of it is said."],
  },
];

describe("kill -9 of Codex", () => {
  let bench: FaultBench;
  let pagurus: Pagurus;
  /** The phase of the running turn. */
  let current: Phase | undefined;
  const BEGUN = ["user: Begin.", "assistant: Answer."];

  /** Each phase in its own session. */
  before(async () => {
    bench = await FaultBench.with(() => {
      const reply = current?.reply;
      current = undefined;
      return reply?.(bench) ?? { text: "Answer." };
    });
    pagurus = await bench.host({
      command: bench.tapped(),
      more: {
        plugins: { deadly: deadlyTool(() => bench) },
        askPermission: async () => {
          await killed(bench);
          return "once";
        },
      },
    });
    const begin = (when: string, runtime = "codex"): Promise<unknown> =>
      bench.ask(pagurus, "Begin.", { sessionKey: keyOf(when), runtime });
    await Promise.all([
      begin("between"),
      begin("unnoticed"),
      ...PHASES.map(({ when, isUnbound }) => begin(when, isUnbound ? "embedded" : "codex")),
    ]);
  });
  after(async () => {
    await pagurus.close();
    try {
      await bench.nothingLeft();
    } finally {
      await bench.end();
    }
  });

  for (const phase of PHASES) {
    const { when, tap, on, keeps, isFirst = false, sentence = DIED } = phase;
    it(`${when} is one sentence, and the session continues`, async () => {
      const sessionKey = keyOf(when);
      if (isFirst && bench.processes().length > 0) await killed(bench);
      bench.tap(tap ? { kill: tap } : {});
      current = phase;
      const more = { sessionKey, ...phase.request };
      const events = await bench.turn(pagurus, "Go on.", (event) => on?.(event, bench), more);
      current = undefined;
      if (tap) assert.ok(bench.isTapped, "it was killed there");
      failedWith(events, "runtime_failed", sentence);
      await bench.nothingLeft();
      const isTakenBack = events.some(
        (event) => event.type === "notice" && event.kind === "input_taken_back",
      );
      assert.equal(isTakenBack, keeps === undefined);
      const lines = [...BEGUN, ...(keeps ?? [])];
      await bench.goesOn(pagurus, lines, isTakenBack ? "Go on." : "And now?", sessionKey);
    });
  }

  it("between two turns is not noticed: the next one restarts it", async () => {
    await bench.goesOn(pagurus, BEGUN, "Go on.", "between");
    bench.killCodex();
    await bench.goesOn(pagurus, [...BEGUN, "user: Go on.", "assistant: Answer."], "And now?", "between");
  });

  it("between two turns that is noticed only when the turn is sent is repaired in that turn", async () => {
    await bench.goesOn(pagurus, BEGUN, "Go on.", "unnoticed");
    bench.tap({ kill: { at: "request", method: "turn/start", pass: false } });
    const before = bench.server.requests.length;
    const lines = [...BEGUN, "user: Go on.", "assistant: Answer."];
    await bench.goesOn(pagurus, lines, "And now?", "unnoticed");
    assert.ok(bench.isTapped, "it was killed there");
    assert.equal(bench.server.requests.length, before + 1, "the model was asked once");
  });
});

function keyOf(when: string): string {
  return when.replaceAll(/\W+/g, "-");
}
