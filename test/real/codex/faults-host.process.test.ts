/** The host is killed in each phase of a turn on Codex: no process is left, and another host continues the session. */
import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, afterEach, before, describe, it } from "node:test";
import type { Pagurus } from "../../../packages/contract/src/host/host.ts";
import type { RunRequest } from "../../../packages/contract/src/host/run.ts";
import type { ReplyStep } from "../../servers/server.ts";
import { conversation } from "./codex-bench.ts";
import { FaultBench, type Expected } from "./fault-bench.ts";
import type { HostOrder } from "./faults-host.child.ts";
import type { TapRules } from "./tap.child.ts";
import { MAIN } from "../../runner/program.ts";
import { until } from "../../runner/until.ts";

interface Phase {
  when: string;
  /** The type of the line of the host at which it is killed. */
  at?: string;
  /** The last state of Codex, in which the host is killed. */
  tap?: TapRules["stop"];
  /** The reply to the turn's request, which may also be the moment. */
  reply?: (bench: FaultBench, kill: () => void) => ReplyStep;
  /** True once the moment has come, where a line comes too early. */
  until?: (bench: FaultBench) => boolean;
  request?: Partial<RunRequest>;
  /** Another runtime executed the turn before, so that no thread is bound. */
  isUnbound?: boolean;
  /** Lines of this turn in the next turn's request, after its prompt. */
  keeps?: Expected[];
}

const UNKNOWN = /^result call_1 /;

/** Makes Codex compact. */
const FULL = { input: 300_000, output: 20 };

function call(name: string, given: Record<string, unknown>): ReplyStep {
  return { text: "I look.", toolCalls: [{ id: "call_1", name, arguments: given }] };
}

const PHASES: Phase[] = [
  { when: "while Codex starts", tap: { at: "request", method: "initialize" } },
  {
    when: "after a thread was started",
    isUnbound: true,
    tap: { at: "answer", method: "thread/start" },
  },
  {
    when: "while history is injected",
    isUnbound: true,
    tap: { at: "request", method: "thread/inject_items" },
  },
  {
    when: "before the model's first byte",
    reply: (_bench, kill) => {
      kill();
      return { hangAfterChunks: 0 };
    },
  },
  {
    when: "while text streams in",
    at: "text.delta",
    reply: () => ({ text: "Half of it is said.", hangAfterChunks: 8, chunkSize: 6 }),
  },
  {
    when: "while a tool of the host runs",
    at: "called",
    reply: () => call("slow", {}),
    keeps: ["assistant: I look.", "call slow call_1", UNKNOWN],
  },
  {
    when: "while a command of Codex runs",
    at: "tool.started",
    reply: ({ root }) =>
      call("exec_command", { cmd: `trap '' HUP TERM; touch ${root}/begun; sleep 300; sleep 300` }),
    until: ({ root }) => existsSync(join(root, "begun")),
    keeps: ["assistant: I look.", "call exec_command call_1", UNKNOWN],
  },
  {
    when: "while an approval waits",
    at: "asked",
    reply: () => call("exec_command", { cmd: "touch a-file" }),
    request: { permission: "ask" },
    keeps: ["assistant: I look.", "call exec_command call_1", UNKNOWN],
  },
  {
    when: "after the last byte, before the turn is complete",
    at: "usage",
    tap: { at: "notification", method: "turn/completed" },
    until: ({ isTapped }) => isTapped,
    keeps: ["assistant: Answer."],
  },
];

