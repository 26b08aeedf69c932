/** A compaction on the command line: notices of a turn, `pagurus compact`, `pagurus status`. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { StatusReport } from "../../../packages/contract/src/host/status.ts";
import { contextOverflowReply, startServer, type ModelServer, type ReplyStep } from "../../servers/server.ts";
import { makeSetting, modelConfig, finish, type Finished, type Setting } from "../setting.ts";
import { readBody } from "../wire-bodies.ts";
import { filler, isSummaryRequest, MODEL_SUMMARY, RESERVES, summaryIn } from "./setting.ts";

describe("compaction at the command line", () => {
  let server: ModelServer;
  let setting: Setting;
  let turns: ReplyStep[];

  afterEach(async () => {
    setting.remove();
    await server.close();
  });

  async function open(compaction: Record<string, unknown> = {}): Promise<void> {
    turns = [];
    server = await startServer({
      protocol: "openai-completions",
      script: (request) =>
        isSummaryRequest(readBody("openai-completions", request))
          ? { text: MODEL_SUMMARY }
          : (turns.shift() ?? { text: "ok" }),
    });
    const model = { contextWindow: 30_000, maxTokens: 1_000 };
    const defaults = { compaction: { ...RESERVES, ...compaction } };
    setting = makeSetting(modelConfig("openai-completions", server.url, model, { agents: { defaults } }));
    for (const word of ["amber", "birch"]) await command("run", filler(6_000, word));
  }

  async function command(...args: string[]): Promise<Finished> {
    const finished = await finish(setting, args);
    assert.equal(finished.code, 0, finished.stderr);
    return finished;
  }

  function lastBody(): ReturnType<typeof readBody> {
    const request = server.requests.at(-1);
    assert.ok(request);
    return readBody("openai-completions", request);
  }

  it("a turn reports it before and after, with the saved tokens, and status lists it", async () => {
    await open();
    turns.push(contextOverflowReply("openai-completions"), { text: "the answer" });
    const { stdout, stderr } = await command("run", "go on");
    assert.equal(stdout, "the answer\n");
    assert.match(
      stderr,
      /compacting [\d,.]+ tokens \(overflow\)…\n.*compacted by legacy: [\d,.]+ → [\d,.]+ tokens/,
    );
    assert.equal(summaryIn(lastBody())?.slice(0, MODEL_SUMMARY.length), MODEL_SUMMARY);
    const status = JSON.parse((await command("status", "--json")).stdout) as StatusReport;
    assert.deepEqual(
      status.recentCompactions.map(({ lane, trigger, handledBy }) => [lane, trigger, handledBy]),
      [["queued", "overflow", "legacy"]],
    );
  });

  it("notifyUser: false reports nothing", async () => {
    await open({ notifyUser: false });
    turns.push(contextOverflowReply("openai-completions"), { text: "the answer" });
    const { stderr } = await command("run", "go on");
    assert.doesNotMatch(stderr, /compact/);
    assert.notEqual(summaryIn(lastBody()), undefined);
  });

  it("pagurus compact starts it manually; the next process continues with the summary", async () => {
    await open();
    const { stdout } = await command("compact", "the colours");
    assert.match(stdout, /[\d,.]+ .*tokens/);
    const summary = server.requests
      .map((request) => readBody("openai-completions", request))
      .find(isSummaryRequest);
    assert.match(summary?.messages[0]?.text ?? "", /The user asks of this summary: the colours/);
    await command("run", "go on");
    assert.equal(summaryIn(lastBody())?.slice(0, MODEL_SUMMARY.length), MODEL_SUMMARY);
    assert.ok(lastBody().messages.every(({ text }) => !text.includes(filler(6_000, "amber"))));
  });
});
