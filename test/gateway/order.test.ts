/** Requests of a route, and which of them wait for which. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { setImmediate as turnOfLoop } from "node:timers/promises";
import { Conversations, type Stages } from "../../packages/gateway/src/request/order.ts";
import { Bench } from "./exchange-bench.ts";
import { MESSAGES } from "./openings.ts";
import { TestClock } from "../runner/test-clock.ts";
import { until } from "../runner/until.ts";

/** How long a request waits for an answer that streams, ms. */
const STREAMING_MS = 2_000;

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
    const clock = new TestClock();
    const conversations = new Conversations(clock);
    const first = new Played(conversations, { threadId: "a" });
    const second = new Played(conversations, { threadId: "a" });
    clock.move(3 * STREAMING_MS);
    await turnOfLoop();
    assert.ok(!second.hasBegun, "nothing has come of the first");
    first.stages?.streams();
    first.stages?.streamed();
    await turnOfLoop();
    clock.move(3 * STREAMING_MS);
    await turnOfLoop();
    assert.ok(!second.hasBegun, "the first is being recorded");
    await first.end();
    await second.began.promise;
    await second.end();
  });

  it("waits only for a limited time for an answer that still streams", async () => {
    const clock = new TestClock();
    const conversations = new Conversations(clock);
    const first = new Played(conversations);
    first.stages?.streams();
    clock.move(2 * STREAMING_MS);
    const second = new Played(conversations);
    await clock.paused(STREAMING_MS);
    clock.move(STREAMING_MS - 1);
    await turnOfLoop();
    assert.ok(!second.hasBegun, "the answer may be at its end");
    clock.move(1);
    await second.began.promise;
    const third = new Played(conversations);
    clock.move(STREAMING_MS);
    await turnOfLoop();
    assert.ok(!third.hasBegun, "it waits for the second");
    await Promise.all([first.end(), second.end()]);
    await third.began.promise;
    await third.end();
  });

  it("is kept for each conversation separately", async () => {
    const conversations = new Conversations();
    const all = [{ threadId: "a" }, { threadId: "b" }, { threadId: "a", agentId: "c" }, {}].map(
      (native) => new Played(conversations, native),
    );
    await Promise.all(all.map(({ began }) => began.promise));
    await Promise.all(all.map((played) => played.end()));
  });

  it("drops a request whose harness has disconnected, and keeps the order for the next one", async () => {
    const conversations = new Conversations();
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
    const clock = new TestClock();
    bench = new Bench("anthropic-messages", { clock });
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
    const texts = ["one", "two"].map(async (threadId) => (await ask(threadId)).text());
    assert.equal(await texts[1], whole);
    await clock.pass(STREAMING_MS);
    assert.deepEqual(await Promise.all(texts), [whole, whole]);
    assert.deepEqual(asked, ["one", "two", "one"], "the other conversation did not wait");
    end.resolve();
    assert.equal(await first.text(), whole);
    await until(() => bench.calls.length === 6);
    assert.equal(bench.calls.at(-1), "answered 0");
  });
});
