/** Edge cases of a wrapped program's conversations: two at once, refused prompts, compactions left to its provider. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { ContextEngine } from "../../../packages/contract/src/engine/engine.ts";
import type { Governed } from "../../../packages/gateway/src/governor/governor.ts";
import { answer, lineOf, Played, request, result, user, WrapBench } from "./bench.ts";
import { turns } from "../../runner/loop-turns.ts";

describe("conversations of the user's own program", () => {
  let bench: WrapBench;

  beforeEach(async () => {
    bench = new WrapBench();
    await bench.open();
  });
  afterEach(() => bench.end());

  it("continue in parallel to one that is still being answered, each in a session of its own", async () => {
    const first = new Played(bench, [], { threadId: "thread-1" });
    const second = new Played(bench, [], { threadId: "thread-2" });
    await first.asks(user("Look at the quay."));
    // A request that waits for the answer of one before it waits for two minutes.
    assert.deepEqual(await second.asks(user("Count the gulls.")), ["user: Count the gulls."]);
    const key = bench.governor.sessionKey;
    assert.notEqual(key, "work");
    await first.isAnswered(answer("I look.", "a"));
    await second.isAnswered(answer("Nine."));
    assert.deepEqual(await first.asks(result("a")), [
      "user: Look at the quay.",
      "assistant: I look. | call a",
      "result a done a",
    ]);
    await first.isAnswered(answer("It is free."));
    assert.deepEqual(await second.asks(user("And the terns?")), [
      "user: Count the gulls.",
      "assistant: Nine.",
      "user: And the terns?",
    ]);
    await bench.governor.close();
    assert.deepEqual(bench.transcript("work"), [
      "user: Look at the quay.",
      "assistant: I look. | call a",
      "result a done a",
      "assistant: It is free.",
    ]);
    assert.deepEqual(bench.transcript(key), [
      "user: Count the gulls.",
      "assistant: Nine.",
      "user: And the terns?",
    ]);
  });

  it("continue in parallel to one whose first request is still being decided on", async () => {
    const programs = ["1", "2"].map((id) => new Played(bench, [], { threadId: `thread-${id}` }));
    const asked = await Promise.all(programs.map((program, index) => program.asks(user(`Berth ${index}?`))));
    assert.deepEqual(asked, [["user: Berth 0?"], ["user: Berth 1?"]]);
    assert.equal(bench.governor.toolsFor("unknown"), undefined, "a call that may be of either is of none");
    for (const [index, program] of programs.entries()) await program.isAnswered(answer(`Free ${index}.`));
    const other = bench.governor.sessionKey;
    assert.notEqual(other, "work");
    await bench.governor.close();
    assert.deepEqual(bench.transcript("work"), ["user: Berth 0?", "assistant: Free 0."]);
    assert.deepEqual(bench.transcript(other), ["user: Berth 1?", "assistant: Free 1."]);
  });

  it("record an answer that ends while another conversation begins in its own turn", async () => {
    const first = new Played(bench, [], { threadId: "thread-1" });
    const second = new Played(bench, [], { threadId: "thread-2" });
    await first.asks(user("Hello."));
    const next = second.asks(user("Something new."));
    await turns();
    await first.isAnswered(answer("Hi."));
    assert.deepEqual(await next, ["user: Something new."]);
    assert.equal(bench.governor.sessionKey, "work", "it is the same session, in a new generation");
    const older = bench.pagurus.sessions().list();
    assert.ok(older.length > 0);
    await second.isAnswered(answer("Yes?"));
    await bench.governor.close();
    assert.deepEqual(bench.transcript(), ["user: Something new.", "assistant: Yes?"]);
  });

  it("report why a turn could not begin after the program has ended, too", async () => {
    const held = bench.pagurus.sessions().openWriter("work", { cwd: bench.cwd, create: true });
    try {
      await assert.rejects(new Played(bench).asks(user("Hello.")), { code: "session_locked" });
    } finally {
      held.close();
    }
    assert.equal(bench.notices.length, 1);
    assert.match(bench.notices[0] ?? "", /session/);
    assert.deepEqual(await new Played(bench).asks(user("Hello.")), ["user: Hello."]);
    assert.equal(bench.notices.length, 1);
  });

  /** As in Claude Code: a refused text is repeated with the next one, in one element. */
  async function isRefusedAndRepeated(program: Played): Promise<string[]> {
    const before = program.messages.length;
    await program.asks(user("Is the berth free?"));
    await program.isAnswered(answer(""), {
      isComplete: false,
      error: { message: "refused", overflow: false },
    });
    program.messages.length = before;
    return program.asks({
      role: "user",
      content: [
        { type: "text", text: "Is the berth free?" },
        { type: "text", text: "Or the next one?" },
      ],
    });
  }
  const AGAIN = "user: Is the berth free? | Or the next one?";

  it("have a refused prompt once that is repeated with the next one", async () => {
    const program = new Played(bench);
    await program.asks(user("Hello."));
    await program.isAnswered(answer("Hi."));
    assert.deepEqual(await isRefusedAndRepeated(program), ["user: Hello.", "assistant: Hi.", AGAIN]);
    await bench.governor.close();
    assert.deepEqual(bench.transcript(), ["user: Hello.", "assistant: Hi.", AGAIN]);
  });

  it("have it once after a compaction that left a part of the conversation with the program, too", async () => {
    const program = new Played(bench);
    await program.asks(user("Hello."));
    await program.isAnswered(answer("I look.", "a"));
    const compaction = { trigger: "auto" as const };
    const asking = request({ messages: program.messages, kind: "compaction", compaction });
    await bench.governor.compaction(asking, program.call());
    // Its newest round stays with the program.
    program.messages.splice(0, 1);
    await program.asks(result("a"));
    await program.isAnswered(answer("Seen."));
    const before = ["user: Hello.", "assistant: I look. | call a", "result a done a", "assistant: Seen."];
    assert.deepEqual(await isRefusedAndRepeated(program), [...before, AGAIN]);
    await bench.governor.close();
    assert.deepEqual(bench.transcript(), [...before, AGAIN]);
  });

  it("rewind nothing if the program's history has changed", async () => {
    const program = new Played(bench, [user("Before."), answer("Long ago.")]);
    await program.asks(user("Hello."));
    await program.isAnswered(answer("Hi."));
    program.messages.splice(0, 4, user("Another history."), answer("Of its own."));
    await program.asks(user("Go on."));
    await bench.governor.close();
    const lines = bench.transcript();
    assert.deepEqual(lines.slice(-3), ["user: Hello.", "assistant: Hi.", "user: Go on."]);
  });
});

