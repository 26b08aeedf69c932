/** Turns on two real agents: a tool, a permission request, a cancel, a load; with the agents' side calls. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { TurnEvent } from "../../../packages/contract/src/host/events.ts";
import type { PermissionQuestion } from "../../../packages/contract/src/host/run.ts";
import type { ReplyStep } from "../../servers/server.ts";
import { AcpBench, count, lines, NOTE, userTexts, type AgentName } from "./acp-bench.ts";

/** A command for which both agents request permission: it writes outside the sandbox. */
function shellCall(agent: AgentName, id: string, file: string): ReplyStep {
  const command = `echo wet > ${file}`;
  const asks = { sandbox_permissions: "require_escalated", justification: "May I write the file?" };
  const call =
    agent === "claude"
      ? { name: "Bash", arguments: { command, description: "Writes a file." } }
      : { name: "exec_command", arguments: { cmd: command, ...asks } };
  return { text: "I write.", toolCalls: [{ id, ...call }] };
}

function completed(events: readonly TurnEvent[]): Extract<TurnEvent, { type: "turn.completed" }> {
  const last = events.at(-1);
  assert.ok(last?.type === "turn.completed", JSON.stringify(last));
  return last;
}

for (const agent of ["claude", "codex"] as const) {
  describe(`the agent ${agent}`, () => {
    let bench: AcpBench;
    /** Answers of the model, by the user's last message. */
    const answers = new Map<string, ReplyStep[]>();
    before(async () => {
      bench = await AcpBench.with(agent, (request) => {
        const words = userTexts(request).join("\n");
        const latest = [...answers.keys()].toSorted((a, b) => words.lastIndexOf(b) - words.lastIndexOf(a))[0];
        return answers.get(latest ?? "")?.shift() ?? { text: "Nothing more." };
      });
    });
    after(() => bench.end());

    it("makes a host's tool call, asks before it writes, and continues in its session; side calls have no effect", async () => {
      const questions: PermissionQuestion[] = [];
      answers.set("Look at the harbour.", [
        { text: "I look.", toolCalls: [bench.noteCall("call_1", "quay")] },
        shellCall(agent, "call_2", "allowed.txt"),
        shellCall(agent, "call_3", "denied.txt"),
        { text: "The quay is wet." },
      ]);
      answers.set("And the berth?", [{ text: "The berth is dry." }]);
      const pagurus = await bench.host({
        permission: "ask",
        more: {
          askPermission: async (question) => {
            questions.push(question);
            return question.summary.includes("denied") ? "deny" : "once";
          },
        },
      });
      const events = await bench.ask(pagurus, "Look at the harbour.");
      assert.deepEqual(bench.notes, ["quay"]);
      assert.deepEqual(
        [existsSync(join(bench.cwd, "allowed.txt")), existsSync(join(bench.cwd, "denied.txt"))],
        [true, false],
      );
      assert.deepEqual(
        questions.map(({ toolName }) => toolName),
        [NOTE, "shell", "shell"],
      );
      const third = bench.main(3);
      assert.equal(count(third, "noted quay"), 1, "the tool's result reached the model");
      assert.equal(count(third, "Look at the harbour."), 1);

      await bench.ask(pagurus, "And the berth?");
      const request = bench.main(-1);
      for (const expected of [
        "Look at the harbour.",
        "I look.",
        "noted quay",
        "The quay is wet.",
        "And the berth?",
      ])
        assert.equal(count(request, expected), 1, expected);
      assert.doesNotMatch(
        userTexts(request).join("\n"),
        /conversation_context/,
        "kept as native history, not sent as text",
      );

      assert.deepEqual(
        lines(bench.transcript(pagurus)).map((line) =>
          line.replace(/(call \w+|toolResult: (?!noted)).*/s, "$1"),
        ),
        [
          "user: Look at the harbour.",
          `assistant: I look. | call ${NOTE}`,
          "toolResult: noted quay",
          agent === "claude" ? "assistant: I write. | call Bash" : "assistant: I write. | call exec_command",
          "toolResult: ",
          // Codex reports a call's name when it runs.
          agent === "claude" ? "assistant: I write. | call Bash" : "assistant: I write. | call execute",
          "toolResult: ",
          "assistant: The quay is wet.",
          "user: And the berth?",
          "assistant: The berth is dry.",
        ],
      );
      const results = bench
        .transcript(pagurus)
        .flatMap((each) => (each.role === "toolResult" ? [each.isError] : []));
      assert.deepEqual(results, [false, false, true]);
      assert.ok(!lines(bench.transcript(pagurus)).some((line) => line.includes("A title")));
      if (agent === "claude")
        assert.ok(bench.server.requests.length > bench.mains.length, "it asks for a title");
      else assert.equal(bench.server.requests.length, bench.mains.length, "it gets the title");
      const { seam, runtime, runtimeReason } = completed(events);
      assert.deepEqual([seam, runtime, runtimeReason?.agentId], ["projection", "acp", agent]);
      assert.ok(events.every(({ type }) => type !== "context.degraded"));
      await pagurus.close();
    });

    it("resumes its session after a restart of the host, and sends nothing twice", async () => {
      answers.set("What did you note?", [{ text: "The word quay." }]);
      const pagurus = await bench.host({ permission: "ask" });
      const before = (await pagurus.native.status({ runtime: "acp" })).boundTo;
      const events = await bench.ask(pagurus, "What did you note?");
      assert.equal((await pagurus.native.status({ runtime: "acp" })).boundTo, before);
      assert.ok(!events.some((event) => event.type === "notice" && event.kind === "acp_session"));
      const request = bench.main(-1);
      for (const expected of [
        "Look at the harbour.",
        "I look.",
        "noted quay",
        "The quay is wet.",
        "The berth is dry.",
        "What did you note?",
      ])
        assert.equal(count(request, expected), 1, expected);
      assert.doesNotMatch(userTexts(request).join("\n"), /conversation_context/);
      await pagurus.close();
    });

    it("ends at a cancel, keeps its text so far, and sends the conversation once in a new session", async () => {
      answers.set("Tell a long story.", [
        {
          text: "Once upon a time there was a quay.",
          chunkSize: 8,
          hangAfterChunks: agent === "claude" ? 7 : 9,
        },
      ]);
      answers.set("Go on.", [{ text: "And it was wet." }]);
      const pagurus = await bench.host({ permission: "ask" });
      const before = (await pagurus.native.status({ runtime: "acp" })).boundTo;
      let text = "";
      const events = await bench.turn(pagurus, "Tell a long story.", {}, (event, abort) => {
        if (event.type === "text.delta") text += event.delta;
        if (text.startsWith("Once upon")) abort();
      });
      assert.equal(completed(events).stopReason, "aborted");
      const kept = lines(bench.transcript(pagurus)).at(-1) ?? "";
      assert.match(kept, /^assistant: Once upon/);
      await bench.ask(pagurus, "Go on.");
      assert.notEqual((await pagurus.native.status({ runtime: "acp" })).boundTo, before);
      const request = bench.main(-1);
      for (const expected of [
        "Look at the harbour.",
        "I look.",
        "noted quay",
        "The quay is wet.",
        "What did you note?",
        "Tell a long story.",
        "Once upon",
        "Go on.",
      ])
        assert.equal(count(request, expected), 1, expected);
      const contextText = userTexts(request).find((words) => words.includes("<conversation_context>")) ?? "";
      assert.match(contextText, /\[user\]\\?\n?Look at the harbour\./);
      assert.match(contextText, /\[assistant\]\nThe quay is wet\./);
      await pagurus.close();
    });
  });
}