describe("kill -9 of the host", () => {
  let bench: FaultBench;
  /** Another host, which continues the sessions. */
  let other: Pagurus;
  /** Processes of the other host. */
  let others: Set<number>;
  let reply: (() => ReplyStep) | undefined;
  const BEGUN = ["user: Begin.", "assistant: Answer."];

  /** Each phase in its own session. */
  before(async () => {
    bench = await FaultBench.with(() => {
      const step = reply?.() ?? { text: "Answer." };
      reply = undefined;
      return step;
    });
    other = await bench.host();
    const begin = (when: string, runtime = "codex"): Promise<unknown> =>
      bench.ask(other, "Begin.", { sessionKey: keyOf(when), runtime });
    await Promise.all([
      begin("program"),
      ...PHASES.map(({ when, isUnbound }) => begin(when, isUnbound ? "embedded" : "codex")),
    ]);
    await other.close();
    await bench.nothingLeft();
    other = await bench.host();
    await bench.ask(other, "Begin.", { sessionKey: "other" });
    others = new Set(bench.processes());
  });
  after(async () => {
    await other.close();
    try {
      await bench.nothingLeft();
    } finally {
      await bench.end();
    }
  });

  async function killed(ended: Promise<unknown>): Promise<void> {
    assert.equal(await ended, "SIGKILL");
    const left = (): number[] => bench.processes().filter((pid) => !others.has(pid));
    await until(
      () => left().length === 0,
      () => `left: ${left().join()}`,
    );
  }

  function start(phase: Phase): ChildProcess {
    const { tap, request, when } = phase;
    return startHost(bench, {
      home: join(bench.root, "home"),
      config: bench.config(tap ? { command: bench.tapped({ stop: tap }) } : {}),
      request: { prompt: "Go on.", cwd: bench.cwd, sessionKey: keyOf(when), ...request },
    });
  }

  for (const phase of PHASES) {
    const { when, at, tap, until: holds, keeps = [] } = phase;
    it(`${when} leaves no process, and another host continues`, async () => {
      let kill = (): void => undefined;
      reply = phase.reply && (() => phase.reply?.(bench, kill) ?? {});
      const host = start(phase);
      kill = () => void host.kill("SIGKILL");
      const ended = endOf(host);
      createInterface({ input: host.stdout ?? process.stdin }).on("line", (line) => {
        if ((JSON.parse(line) as { type: string }).type !== at) return;
        if (holds) void until(() => holds(bench), "the moment has come").then(kill);
        else kill();
      });
      if (tap && !at) await until(() => bench.isTapped, "the point was reached").then(kill);
      await killed(ended);
      const lines = [...BEGUN, "user: Go on.", ...keeps];
      const events = await bench.goesOn(other, lines, "And now?", keyOf(when));
      assert.ok(events.some((event) => event.type === "notice" && event.kind === "interrupted_turn"));
    });
  }

  it("in `pagurus run` leaves no process, and the next `pagurus run` continues", async () => {
    writeFileSync(join(bench.root, "home", "pagurus.json"), JSON.stringify(bench.config()));
    const run = (prompt: string): ChildProcess =>
      spawn(process.execPath, [MAIN, "run", "--json", "--session", "program", prompt], {
        cwd: bench.cwd,
        env: { ...childEnv(bench), PAGURUS_HOME: join(bench.root, "home") },
        stdio: ["ignore", "pipe", "inherit"],
      });
    reply = () => ({ text: "Half of it is said.", hangAfterChunks: 8 });
    const first = run("Go on.");
    const ended = endOf(first);
    first.stdout?.on("data", (text: Buffer) => text.includes("text.delta") && first.kill("SIGKILL"));
    await killed(ended);
    const second = run("And now?");
    second.stdout?.resume();
    assert.equal(await endOf(second), 0);
    const lines = [...BEGUN, "user: Go on.", "user: And now?", "assistant: Answer."];
    await bench.goesOn(other, lines, "And then?", "program");
  });
});