describe("a compaction that is left to the program's provider", () => {
  const SUMMARY = user("What was, in short.");
  let bench: WrapBench;
  /** Number of newest messages that the engine shows, after its summary and before an input. */
  let shows = Infinity;
  const engine: ContextEngine = {
    info: { id: "short", name: "Short", assembleScope: "call" },
    ingest: async () => ({ ingested: true }),
    assemble: async ({ messages }) => ({
      messages: shows < messages.length ? [SUMMARY, ...messages.slice(-shows)] : messages,
      estimatedTokens: 0,
    }),
    compact: async () => ({ ok: true, compacted: false }),
  };

  const open = async (slot: string): Promise<void> => {
    bench = new WrapBench();
    const config = { ...WrapBench.CONFIG, plugins: { slots: { contextEngine: slot } } };
    await bench.open({}, { engines: { short: () => engine }, config });
  };
  beforeEach(() => {
    shows = Infinity;
  });
  afterEach(() => bench.end());

  async function toCompact(
    program: Played,
    trigger: "auto" | "manual",
    overflow?: { message: string },
  ): Promise<Governed | undefined> {
    const asking = request({
      messages: program.messages,
      kind: "compaction",
      compaction: { trigger },
      native: program.native,
    });
    assert.equal(await bench.governor.compaction(asking, program.call()), undefined);
    return bench.governor.main(asking, { ...program.call(), ...(overflow ? { overflow } : {}) });
  }
  const linesOf = (governed: Governed | undefined): string[] | undefined =>
    governed?.context.messages.map(lineOf);

  it("gets the engine's current context inside a turn", async () => {
    await open("short");
    const program = new Played(bench);
    await program.asks(user("One."));
    await program.isAnswered(answer("First."));
    await program.asks(user("Two."));
    await program.isAnswered(answer("I look.", "a"));
    program.messages.push(result("a"));
    shows = 3;
    const governed = await toCompact(program, "auto");
    assert.deepEqual(linesOf(governed), [
      "user: What was, in short.",
      "user: Two.",
      "assistant: I look. | call a",
      "result a done a",
    ]);
    assert.deepEqual(
      governed?.context.messages.map((message) => governed.isOriginal(message)),
      [false, true, true, true],
      "the program still has its elements",
    );
    assert.equal(bench.governor.turns, 2, "no turn was begun for it");
    const after = await program.governed();
    assert.ok(!after.context.messages.some((message) => after.isOriginal(message)));
  });

  it("gets what the model saw last, and its answer, between turns", async () => {
    await open("short");
    const program = new Played(bench);
    await program.asks(user("One."));
    await program.isAnswered(answer("First."));
    shows = 1;
    await program.asks(user("Two."));
    await program.isAnswered(answer("Second."));
    assert.deepEqual(linesOf(await toCompact(program, "manual")), [
      "user: What was, in short.",
      "assistant: First.",
      "user: Two.",
      "assistant: Second.",
    ]);
    assert.equal(await toCompact(program, "manual", { message: "too long" }), undefined);
    assert.equal(bench.governor.turns, 2);
    await bench.governor.close();
    assert.deepEqual(bench.transcript().slice(-2), ["user: Two.", "assistant: Second."]);
  });

  it("passes if the engine governs nothing, and if nothing was shown yet", async () => {
    await open("short");
    const early = new Played(bench, [user("One."), answer("First.")]);
    assert.equal(await toCompact(early, "manual"), undefined);
    await bench.end();
    await open("legacy");
    const program = new Played(bench);
    program.messages.push(user("One."));
    const made = request({ messages: program.messages });
    assert.equal(await bench.governor.main(made, program.call()), undefined);
    bench.governor.sent(made);
    await program.isAnswered(answer("First."));
    assert.equal(await toCompact(program, "auto"), undefined);
    assert.equal(await toCompact(program, "manual"), undefined);
  });
});
