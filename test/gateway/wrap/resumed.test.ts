/** A conversation that a program resumes by itself, where sessions belong to folders and another live program may have it. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { answer, Played, user, WrapBench } from "./bench.ts";

const THREAD = { threadId: "thread-1" };

describe("a conversation that the program resumes by itself", () => {
  let bench: WrapBench;
  let other: WrapBench;

  beforeEach(async () => {
    bench = new WrapBench();
    other = new WrapBench(bench.root);
    await bench.openUnnamed();
  });
  afterEach(async () => {
    await other.close();
    await bench.end();
  });

  async function round(program: Played, text: string): Promise<string[]> {
    const seen = await program.asks(user(text));
    await program.isAnswered(answer(`${text}!`));
    return seen;
  }

  it("is copied where it is in use, with the finished turns of all programs (finding A1)", async () => {
    const program = new Played(bench);
    await round(program, "One");
    await bench.close();
    await bench.open();
    const another = new Played(bench, [], { threadId: "thread-2" });
    await round(another, "Two");
    await another.asks(user("Live"));

    await other.openUnnamed();
    const resumed = new Played(other, program.messages, THREAD);
    assert.deepEqual(await resumed.asks(user("Three")), [
      "user: One",
      "assistant: One!",
      "user: Two",
      "assistant: Two!",
      "user: Three",
    ]);
    assert.equal(other.governor.sessionKey, "work-2");
    assert.equal(other.notices.length, 1);
    assert.match(
      other.notices[0] ?? "",
      /the session work, which is in use; this program .* a copy of its own/,
    );
    assert.equal(
      other.pagurus.sessions().find("work-2")?.folder,
      other.pagurus.sessions().find("work")?.folder,
    );
  });

  it("and its copy stay separate, whichever of them was used last (finding A1)", async () => {
    const program = new Played(bench);
    await round(program, "One");
    await other.openUnnamed();
    const copy = new Played(other, program.messages, THREAD);
    await round(copy, "Copied");
    assert.equal(other.governor.sessionKey, "work-2");
    await other.close();
    await round(program, "Two");
    await bench.close();

    for (const last of ["work", "work-2"]) {
      await bench.open({ sessionKey: last });
      await round(new Played(bench, [], { threadId: `thread-of-${last}` }), `Beside ${last}`);
      await bench.close();
      for (const [branch, key] of [
        [program, "work"],
        [copy, "work-2"],
      ] as const) {
        await other.openUnnamed();
        const resumed = new Played(other, branch.messages, THREAD);
        const seen = await round(resumed, "Again");
        assert.equal(other.governor.sessionKey, key, `${last} was used last`);
        assert.equal(seen.includes("user: Copied"), key === "work-2");
        assert.equal(seen.includes("user: Two"), key === "work");
        branch.messages.splice(0, Infinity, ...resumed.messages);
        await other.close();
      }
    }
    await bench.openUnnamed();
    await other.openUnnamed();
  });
});