describe("kill -9 of the host inside a compaction", () => {
  let bench: FaultBench;
  afterEach(() => bench.end());

  /** Runs a host until it requests a summary, and has reported `awaited` if passed; there it is killed. */
  async function killedAt(
    order: Pick<HostOrder, "config" | "isCompaction">,
    summary: Summary,
    awaited?: string,
  ): Promise<void> {
    const request = { prompt: "Go on.", cwd: bench.cwd };
    const host = startHost(bench, { home: join(bench.root, "home"), request, ...order });
    const ended = endOf(host);
    let hasReported = awaited === undefined;
    createInterface({ input: host.stdout ?? process.stdin }).on("line", (line) => {
      hasReported ||= (JSON.parse(line) as { type: string }).type === awaited;
    });
    summary.asked = () =>
      void until(() => hasReported, "the host has reported it").then(() => host.kill("SIGKILL"));
    assert.equal(await ended, "SIGKILL");
    summary.asked = undefined;
    await bench.nothingLeft();
  }

  interface Summary {
    asked: (() => unknown) | undefined;
  }

  it("of the engine leaves no process, and another host compacts and continues", async () => {
    const long = "The keeper of the quay wrote down which ships had come. ".repeat(40);
    const summary: Summary = { asked: undefined };
    bench = await FaultBench.with((request, index) => {
      const isTurn = request.headers["x-codex-turn-metadata"] !== undefined;
      if (isTurn || !summary.asked) return { text: `Answer ${index}. ${isTurn ? long : ""}` };
      summary.asked();
      return { hangAfterChunks: 0 };
    });
    const first = await bench.host();
    for (const prompt of ["One?", "Two?", "Three?"]) await bench.ask(first, prompt);
    await first.close();
    await killedAt({ config: bench.config(), isCompaction: true }, summary);
    const second = await bench.host();
    await bench.ask(second, "Four?");
    assert.deepEqual(
      conversation(bench.request(-1)).filter((line) => line.startsWith("user:")),
      ["user: One?", "user: Two?", "user: Three?", "user: Four?"],
    );
    const { compacted, reason } = await second.compact({ cwd: bench.cwd });
    assert.equal(compacted, true, reason);
    await bench.ask(second, "Five?");
    const shown = conversation(bench.request(-1));
    assert.match(shown[0] ?? "", /^user: <conversation_summary>/);
    assert.equal(new Set(shown).size, shown.length, "nothing twice");
    assert.equal(shown.at(-1), "user: Five?");
  });

  it("of Codex, inside a turn, leaves no process, and another host continues with the whole conversation", async () => {
    const summary: Summary = { asked: undefined };
    bench = await FaultBench.with((request, index) => {
      if (index === 0) return { text: "Answer 0." };
      if (index === 1) return { ...call("exec_command", { cmd: "echo harbour" }), usage: FULL };
      if (summary.asked === undefined) return { text: `Answer ${index}.` };
      assert.match(String(request.headers["x-codex-turn-metadata"]), /"request_kind":"compaction"/);
      summary.asked?.();
      return { hangAfterChunks: 0 };
    });
    const first = await bench.host({ slot: "legacy" });
    await bench.ask(first, "Begin.");
    await first.close();
    await killedAt({ config: bench.config({ slot: "legacy" }) }, summary, "compaction.started");
    const second = await bench.host({ slot: "legacy" });
    await bench.goesOn(second, [
      "user: Begin.",
      "assistant: Answer 0.",
      "user: Go on.",
      "assistant: I look.",
      "call exec_command call_1",
      /^result call_1 [\s\S]*harbour/,
    ]);
  });
});

function startHost(bench: FaultBench, order: HostOrder): ChildProcess {
  const script = join(import.meta.dirname, "faults-host.child.ts");
  return spawn(process.execPath, [script, JSON.stringify(order)], {
    env: childEnv(bench),
    stdio: ["ignore", "pipe", "inherit"],
  });
}

/** The hosts of a bench load the same files, most of their time at the start. */
function childEnv(bench: FaultBench): NodeJS.ProcessEnv {
  return { ...bench.env, NODE_COMPILE_CACHE: join(bench.root, "cache") };
}

/** The signal, else the code. */
function endOf(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve) => child.once("exit", (code, signal) => resolve(signal ?? code)));
}

function keyOf(when: string): string {
  return when.replaceAll(/\W+/g, "-");
}
