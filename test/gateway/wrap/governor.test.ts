import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { statusText } from "../../../packages/host/src/command/status-text.ts";
import type { ToolOutcome, ToolSet } from "../../../packages/contract/src/harness/tool.ts";
import { wrapTools } from "../../../packages/gateway/src/wrap/wrap-tools.ts";
import { answer, Played, request, result, user, WrapBench } from "./bench.ts";
import { turns } from "../../runner/loop-turns.ts";
import { until } from "../../runner/until.ts";

const wordsOf = ({ content }: ToolOutcome): string =>
  content.map((part) => (part.type === "text" ? part.text : "")).join("\n");

/** Whether a process holds the session as one with a turn. */
function isRunning(bench: WrapBench): boolean {
  const opened = bench.pagurus.sessions().openReader("work");
  try {
    return opened.runningIn !== undefined;
  } finally {
    opened.close();
  }
}

describe("a governor that follows the user's own program", () => {
  let bench: WrapBench;

  beforeEach(async () => {
    bench = new WrapBench();
    await bench.open();
  });
  afterEach(() => bench.end());

  it("begins a turn for each user input, and records the answers", async () => {
    const program = new Played(bench);
    assert.deepEqual(await program.asks(user("Hello.")), ["user: Hello."]);
    await program.isAnswered(answer("Hi."));
    await bench.governor.close();
    assert.deepEqual(bench.transcript(), ["user: Hello.", "assistant: Hi."]);
    const receipts = await bench.pagurus.context.receipts({ sessionKey: "work" });
    assert.deepEqual(
      receipts.map(({ seam, runtime, usage }) => [seam, runtime, usage?.totalTokens]),
      [["wire", "wire-played", 15]],
    );
  });

  it("status of the session has the program's state, not what the host would use (finding D8)", async () => {
    const program = new Played(bench);
    await program.asks(user("Hello."));
    await program.isAnswered(answer("Hi."));
    await bench.governor.close();
    const [receipt] = await bench.pagurus.context.receipts({ sessionKey: "work" });
    assert.ok(receipt);
    const report = await bench.pagurus.status({ sessionKey: "work", cwd: bench.cwd });
    const { model, tokenBudget } = receipt;
    assert.deepEqual(report.wrapped, { program: "played", runtime: "wire-played", model, tokenBudget });
    assert.deepEqual(
      [report.Runtime.id, report.seam, report.model.ref],
      ["wire-played", { usual: "wire" }, model],
    );
    assert.match(report.Execution, /^external: played, the user's own, under pagurus wire$/);
    const shown = statusText(report);
    assert.match(shown, /^Execution: +external: played, the user's own, under pagurus wire$/m);
    assert.ok(shown.includes(`${model} (the program's;`));
    assert.match(shown, /^Runtime: +wire-played$/m);
    for (const label of ["Permission", "Sandbox"])
      assert.match(shown, new RegExp(`^${label}: +the program's own$`, "m"));
  });

  it("has the engine's tools of the open turn, and none between turns", async () => {
    const { specs } = await bench.pagurus.native.tools({ runtime: "wire-played", cwd: bench.cwd });
    const names = specs.map(({ name }) => name);
    assert.ok(names.length > 0 && names.every((name) => name.startsWith("context_")), names.join(" "));
    const toolsOf = (callId: string): ToolSet | undefined => bench.governor.toolsFor(callId);
    const offered = wrapTools({ specs, fingerprint: "" }, toolsOf);
    const call = {
      type: "toolCall",
      id: "a",
      name: "context_search",
      arguments: { query: "heron" },
    } as const;
    const { signal } = new AbortController();
    assert.match(wordsOf(await offered.call(call, signal)), /No turn of this conversation/);
    const program = new Played(bench);
    await program.asks(user("The word is heron."));
    await program.isAnswered(answer("Noted."));
    await program.asks(user("Which word was it?"));
    await program.isAnswered(answer("", "a"));
    assert.deepEqual(
      toolsOf("a")?.specs.map(({ name }) => name),
      names,
    );
    const found = await offered.call(call, signal);
    assert.ok(!found.isError && wordsOf(found).includes("The word is heron."), wordsOf(found));
    await bench.governor.close();
    assert.equal((await offered.call(call, signal)).isError, true);
  });

  it("records each message of a tool loop once and in order, however often the program repeats it", async () => {
    const program = new Played(bench);
    await program.asks(user("Look."));
    await program.isAnswered(answer("I look.", "a", "b"));
    const second = await program.asks(result("a"), result("b"));
    assert.deepEqual(second, [
      "user: Look.",
      "assistant: I look. | call a | call b",
      "result a done a",
      "result b done b",
    ]);
    await program.isAnswered(answer("", "c"));
    await program.asks(result("c"));
    await program.isAnswered(answer("Seen."));
    await program.asks(user("Thanks."));
    assert.deepEqual(bench.transcript(), [
      ...second,
      "assistant: call c",
      "result c done c",
      "assistant: Seen.",
      "user: Thanks.",
    ]);
    assert.equal(bench.governor.turns, 2);
  });

  it("shows messages of another process of the same session, which the program does not have", async () => {
    const first = new Played(bench);
    await first.asks(user("The word is heron."));
    await first.isAnswered(answer("Noted."));
    await bench.close();
    await bench.open();
    const second = new Played(bench, [], { threadId: "thread-2" });
    assert.deepEqual(await second.asks(user("Which word?")), [
      "user: The word is heron.",
      "assistant: Noted.",
      "user: Which word?",
    ]);
  });

  it("distinguishes a message that the engine left unchanged from one that it changed", async () => {
    const program = new Played(bench);
    await program.governed(user("Look."));
    await program.isAnswered(answer("I look.", "a"));
    const { context, isOriginal } = await program.governed(result("a"));
    assert.deepEqual(context.messages.map(isOriginal), [true, true, true]);
    const [first] = context.messages;
    assert.ok(first);
    assert.equal(isOriginal({ ...user("Something else."), entryId: first.entryId ?? "" }), false);
    assert.equal(isOriginal(user("Look.")), false);
  });

  it("adds the user's input in a tool loop to the turn", async () => {
    const program = new Played(bench, [], { threadId: "t", turnId: "turn-1" });
    await program.asks(user("Look."));
    await program.isAnswered(answer("", "a"));
    const seen = await program.asks(result("a"), user("Also there."));
    assert.deepEqual(seen, ["user: Look.", "assistant: call a", "result a done a", "user: Also there."]);
    assert.equal(bench.governor.turns, 1);
  });

  it("has results before the next input in the turn of their calls", async () => {
    const program = new Played(bench);
    await program.asks(user("Look."));
    await program.isAnswered(answer("", "a"));
    // The user stopped it and typed something else.
    const seen = await program.asks(result("a", "interrupted"), user("Never mind."));
    assert.deepEqual(seen, ["user: Look.", "assistant: call a", "result a interrupted", "user: Never mind."]);
    assert.equal(bench.governor.turns, 2);
  });

  it("begins a new turn with the same text after an answer", async () => {
    const program = new Played(bench);
    await program.asks(user("Go on."));
    await program.isAnswered(answer("One."));
    await program.asks(user("Go on."));
    await program.isAnswered(answer("Two."));
    await bench.governor.close();
    assert.equal(bench.governor.turns, 2);
    assert.deepEqual(bench.transcript(), [
      "user: Go on.",
      "assistant: One.",
      "user: Go on.",
      "assistant: Two.",
    ]);
  });

  it("retries after an error in the same turn", async () => {
    const program = new Played(bench);
    await program.asks(user("Hello."));
    await program.isAnswered(answer(""), { isComplete: false, error: { message: "busy", overflow: false } });
    assert.deepEqual(await program.asks(), ["user: Hello."]);
    await program.isAnswered(answer("Hi."));
    await bench.governor.close();
    assert.deepEqual(bench.transcript(), ["user: Hello.", "assistant: Hi."]);
    assert.equal(bench.governor.turns, 1);
  });

  it("drops a cut answer that is retried, and keeps the text of one that is not", async () => {
    const program = new Played(bench);
    await program.asks(user("Hello."));
    await program.isAnswered(answer("Half of", "x"), { isComplete: false });
    await program.asks();
    await program.isAnswered(answer("A whole answer."));
    await program.asks(user("More."));
    await program.isAnswered(answer("It beg", "y"), { isComplete: false });
    await program.asks(user("Something else."));
    assert.deepEqual(bench.transcript(), [
      "user: Hello.",
      "assistant: A whole answer.",
      "user: More.",
      "assistant: It beg",
      "user: Something else.",
    ]);
  });

  it("keeps the text of an answer that was cut when the program ended", async () => {
    const program = new Played(bench);
    await program.asks(user("Hello."));
    await program.isAnswered(answer("Half of it"), { isComplete: false });
    await bench.governor.close();
    assert.deepEqual(bench.transcript(), ["user: Hello.", "assistant: Half of it"]);
  });

  it("waits for the end of an answer that the program has left", async () => {
    const program = new Played(bench);
    await program.asks(user("Hello."));
    const closed = bench.governor.close();
    await turns();
    await program.isAnswered(answer("Half of it"), { isComplete: false });
    await closed;
    assert.deepEqual(bench.transcript(), ["user: Hello.", "assistant: Half of it"]);
  });

  it("continues a turn that the host has ended", async () => {
    const program = new Played(bench);
    await program.asks(user("Look."));
    await program.isAnswered(answer("", "a"));
    await bench.pagurus.running.stop({ sessionKey: "work" });
    await until(() => !isRunning(bench));
    const seen = await program.asks(result("a"));
    assert.deepEqual(seen.slice(0, 3), ["user: Look.", "assistant: call a", "result a done a"]);
    await program.isAnswered(answer("Seen."));
    await bench.governor.close();
    const lines = bench.transcript();
    assert.equal(lines.at(-1), "assistant: Seen.");
    assert.equal(lines.filter((line) => line === "user: Look.").length, 1);
  });

  it("ends a turn by itself when no more requests come", async () => {
    await bench.close();
    await bench.open({ settleMs: 20 });
    const program = new Played(bench);
    await program.asks(user("Hello."));
    await program.isAnswered(answer("Hi."));
    await until(() => !isRunning(bench));
  });

  it("reports in the program's answer why a session cannot be used", async () => {
    const held = bench.pagurus.sessions().openWriter("work", { cwd: bench.cwd, create: true });
    try {
      const program = new Played(bench);
      await assert.rejects(program.asks(user("Hello.")), { code: "session_locked" });
    } finally {
      held.close();
    }
    assert.deepEqual(await new Played(bench).asks(user("Hello.")), ["user: Hello."]);
  });

  it("lets requests pass if the engine governs nothing, and still records the messages", async () => {
    await bench.close();
    await bench.open(
      {},
      { config: { ...WrapBench.CONFIG, plugins: { slots: { contextEngine: "legacy" } } } },
    );
    const program = new Played(bench);
    program.messages.push(user("Hello."));
    const made = request({ messages: program.messages });
    assert.equal(await bench.governor.main(made, program.call()), undefined);
    bench.governor.sent(made);
    await program.isAnswered(answer("Hi."));
    await bench.governor.close();
    assert.deepEqual(bench.transcript(), ["user: Hello.", "assistant: Hi."]);
    assert.equal((await bench.pagurus.context.receipts({ sessionKey: "work" })).length, 1);
  });

  it("counts the program's own prompt and tools against the window", async () => {
    const made = request({ messages: [user("Hello.")] });
    const body = Buffer.from(`{"system":"${"word ".repeat(4_000)}","messages":[1]}`);
    const at = body.length - 3;
    await bench.governor.main(
      {
        ...made,
        body,
        list: { start: at, end: body.length - 1 },
        items: made.items.map((item) => ({ ...item, start: at + 1 })),
      },
      { request: 0, signal: new AbortController().signal },
    );
    const tokens = bench.harness.fixedTokens("work") ?? 0;
    assert.ok(tokens > 3_000 && tokens < 8_000, String(tokens));
  });
});
