import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterEach, describe, it } from "node:test";
import type { StatusReport } from "../../packages/contract/src/host/status.ts";
import { contextOverflowReply, startServer, type ModelServer, type ReplyStep } from "../servers/server.ts";
import { storedTranscripts } from "../stores/stored-transcripts.ts";
import { AS_PROGRAM } from "./inside.ts";
import { makeSetting, modelConfig, run, finish, type Finished, type Setting } from "./setting.ts";
import { outline, readBody, type WireBody } from "./wire-bodies.ts";
import { firstOf } from "../runner/long-tests.ts";

const ENGINE = resolve(import.meta.dirname, "engines/failing.js");
const WAYS = ["throw", "hang", "nonsense"] as const;
const DEADLINES = {
  assemble: 0.3,
  bootstrap: 0.3,
  compact: 0.3,
  settle: 0.3,
  maintain: 0.3,
  dispose: 0.3,
  factory: 0.3,
};

interface EngineCall {
  name: string;
  failed: boolean;
  texts: string[];
  before?: number;
  key?: string;
}

describe("an engine that fails on demand", () => {
  let server: ModelServer | undefined;
  let setting: Setting | undefined;

  async function prepare(
    engine: Record<string, unknown>,
    reply: (index: number) => ReplyStep = (index) => ({ text: `Reply ${index}.` }),
  ): Promise<{
    ask(prompt: string): Promise<Finished>;
    body(index: number): WireBody;
    calls(): EngineCall[];
    status(): Promise<StatusReport>;
    transcript(): string;
  }> {
    const made = await startServer({
      protocol: "openai-completions",
      script: (_request, index) => reply(index),
    });
    server = made;
    const place = makeSetting();
    setting = place;
    const log = join(place.root, "calls.jsonl");
    const config = modelConfig(
      "openai-completions",
      made.url,
      {},
      {
        agents: { defaults: { engineDeadlines: DEADLINES } },
        plugins: {
          slots: { contextEngine: "failing" },
          load: { paths: [ENGINE] },
          entries: { failing: { config: { ...engine, log, holds: AS_PROGRAM } } },
        },
      },
    );
    writeFileSync(join(place.home, "pagurus.json"), JSON.stringify(config));
    return {
      ask: (prompt) => run(place, prompt),
      body: (index) => {
        const request = made.requests[index];
        assert.ok(request);
        return readBody("openai-completions", request);
      },
      calls: () =>
        existsSync(log)
          ? readFileSync(log, "utf8")
              .trim()
              .split("\n")
              .map((line) => JSON.parse(line) as EngineCall)
          : [],
      status: async () => JSON.parse((await finish(place, ["status", "--json"])).stdout) as StatusReport,
      transcript: () => {
        const [bytes] = storedTranscripts(place.home).values();
        return bytes?.toString("utf8") ?? "";
      },
    };
  }

  afterEach(async () => {
    await server?.close();
    setting?.remove();
  });

  for (const how of firstOf(WAYS)) {
    it(`at assemble (${how}): the plain history and the original prompt are sent, with a report`, async () => {
      const { ask, body, status } = await prepare({ stage: "assemble", how });
      assert.equal((await ask("First?")).code, 0);
      const second = await ask("Second?");
      assert.equal(second.code, 0, second.stderr);
      assert.deepEqual(outline(body(1)), ["user:First?", "assistant:Reply 0.", "user:Second?"]);
      assert.ok(!body(1).system.includes("Engine addition."));
      const last = second.last;
      assert.ok(last?.type === "turn.completed");
      assert.deepEqual(
        last.degraded.map(({ stage, engineId }) => ({ stage, engineId })),
        [{ stage: "assemble", engineId: "failing" }],
      );
      assert.equal(last.engine, "failing", "the engine is never switched");
      assert.ok(
        second.events.some((event) => event.type === "context.degraded" && event.stage === "assemble"),
      );
      const report = await status();
      assert.equal(report.engine.effective, "failing");
      assert.equal(report.degraded.filter(({ stage }) => stage === "assemble").length, 2);
    });

    it(`at bootstrap (${how}): a warning is reported and the turn continues`, async () => {
      const { ask, calls, status } = await prepare({ stage: "bootstrap", how });
      assert.equal((await ask("First?")).code, 0);
      const second = await ask("Second?");
      assert.equal(second.code, 0, second.stderr);
      assert.ok(second.last?.type === "turn.completed" && second.last.degraded[0]?.stage === "bootstrap");
      const names = calls().map((call) => call.name);
      assert.deepEqual(names, [
        "assemble",
        "afterTurn",
        "maintain",
        "dispose",
        "bootstrap",
        "assemble",
        "afterTurn",
        "maintain",
        "dispose",
      ]);
      assert.equal((await status()).degraded[0]?.stage, "bootstrap");
    });

    it(`at compact (${how}): the overflow is a clear error, the history is intact and the session continues`, async () => {
      const { ask, body } = await prepare({ stage: "compact", how }, (index) =>
        index === 1 ? contextOverflowReply("openai-completions") : { text: `Reply ${index}.` },
      );
      assert.equal((await ask("First?")).code, 0);
      const second = await ask("Second?");
      assert.equal(second.code, 1);
      assert.ok(second.last?.type === "turn.failed" && second.last.error.code === "context_overflow");
      assert.ok(second.last.degraded.some(({ stage }) => stage === "compact"));
      assert.equal((await ask("Third?")).code, 0);
      assert.deepEqual(outline(body(2)), ["user:First?", "assistant:Reply 0.", "user:Third?"]);
    });

    it(`at maintain (${how}): the turn is complete and the failure is reported`, async () => {
      const { ask, calls, status } = await prepare({ stage: "maintain", how });
      const first = await ask("First?");
      assert.equal(first.code, 0, first.stderr);
      assert.ok(first.last?.type === "turn.completed" && first.last.degraded[0]?.stage === "maintain");
      assert.equal((await status()).degraded[0]?.stage, "maintain");
      assert.deepEqual(
        calls()
          .map((call) => call.name)
          .slice(0, 3),
        ["assemble", "afterTurn", "maintain"],
      );
    });
  }

  for (const settle of ["afterTurn", "ingestBatch", "ingest", "commitTurn"]) {
    for (const how of settle === "commitTurn" ? WAYS : (["throw", "hang"] as const)) {
      it(`at ${settle} (${how}): the turn is offered again before the next one and nothing is lost`, async () => {
        const { ask, calls, transcript } = await prepare({ stage: "settle", how, settle, times: 1 });
        const first = await ask("First?");
        assert.equal(first.code, 0, first.stderr);
        assert.ok(first.last?.type === "turn.completed" && first.last.degraded[0]?.stage === "settle");
        assert.ok(
          !calls().some((call) => call.name === "maintain"),
          "no maintenance after a turn that was not taken",
        );
        assert.ok(transcript().includes("First?") && transcript().includes("Reply 0."));
        const seen = calls().length;

        const second = await ask("Second?");
        assert.ok(
          second.last?.type === "turn.completed" && second.last.degraded.length === 0,
          JSON.stringify(second.last),
        );
        const later = calls().slice(seen);
        const offered = later.filter((call) => call.name === settle);
        const assembled = later.findIndex((call) => call.name === "assemble");
        assert.ok(
          later.findIndex((call) => call.name === settle) < assembled,
          "offered before the turn is assembled",
        );
        const texts = offered.flatMap((call) => call.texts.slice(call.before ?? 0));
        assert.deepEqual(texts, ["First?", "Reply 0.", "Second?", "Reply 1."]);

        await ask("Third?");
        const again = calls().filter(
          (call) =>
            call.name === settle && !call.failed && call.texts.slice(call.before ?? 0).includes("First?"),
        );
        assert.equal(again.length, 1, "once taken, it is not offered again");
      });
    }
  }

  for (const how of firstOf(WAYS)) {
    it(`in its factory (${how}): the run is refused before it starts, never switched to another engine`, async () => {
      const { ask } = await prepare({ stage: "factory", how });
      const { code, last } = await ask("First?");
      assert.equal(code, 2);
      assert.ok(last?.type === "turn.failed");
      assert.equal(last.error.code, how === "nonsense" ? "engine_contract" : "engine_failed");
      assert.match(last.error.message, /plugins\.slots\.contextEngine/);
      assert.equal(server?.requests.length, 0);
    });
  }

  it("in register: the run is refused with the reason why the plugin failed", async () => {
    const { ask } = await prepare({ stage: "register", how: "throw" });
    const { code, last } = await ask("First?");
    assert.equal(code, 2);
    assert.ok(last?.type === "turn.failed" && last.error.code === "engine_unknown");
    assert.match(last.error.message, /broke at register/);
    assert.equal(server?.requests.length, 0);
  });

  it("with requirements that the runtime lacks: the run is refused with the engine's own message", async () => {
    const { ask } = await prepare({ stage: "requirements", how: "throw" });
    const { code, last } = await ask("First?");
    assert.equal(code, 2);
    assert.ok(last?.type === "turn.failed" && last.error.code === "host_requirement");
    assert.match(last.error.message, /native-thread-of-its-own.*Use another runtime\./);
    assert.equal(server?.requests.length, 0);
  });

  it("at dispose (hang): the process still ends, with the turn's own exit code", async () => {
    const { ask } = await prepare({ stage: "dispose", how: "hang" });
    assert.equal((await ask("First?")).code, 0);
  });
});
