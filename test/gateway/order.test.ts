/** Requests of a route, and which of them wait for which. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { Conversations, type Stages } from "../../packages/gateway/src/request/order.ts";
import { Bench } from "./exchange-bench.ts";
import { MESSAGES } from "./openings.ts";
import { until } from "../runner/until.ts";

const STREAMING_MS = 120;

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** A request whose stages a test controls. */
class Played {
  readonly began = Promise.withResolvers<void>();
  hasBegun = false;
  stages: Stages | undefined;
  readonly over: Promise<void>;
  readonly #done = Promise.withResolvers<void>();

  constructor(
    conversations: Conversations,
    native: { threadId?: string; agentId?: string } = {},
    signal = new AbortController().signal,
  ) {
    this.over = conversations.inTurn({ native }, signal, async (stages) => {
      this.hasBegun = true;
      this.stages = stages;
      this.began.resolve();
      await this.#done.promise;
    });
  }

  async end(): Promise<void> {
    this.#done.resolve();
    await this.over;
  }
}

describe("the order of a conversation's requests", () => {
  it("is kept until the one before is recorded, however long its answer takes to begin and be recorded", async () => {
    const conversations = new Conversations(STREAMING_MS);
    const first = new Played(conversations, { threadId: "a" });
    const second = new Played(conversations, { threadId: "a" });
    await pause(3 * STREAMING_MS);
    assert.ok(!second.hasBegun, "nothing has come of the first");
    first.stages?.streams();
    first.stages?.streamed();
    await pause(3 * STREAMING_MS);
    assert.ok(!second.hasBegun, "the first is being recorded");
    await first.end();
    await second.began.promise;
    await second.end();
  });

  it("waits only for a limited time for an answer that still streams", async () => {
    const conversations = new Conversations(STREAMING_MS);
    const first = new Played(conversations);
    first.stages?.streams();
    await pause(2 * STREAMING_MS);
    const began = performance.now();
    const second = new Played(conversations);
    await pause(STREAMING_MS / 3);
    assert.ok(!second.hasBegun, "the answer may be at its end");
    await second.began.promise;
    assert.ok(performance.now() - began < 15_000, "half of the longest wait for a request before it");
    const third = new Played(conversations);
    await pause(STREAMING_MS / 3);
    assert.ok(!third.hasBegun, "it waits for the second");
    await Promise.all([first.end(), second.end()]);
    await third.began.promise;
    await third.end();
  });

  it("is kept for each conversation separately", async () => {
    const conversations = new Conversations(STREAMING_MS);
    const all = [{ threadId: "a" }, { threadId: "b" }, { threadId: "a", agentId: "c" }, {}].map(
      (native) => new Played(conversations, native),
    );
    await Promise.all(all.map(({ began }) => began.promise));
    await Promise.all(all.map((played) => played.end()));
  });

  it("drops a request whose harness has disconnected, and keeps the order for the next one", async () => {
    const conversations = new Conversations(STREAMING_MS);
    const leave = new AbortController();
    const first = new Played(conversations);
    const second = new Played(conversations, {}, leave.signal);
    leave.abort();
    await second.began.promise;
    await Promise.all([first.end(), second.end()]);
    const third = new Played(conversations);
    await third.began.promise;
    await third.end();
  });
});

describe("a route with two conversations", () => {
  let bench: Bench;
  afterEach(() => bench.end());
  const ask = (threadId: string): Promise<Response> =>
    bench.ask(MESSAGES.body, { path: MESSAGES.path, headers: { "x-claude-code-session-id": threadId } });
  const whole = [...MESSAGES.begins, ...MESSAGES.says, ...MESSAGES.ends].join("");

  it("answers one while the other is being answered, and two requests in one only after a timeout", async () => {
    bench = new Bench("anthropic-messages");
    const end = Promise.withResolvers<void>();
    const asked: (string | undefined)[] = [];
    await bench.open(
      {
        main: async ({ native }) => {
          asked.push(native.threadId);
          return undefined;
        },
      },
      async (response) => {
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.write(MESSAGES.begins.join(""));
        await end.promise;
        response.end([...MESSAGES.says, ...MESSAGES.ends].join(""));
      },
      (response) => {
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.end(whole);
      },
    );
    const first = await ask("one");
    const began = performance.now();
    const texts = ["one", "two"].map(async (threadId) => (await ask(threadId)).text());
    assert.deepEqual(await Promise.all(texts), [whole, whole]);
    const waited = performance.now() - began;
    assert.ok(waited > 1_500 && waited < 15_000, `${Math.round(waited)} ms`);
    assert.deepEqual(asked, ["one", "two", "one"], "the other conversation did not wait");
    end.resolve();
    assert.equal(await first.text(), whole);
    await until(() => bench.calls.length === 6);
    assert.equal(bench.calls.at(-1), "answered 0");
  });
});
