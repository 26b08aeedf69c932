/** Parallel turns on one agent, and agents that end, answer or report at the wrong time. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { TurnEvent } from "../../../packages/contract/src/host/events.ts";
import type { Pagurus } from "../../../packages/contract/src/host/host.ts";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import {
  AGENT,
  answer,
  bench,
  failure,
  hostOf,
  isAlive,
  noted,
  prompts,
  setUp,
  started,
  tearDown,
  turn,
} from "./agent-bench.ts";
import { longTest } from "../../runner/long-tests.ts";
import { until } from "../../runner/until.ts";

function toolMessages(events: readonly TurnEvent[]): string[] {
  const messages = events.flatMap((event) => (event.type === "message" ? [event.message] : []));
  return messages.flatMap((message: AgentMessage) => {
    if (message.role === "toolResult") return [`result ${message.toolCallId} ${wordsOf(message.content)}`];
    if (message.role !== "assistant") return [];
    return message.content.flatMap((part) => (part.type === "toolCall" ? [`call ${part.id}`] : []));
  });
}

function wordsOf(content: readonly { type: string; text?: string }[]): string {
  return content.map(({ text }) => text ?? "").join("");
}

describe("two turns on one process of an agent", () => {
  beforeEach(setUp);
  afterEach(tearDown);
  longTest(
    "do not receive each other's updates; one that answers its cancel with an error does not end the other",
    async () => {
      const host = await hostOf({ way: "rude" });
      const key = (name: string): { sessionKey: string } => ({ sessionKey: `agent:main:${name}` });
      let abortFirst = (): void => undefined;
      const first = turn(host, "Now !hang", key("one"), (event, abort) => {
        if (event.type === "text.delta") abortFirst = abort;
      });
      await until(() => prompts().length === 1);
      const second = await turn(host, "Now !slow", key("two"), (event) => {
        if (event.type === "text.delta") abortFirst();
      });
      assert.equal(answer(second), "Slowly done.");
      const last = (await first).at(-1);
      assert.equal(last?.type === "turn.completed" && last.stopReason, "aborted");
      assert.equal(started().length, 1);
    },
  );
});

describe("an agent that ends", () => {
  beforeEach(setUp);
  afterEach(tearDown);
  longTest("right after its handshake is started no more than twice", { timeout: 120_000 }, async () => {
    const { code, message } = failure(await turn(await hostOf({ way: "quits" }), "Hello?"));
    assert.equal(code, "runtime_failed");
    assert.match(message, /ended with code 5/);
    assert.ok(started().length <= 2, String(started().length));
  });

  longTest(
    "in any phase: the turn fails with its last output, and the next one gets the whole conversation once",
    async () => {
      for (const [phase, prompt] of [
        ["session/new", "Second."],
        ["session/load", "Second."],
        ["session/cancel", "Now !hang"],
      ] as const) {
        const first = await hostOf({ way: "loads" });
        const sessionKey = `agent:main:${phase.replace("/", "-")}`;
        assert.match(answer(await turn(first, "First.", { sessionKey })), /^Heard/);
        await first.close();
        const isNew = phase === "session/new" ? { cwd: tmpdir() } : {};
        const broken = await hostOf({ way: `dies at ${phase}` });
        const events = await turn(
          broken,
          prompt,
          { sessionKey, ...isNew },
          (event, abort) => event.type === "text.delta" && abort(),
        );
        const last = events.at(-1);
        if (phase === "session/load") assert.match(answer(events), /^Heard/, "a new one is begun");
        else if (phase === "session/cancel")
          assert.equal(last?.type === "turn.completed" && last.stopReason, "aborted");
        else assert.match(failure(events).message, /out of rope/, phase);
        await broken.close();
        const third = await hostOf({ way: "loads" });
        assert.match(answer(await turn(third, "Third.", { sessionKey })), /^Heard/, phase);
        const texts = prompts().map((each) => each.join("\n"));
        const sent = texts.findLast((words) => words.includes("First.")) ?? "";
        assert.equal(sent.split("First.").length, 2, phase);
        await third.close();
      }
    },
  );

  longTest(
    "after a message over the limit does so with a sentence; 12 MB are accepted",
    { timeout: 120_000 },
    async () => {
      const host = await hostOf();
      assert.equal(answer(await turn(host, "Now !large")).length, 12_000_000);
      const { code, message } = failure(await turn(host, "Now !endless"));
      assert.equal(code, "runtime_failed");
      assert.match(message, /wrote a message of more than 64 MB and was ended/);
      assert.match(answer(await turn(host, "Go on.", { sessionKey: "agent:main:b" })), /^Heard/);
    },
  );

  it("during a permission prompt withdraws the prompt", { timeout: 120_000 }, async () => {
    let isTakenBack = false;
    const askPermission = async ({ signal }: { signal: AbortSignal }): Promise<"deny"> => {
      await once(signal, "abort");
      isTakenBack = true;
      return "deny";
    };
    const host = await hostOf({ permission: "ask", more: { askPermission } });
    assert.match(failure(await turn(host, "Now !quit")).message, /ended with code 4/);
    await until(() => isTakenBack);
    assert.equal(answer(await turn(host, "Go on.")), "Heard 4.");
  });

  longTest(
    "does so with its host in whatever way that ends, also when it ignores the end of its input",
    async () => {
      const agentProcess = new URL("../../../packages/runtimes/src/acp/acp-process.ts", import.meta.url);
      const script = `
      import { AgentProcess } from ${JSON.stringify(agentProcess.href)};
      const entry = { command: process.execPath, args: [${JSON.stringify(AGENT)}] };
      await AgentProcess.start({
        agent: { id: "mine", label: "Mine", entry, known: undefined },
        env: { PATH: process.env.PATH, AGENT_WAY: "deaf", AGENT_LOG: ${JSON.stringify(bench.logFile)} },
        clientVersion: "1", signal: new AbortController().signal, warn: () => undefined,
      });
      process.kill(process.pid, "SIGKILL");`;
      const host = spawn(process.execPath, ["--input-type=module-typescript", "-e", script], {
        stdio: "inherit",
      });
      const [, signal] = (await once(host, "exit")) as [number | null, string | null];
      assert.equal(signal, "SIGKILL");
      assert.equal(started().length, 1);
      await until(() => !started().some(isAlive));
    },
  );
});

describe("an agent's calls", () => {
  beforeEach(setUp);
  afterEach(tearDown);
  it("with a reused id are two, one without an id is skipped, one that never ends gets an end", async () => {
    const host = await hostOf();
    const events = await turn(host, "Now !calls");
    assert.equal(answer(events), "Called.");
    const unknown = "The turn ended before this tool call finished; its outcome is unknown.";
    assert.deepEqual(toolMessages(events), [
      "call t",
      "result t one",
      "call t-1",
      "result t-1 two",
      "call open",
      `result open ${unknown}`,
    ]);
    const next = await turn(host, "Now !late");
    assert.equal(answer(next), "Went on.");
    assert.deepEqual(toolMessages(next), [], "updates of an earlier turn are not part of this one");
  });

  longTest("that wait for permission at the same time are each decided", async () => {
    const asked: string[] = [];
    const host = await hostOf({
      permission: "ask",
      more: {
        askPermission: async ({ summary }) => {
          asked.push(summary);
          return summary.includes("a.txt") ? "once" : "deny";
        },
      },
    });
    assert.equal(answer(await turn(host, "Now !both")), "yes no");
    assert.equal(asked.length, 2);
  });
});

describe("a session that the agent keeps", () => {
  beforeEach(setUp);
  afterEach(tearDown);
  const lastPrompt = (): string => prompts().at(-1)?.join("\n") ?? "";

  it("continues after a turn that failed for lack of a login", async () => {
    const host = await hostOf();
    await turn(host, "First.");
    failure(await turn(host, "Now !login"));
    await turn(host, "Third.");
    assert.deepEqual(prompts().at(-1), ["Third."]);
    assert.equal(noted().filter((each) => "new" in each).length, 1);
  });

  longTest(
    "is replaced when input of an aborted turn had not reached it: nothing is missing or duplicated",
    async () => {
      const host = await hostOf();
      await turn(host, "First.");
      const run = host.run({ prompt: "Now !hang", cwd: bench.root });
      for await (const event of run) {
        if (event.type === "text.delta") run.steer("And this too.");
        if (event.type === "steered") run.abort();
      }
      await turn(host, "Third.");
      for (const part of ["First.", "Now !hang", "And this too.", "Third."])
        assert.equal(lastPrompt().split(part).length, 2, part);
    },
  );

  longTest(
    "is loaded by an agent that replays it even after its response: the replay is not part of the turn",
    async () => {
      const first = await hostOf({ way: "loads-late" });
      await turn(first, "First.");
      await first.close();
      const again = await hostOf({ way: "loads-late" });
      assert.equal(answer(await turn(again, "Now !slow")), "Slowly done.");
      assert.equal(noted().filter((each) => "load" in each).length, 1);
    },
  );

  it("is replaced after an abort, also when the agent does not answer its settings", async () => {
    const host = await hostOf({ way: "modes", entry: { mode: "careful" } });
    const run = host.run({ prompt: "Hello?", cwd: bench.root });
    const going = (async () => {
      for await (const event of run) if (event.type === "turn.completed") return event.stopReason;
      return "failed";
    })();
    await until(() => noted().some((each) => "mode" in each));
    const at = performance.now();
    run.abort();
    assert.equal(await going, "aborted");
    assert.ok(performance.now() - at < 10_000, "a setting is waited for 15 s");
  });

  longTest("is closed after its start when no caller waits for it any more", async () => {
    const host: Pagurus = await hostOf({ way: "closes" });
    const run = host.run({ prompt: "Hello?", cwd: bench.root });
    const going = (async () => {
      const events: TurnEvent[] = [];
      for await (const event of run) events.push(event);
      return events;
    })();
    await until(() => noted().some((each) => "begun" in each));
    run.abort();
    const last = (await going).at(-1);
    assert.equal(last?.type === "turn.completed" && last.stopReason, "aborted");
    await until(() => noted().some((each) => "close" in each));
  });
});
