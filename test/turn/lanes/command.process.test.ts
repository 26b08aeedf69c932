/** A compaction as a user of the command line sees it: notices of a turn, `pagurus compact`, `pagurus status`. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { StatusReport } from "../../../src/contract/status.ts";
import { contextOverflowReply, startServer, type ModelServer, type ReplyStep } from "../../servers/server.ts";
import { makeSetting, modelConfig, start, type Finished, type Setting } from "../setting.ts";
import { readBody } from "../wire-bodies.ts";
import { filler, isSummaryRequest, MODEL_SUMMARY, ROOM, summaryIn } from "./setting.ts";

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
    const defaults = { compaction: { ...ROOM, ...compaction } };
    setting = makeSetting(modelConfig("openai-completions", server.url, model, { agents: { defaults } }));
    for (const word of ["amber", "birch"]) await command("run", filler(6_000, word));
  }

  async function command(...args: string[]): Promise<Finished> {
    const finished = await start(setting, args).finished;
    assert.equal(finished.code, 0, finished.stderr);
    return finished;
  }

  function lastBody(): ReturnType<typeof readBody> {
    const request = server.requests.at(-1);
    assert.ok(request);
    return readBody("openai-completions", request);
  }

  it("a turn tells of it before and after, with what it saved, and status lists it", async () => {
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

  it("notifyUser: false says nothing of it", async () => {
    await open({ notifyUser: false });
    turns.push(contextOverflowReply("openai-completions"), { text: "the answer" });
    const { stderr } = await command("run", "go on");
    assert.doesNotMatch(stderr, /compact/);
    assert.notEqual(summaryIn(lastBody()), undefined);
  });

  it("pagurus compact asks for it by hand; the next process goes on with the summary", async () => {
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
