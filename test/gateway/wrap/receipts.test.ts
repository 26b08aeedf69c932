import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { heldCosts } from "../../../packages/host/src/turn/cost/held-costs.ts";
import { answer, complete, Played, request, user, WrapBench } from "./bench.ts";

describe("the receipts of a wrapped program's requests", () => {
  let bench: WrapBench;
  afterEach(() => bench.end());

  it("have the window of the turn's model, beside which a refused request is measured", async () => {
    bench = new WrapBench();
    const governor = await bench.open();
    const asked = request({ messages: [user("One?")] });
    assert.equal(governor.windowOf(asked), undefined);
    await governor.main(asked, { request: 1, signal: new AbortController().signal });
    assert.equal(governor.windowOf(asked), 200_000);
  });

  it("are of a turn that names the parts of an answer that the session does not have", async () => {
    bench = new WrapBench();
    await bench.open();
    const program = new Played(bench);
    await program.governed(user("Sing?"));
    await program.isAnswered(answer("La."), {
      ...complete(answer("La.")),
      degraded: ["audio", "an image"],
    });
    await bench.governor.close();
    const { degraded } = await bench.pagurus.status({ sessionKey: "work" });
    assert.deepEqual(
      degraded.map(({ stage, reason }) => `${stage}: ${reason}`),
      ["answer: the answer carried audio, an image, which its message does not have"],
    );
    assert.ok(bench.notices.some((notice) => notice.includes("audio, an image")));
  });

  it("have the provider's diagnosis, and the next request's context the id to compare with", async () => {
    bench = new WrapBench();
    await bench.open();
    const program = new Played(bench);
    const first = await program.governed(user("One?"));
    assert.equal(first.context.previousResponseId, undefined);
    await program.isAnswered(answer("First."), {
      ...complete(answer("First.")),
      cache: { responseId: "msg_1" },
    });
    const diagnosis = { reason: "messages_changed", missedTokens: 12 };
    const next = await program.governed(user("Two?"));
    assert.equal(next.context.previousResponseId, "msg_1");
    await program.isAnswered(answer("Second."), {
      ...complete(answer("Second.")),
      cache: { responseId: "msg_2", diagnosis },
    });
    const [newest] = await bench.pagurus.context.receipts({ sessionKey: "work" });
    assert.deepEqual(newest?.cache, { responseId: "msg_2", diagnosis });
  });

  it("hold the cost of a request until its answer ends, with an error too, while the turn waits for a retry", async () => {
    bench = new WrapBench();
    const { local } = WrapBench.CONFIG.models.providers;
    const models = local.models.map((model) => ({ ...model, cost: { input: 1, output: 10 } }));
    const agents = { defaults: { maxCost: { day: 100 } } };
    const config = { agents, models: { providers: { local: { ...local, models } } } };
    await bench.open({}, { config });
    const held = (): number => heldCosts(bench.pagurus.sessions()).all;
    const program = new Played(bench);
    await program.asks(user("One?"));
    assert.ok(held() > 0);
    const { usage, ...failed } = complete(answer(""));
    assert.ok(usage);
    await program.fails({ ...failed, error: { message: "Overloaded.", overflow: false } });
    assert.equal(held(), 0);
    await program.asks();
    assert.ok(held() > 0);
    await program.isAnswered(answer("Yes."));
    assert.equal(held(), 0);
    await bench.governor.close();
    assert.deepEqual(bench.transcript(), ["user: One?", "assistant: Yes."]);
  });
});
