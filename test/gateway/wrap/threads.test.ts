import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { answer, lineOf, Played, request, result, user, WrapBench } from "./bench.ts";

const BEFORE = [user("My name is Ada."), answer("Hello Ada.", "a"), result("a"), answer("Done.")];

describe("conversations of the user's own program", () => {
  let bench: WrapBench;

  beforeEach(async () => {
    bench = new WrapBench();
    await bench.open();
  });
  afterEach(() => bench.end());

  it("become the session if it is new, with each answer as one message", async () => {
    const [first, , ...rest] = BEFORE;
    assert.ok(first);
    const divided = [first, answer("Hello Ada."), answer("", "a"), ...rest];
    const program = new Played(bench, divided);
    assert.deepEqual(await program.asks(user("Who am I?")), [...BEFORE.map(lineOf), "user: Who am I?"]);
    await program.isAnswered(answer("Ada."));
    await bench.governor.close();
    assert.equal(bench.transcript().length, 6);
    assert.deepEqual(bench.notices, []);
  });

  it("become a session that is empty", async () => {
    bench.pagurus.sessions().create("work", { cwd: bench.cwd });
    const program = new Played(bench, BEFORE);
    assert.equal((await program.asks(user("Who am I?"))).length, 5);
  });

  it("continue if the session has them already", async () => {
    const first = new Played(bench, BEFORE);
    await first.asks(user("Who am I?"));
    await first.isAnswered(answer("Ada."));
    await bench.close();
    await bench.open();
    const resumed = new Played(bench, first.messages);
    assert.equal((await resumed.asks(user("Sure?"))).length, 7);
    assert.deepEqual(bench.notices, []);
  });

  it("add the messages from while they were not followed", async () => {
    const first = new Played(bench, BEFORE);
    await first.asks(user("Who am I?"));
    await first.isAnswered(answer("Ada."));
    await bench.close();
    await bench.open();
    const resumed = new Played(bench, [...first.messages, user("I moved to Turin."), answer("I see.")]);
    const seen = await resumed.asks(user("Where do I live?"));
    assert.deepEqual(seen.slice(4), [
      "user: Who am I?",
      "assistant: Ada.",
      "user: I moved to Turin.",
      "assistant: I see.",
      "user: Where do I live?",
    ]);
    assert.deepEqual(bench.notices, []);
  });

  it("are left out if the session has another one, and the user is notified", async () => {
    const first = new Played(bench);
    await first.asks(user("Hello."));
    await first.isAnswered(answer("Hi."));
    await bench.close();
    await bench.open();
    const other = new Played(bench, BEFORE, { threadId: "thread-2" });
    assert.deepEqual(await other.asks(user("Who am I?")), [
      "user: Hello.",
      "assistant: Hi.",
      "user: Who am I?",
    ]);
    assert.equal(bench.notices.length, 1);
    assert.match(bench.notices[0] ?? "", /^The program's earlier conversation is not in the session work/);
  });

  it("are not shown any more when the program clears them", async () => {
    const program = new Played(bench);
    await program.asks(user("The word is heron."));
    await program.isAnswered(answer("Noted."));
    const cleared = new Played(bench, [], { threadId: "thread-2" });
    assert.deepEqual(await cleared.asks(user("Which word?")), ["user: Which word?"]);
    assert.equal(bench.governor.sessionKey, "work");
  });

  it("have a session of their own when another one is resumed inside the program", async () => {
    const program = new Played(bench);
    await program.asks(user("Hello."));
    await program.isAnswered(answer("Hi."));
    const other = new Played(bench, BEFORE, { threadId: "0199-aaaa-12345678" });
    assert.equal((await other.asks(user("Who am I?"))).length, 5);
    assert.equal(bench.governor.sessionKey, "work/12345678");
    await other.isAnswered(answer("Ada."));
    // Back in the first one.
    assert.deepEqual(await program.asks(user("And now?")), [
      "user: Hello.",
      "assistant: Hi.",
      "user: And now?",
    ]);
    assert.equal(bench.governor.sessionKey, "work");
  });

  it("are resumed in a session of their own after they were cleared", async () => {
    const program = new Played(bench);
    await program.asks(user("Hello."));
    await program.isAnswered(answer("Hi."));
    const cleared = new Played(bench, [], { threadId: "thread-2" });
    await cleared.asks(user("Anew."));
    await cleared.isAnswered(answer("Yes."));
    assert.deepEqual(await program.asks(user("Back.")), ["user: Hello.", "assistant: Hi.", "user: Back."]);
    assert.notEqual(bench.governor.sessionKey, "work");
  });

  it("can be imported twice, into two sessions", async () => {
    const first = new Played(bench, BEFORE);
    await first.asks(user("Who am I?"));
    await bench.close();
    await bench.open({ sessionKey: "other" });
    assert.equal((await new Played(bench, BEFORE).asks(user("Who am I?"))).length, 5);
    assert.deepEqual(bench.notices, []);
  });

  it("are imported in the middle of a turn, if the program was stopped in it", async () => {
    const program = new Played(bench, [...BEFORE, user("Look."), answer("", "b")]);
    const seen = await program.asks(result("b"));
    assert.deepEqual(seen.slice(4), ["user: Look.", "assistant: call b", "result b done b"]);
  });
});

describe("a rewind of the user inside the program", () => {
  let bench: WrapBench;
  let program: Played;

  beforeEach(async () => {
    bench = new WrapBench();
    await bench.open();
    program = new Played(bench, BEFORE);
    for (const word of ["one", "two", "three"]) {
      await program.asks(user(word));
      await program.isAnswered(answer(`${word}!`));
    }
  });
  afterEach(() => bench.end());

  it("rewinds the session", async () => {
    program.messages.length = 6;
    const seen = await program.asks(user("other"));
    assert.deepEqual(seen.slice(4), ["user: one", "assistant: one!", "user: other"]);
    await program.isAnswered(answer("other!"));
    await bench.governor.close();
    assert.deepEqual(bench.transcript().slice(-3), ["assistant: one!", "user: other", "assistant: other!"]);
  });

  it("still recognizes a text that is repeated", async () => {
    program.messages.length = 8;
    await program.asks(user("three"));
    await program.isAnswered(answer("three again"));
    program.messages.length = 8;
    const seen = await program.asks(user("four"));
    assert.deepEqual(seen.slice(4), [
      "user: one",
      "assistant: one!",
      "user: two",
      "assistant: two!",
      "user: four",
    ]);
  });

  it("is not detected if the program's history was changed otherwise", async () => {
    program.messages.splice(0, program.messages.length, user("A summary of all."));
    assert.equal((await program.asks(user("other"))).length, 4 + 6 + 1);
  });

  it("is not detected if the program has compacted", async () => {
    await bench.governor.compaction(
      request({ messages: program.messages, kind: "compaction", native: program.native }),
      program.call(),
    );
    program.messages.splice(5);
    assert.equal((await program.asks(user("other"))).length, 4 + 6 + 1);
  });
});

describe("compactions of the user's own program", () => {
  let bench: WrapBench;
  const asked: Record<string, unknown>[] = [];

  beforeEach(async () => {
    asked.length = 0;
    bench = new WrapBench();
    await bench.open();
    Object.assign(bench.pagurus.native, {
      answerCompaction: (question: Record<string, unknown>) => {
        asked.push(question);
        return Promise.resolve({ summary: "What was said." });
      },
    });
  });
  afterEach(() => bench.end());

  const compaction = (program: Played, trigger: "manual" | "auto" = "manual") =>
    bench.governor.compaction(
      request({
        messages: program.messages,
        kind: "compaction",
        compaction: { trigger, focus: "names" },
        native: program.native,
      }),
      program.call(),
    );

  it("are answered between turns, with the session and the user's focus", async () => {
    const program = new Played(bench);
    await program.asks(user("Hello."));
    await program.isAnswered(answer("Hi."));
    assert.deepEqual(await compaction(program), { summary: "What was said." });
    const [question] = asked;
    assert.equal(question?.["sessionKey"], "work");
    assert.equal(question["runtime"], "wire-played");
    assert.equal(question["trigger"], "manual");
    assert.equal(question["customInstructions"], "names");
  });

  it("pass if the session does not have the conversation", async () => {
    assert.equal(await compaction(new Played(bench, BEFORE)), undefined);
    assert.deepEqual(asked, []);
  });

  it("are answered before the first turn of a process, if the session has the conversation", async () => {
    const program = new Played(bench);
    await program.asks(user("Hello."));
    await program.isAnswered(answer("Hi."));
    await bench.close();
    await bench.open();
    Object.assign(bench.pagurus.native, { answerCompaction: () => Promise.resolve({ summary: "Again." }) });
    program.messages.push(user("(asks for a summary)"));
    assert.deepEqual(await compaction(program), { summary: "Again." });
  });

  it("pass, and nothing fails, if the host refuses", async () => {
    const program = new Played(bench);
    await program.asks(user("Hello."));
    await program.isAnswered(answer("Hi."));
    Object.assign(bench.pagurus.native, { answerCompaction: () => Promise.reject(new Error("no")) });
    assert.equal(await compaction(program), undefined);
    assert.equal((await program.asks(user("More."))).length, 3);
  });

  it("belong to the turn inside a tool loop", async () => {
    const program = new Played(bench);
    await program.asks(user("Look."));
    await program.isAnswered(answer("", "a"));
    program.messages.push(result("a"));
    // There is nothing before the turn that could be summarized.
    assert.equal(await compaction(program, "auto"), undefined);
    assert.deepEqual(asked, []);
    assert.equal((await program.asks()).length, 3);
    assert.equal(bench.governor.turns, 1);
  });
});
