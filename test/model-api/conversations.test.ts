import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { ApiBench } from "./setting.ts";
import { longTest } from "../runner/long-tests.ts";
import { until } from "../runner/until.ts";

/** Answers with the number of the request. */
const numbered = (_: unknown, index: number): { text: string } => ({ text: `Answer ${index}.` });

describe("whose conversation a client's request is", () => {
  let bench: ApiBench;
  afterEach(() => bench.end());

  it("a history that the client resends continues its session, and nothing is doubled", async () => {
    bench = await ApiBench.open("openai-completions", numbered);
    const words = ["Hello."];
    for (let turn = 0; turn < 4; turn++) words.push(await bench.chat(words), `More ${turn}.`);
    const [key = ""] = bench.sessionKeys();
    assert.equal(bench.sessionKeys().length, 1);
    assert.deepEqual(await bench.words(key), words.slice(0, -1));
    assert.equal((bench.model.requests[3]?.body["messages"] as unknown[] | undefined)?.length, 7);
  });

  it("the session is found again after a restart of the server", async () => {
    bench = await ApiBench.open("openai-completions", numbered);
    const words = ["Hello."];
    words.push(await bench.chat(words), "More.");
    await bench.stop();
    await bench.start();
    words.push(await bench.chat(words));
    assert.equal(bench.sessionKeys().length, 1);
    assert.deepEqual(await bench.words(bench.sessionKeys()[0] ?? ""), words);
  });

  it("a request that is repeated because its answer was lost is there once, also after a restart", async () => {
    let isDown = false;
    bench = await ApiBench.open("openai-completions", async (_, index) => {
      await until(() => !isDown);
      return { text: `Answer ${index}.` };
    });
    const words = ["Hello."];
    words.push(await bench.chat(words), "More.");
    for (const restarts of [false, true]) {
      isDown = true;
      const sent = bench.model.requests.length;
      const signal = new AbortController();
      const lost = bench.chat(words, "one", {}, signal.signal).catch(() => "lost");
      await until(() => bench.model.requests.length !== sent);
      signal.abort();
      assert.equal(await lost, "lost");
      isDown = false;
      if (restarts) {
        await bench.stop();
        await bench.start();
      }
      words.push(await bench.chat(words), "And more.");
      assert.deepEqual(await bench.words(bench.sessionKeys()[0] ?? ""), words.slice(0, -1));
    }
    assert.equal(bench.sessionKeys().length, 1);
  });

  it("an edited message and a regenerated answer fork the session at that point", async () => {
    bench = await ApiBench.open("openai-completions", numbered);
    const words = ["Hello."];
    words.push(await bench.chat(words), "Second.");
    words.push(await bench.chat(words), "Third.");
    const third = await bench.chat(words);
    const first = bench.sessionKeys();
    const edited = [...words.slice(0, 2), "Second, edited."];
    const other = await bench.chat(edited);
    const fork = bench.sessionKeys().filter((key) => !first.includes(key));
    assert.equal(fork.length, 1);
    assert.deepEqual(await bench.words(fork[0] ?? ""), [...edited, other]);
    const again = await bench.chat(words);
    const all = bench.sessionKeys();
    assert.equal(all.length, 3);
    const regenerated = all.find((key) => key !== first[0] && key !== fork[0]) ?? "";
    assert.deepEqual(await bench.words(regenerated), [...words, again]);
    assert.deepEqual(await bench.words(first[0] ?? ""), [...words, third]);
  });

  longTest("clients of different tokens with equal first words at once stay apart", async () => {
    bench = await ApiBench.open("openai-completions", numbered);
    const tokens = Array.from({ length: 20 }, (_, at) => `token-${at}`);
    const ends = await Promise.all(
      tokens.map(async (token) => {
        const first = await bench.chat(["Hello."], token);
        return ["Hello.", first, "More.", await bench.chat(["Hello.", first, "More."], token)];
      }),
    );
    const keys = bench.sessionKeys();
    assert.equal(keys.length, tokens.length);
    for (const [at, token] of tokens.entries()) {
      const key = keys.find((each) => each.startsWith(`api/${token}/`)) ?? "";
      assert.deepEqual(await bench.words(key), ends[at]);
    }
  });

  it("two live conversations of one token with equal first words are two sessions", async () => {
    bench = await ApiBench.open("openai-completions", numbered);
    const [one, other] = await Promise.all([bench.chat(["Hello."]), bench.chat(["Hello."])]);
    assert.notEqual(one, other);
    const conversations = [
      ["Hello.", one, "A."],
      ["Hello.", other, "B."],
    ];
    for (const words of conversations) words.push(await bench.chat(words));
    const stored = await Promise.all(bench.sessionKeys().map((key) => bench.words(key)));
    assert.deepEqual(
      stored.map((words) => words.join(" ")).sort(),
      conversations.map((words) => words.join(" ")).sort(),
    );
  });

  it("the header names the session, unless the token may not use it", async () => {
    bench = await ApiBench.open("openai-completions", numbered);
    await bench.chat(["Hello."], "one", { "x-pagurus-session": "mine" });
    await bench.chat(["New words."], "one", { "x-pagurus-session": "mine" });
    assert.deepEqual(bench.sessionKeys(), ["mine"]);
    await assert.rejects(
      bench.chat(["Hello."], "one", { "x-pagurus-session": "forbidden" }),
      /may not use the session/,
    );
  });
});
