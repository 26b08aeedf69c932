import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { TurnEvent } from "../../../packages/contract/src/host/events.ts";
import type { RunRequest } from "../../../packages/contract/src/host/run.ts";
import type { MessageEntry } from "../../../packages/contract/src/session/transcript.ts";
import { PluginSubagents } from "../../../packages/host/src/plugin/compat/plugin-subagent.ts";
import { offerTranscripts } from "../../../packages/host/src/plugin/compat/transcripts.ts";

const CHILD = "agent:main:subagent:1";

/** A host whose turns have scripted ends. */
class Runs {
  readonly asked: RunRequest[] = [];
  readonly deleted: object[] = [];
  readonly #end: () => Promise<TurnEvent>;

  constructor(end: () => Promise<TurnEvent>) {
    this.#end = end;
  }

  async *run(request: RunRequest): AsyncGenerator<TurnEvent> {
    this.asked.push(request);
    yield await this.#end();
  }

  async deleteSession(request: object): Promise<void> {
    this.deleted.push(request);
  }
}

const completed = (): Promise<TurnEvent> => Promise.resolve({ type: "turn.completed" } as TurnEvent);

describe("an agent that a plugin for OpenClaw starts", () => {
  let withdraw: (() => void) | undefined;
  afterEach(() => withdraw?.());

  it("runs in the session that is named, with its model and its instructions, and can be waited for", async () => {
    const runs = new Runs(completed);
    const agents = new PluginSubagents("claw", runs);
    const { runId } = await agents.run({
      sessionKey: CHILD,
      message: "look",
      extraSystemPrompt: "You look.",
      provider: "test",
      model: "small",
    });
    assert.deepEqual(await agents.waitForRun({ runId }), { status: "ok" });
    assert.deepEqual(runs.asked, [
      {
        prompt: "look",
        sessionKey: CHILD,
        agentId: "main",
        model: "test/small",
        additionalContext: { instructions: { value: "You look.", kind: "application" } },
      },
    ]);
  });

  it("is one run for one idempotency key", async () => {
    const runs = new Runs(completed);
    const agents = new PluginSubagents("claw", runs);
    const ask = { sessionKey: CHILD, message: "look", idempotencyKey: "once" };
    assert.deepEqual([await agents.run(ask), await agents.run(ask)], [{ runId: "once" }, { runId: "once" }]);
    await agents.waitForRun({ runId: "once" });
    assert.equal(runs.asked.length, 1);
  });

  it("reports its failure, that it is still running, and that it is unknown", async () => {
    const error = { code: "model_unknown", message: "No such model." };
    const failing = new PluginSubagents(
      "claw",
      new Runs(async () => ({ type: "turn.failed", error, degraded: [] })),
    );
    const { runId } = await failing.run({ sessionKey: CHILD, message: "look" });
    assert.deepEqual(await failing.waitForRun({ runId }), { status: "error", error: "No such model." });
    const waiting = Promise.withResolvers<TurnEvent>();
    const slow = new PluginSubagents("claw", new Runs(() => waiting.promise));
    const started = await slow.run({ sessionKey: CHILD, message: "look" });
    assert.deepEqual(await slow.waitForRun({ ...started, timeoutMs: 1 }), { status: "timeout" });
    waiting.resolve(await completed());
    assert.deepEqual(await slow.waitForRun(started), { status: "ok" });
    assert.match((await slow.waitForRun({ runId: "other" })).error ?? "", /has no run other/);
  });

  it("is read by its session, keeping the newest messages", async () => {
    const entry = (id: string): MessageEntry => ({
      type: "message",
      id,
      parentId: null,
      timestamp: "2026-01-01T00:00:00.000Z",
      message: { role: "user", content: id },
    });
    withdraw = offerTranscripts(({ sessionKey }) =>
      sessionKey === CHILD
        ? (async function* () {
            yield* ["1", "2", "3"].map((id) => entry(id));
          })()
        : undefined,
    );
    const agents = new PluginSubagents("claw", new Runs(completed));
    const read = async (asked: { sessionKey: string; limit?: number }) =>
      (await agents.getSessionMessages(asked)).messages.map(({ content }) => content);
    assert.deepEqual(await read({ sessionKey: CHILD }), ["1", "2", "3"]);
    assert.deepEqual(await read({ sessionKey: CHILD, limit: 2 }), ["2", "3"]);
    assert.deepEqual(await read({ sessionKey: "nobody's" }), []);
  });

  it("can have its own session deleted, and no other", async () => {
    withdraw = offerTranscripts(({ sessionKey }) =>
      sessionKey === "main" ? (async function* () {})() : undefined,
    );
    const runs = new Runs(completed);
    const agents = new PluginSubagents("claw", runs);
    await agents.run({ sessionKey: CHILD, message: "look" });
    await agents.run({ sessionKey: "main", message: "look" });
    await agents.deleteSession({ sessionKey: CHILD, deleteTranscript: false });
    await agents.deleteSession({ sessionKey: CHILD });
    assert.deepEqual(runs.deleted, [{ sessionKey: CHILD, agentId: "main" }]);
    await assert.rejects(agents.deleteSession({ sessionKey: "main" }), { code: "usage_invalid" });
    await assert.rejects(agents.deleteSession({ sessionKey: CHILD }), { code: "usage_invalid" });
  });
});
