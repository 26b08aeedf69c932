/** Limits that a model can reach, in a host in this process: retry time, bounds of calls, repeats. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import type { TurnEvent } from "../../packages/contract/src/host/events.ts";
import { exitCodeFor } from "../../packages/cli/src/cli-failure.ts";
import type { PagurusConfig } from "../../packages/core/src/config/config-types.ts";
import { parseEntry } from "../../packages/host/src/stores/files/transcript/transcript-entry.ts";
import type { ReplyScript, ReplyStep } from "../servers/server.ts";
import { Bench, eventsOf } from "./in-process.ts";
import { modelConfig } from "./setting.ts";

/** The error of a turn that has to fail. */
function failure(events: readonly TurnEvent[]): { code: string; message: string } {
  const last = events.at(-1);
  assert.equal(last?.type, "turn.failed", JSON.stringify(last));
  return last.error;
}

describe("the retry time of a turn", () => {
  let bench: Bench;
  afterEach(() => bench.end());
  const busy: ReplyScript = () => ({ status: 429, headers: { "retry-after": "600" } });

  it("is agents.defaults.retry, else 1,800 s, and 300 s in a one-shot run (finding A9)", async () => {
    bench = await Bench.with(busy);
    const refusing = await bench.host({ defaults: { retry: { maxElapsedSeconds: 7 } } });
    const configured = failure(await eventsOf(refusing.run({ prompt: "Hi", cwd: bench.root })));
    assert.equal(configured.code, "model_rate_limited");
    assert.match(configured.message, /wait until .*\d\d:\d\d \(600 s\), and .*maxElapsedSeconds allows 7 s/);
    const plain = await bench.host({ more: { home: `${bench.root}/other` } });
    const oneShot = await eventsOf(plain.run({ prompt: "Hi", cwd: bench.root, oneShot: true }));
    assert.match(failure(oneShot).message, /allows 300 s/);
  });

  it("is a wait that an abort ends, announced with its length (finding A9)", async () => {
    bench = await Bench.with(busy);
    const pagurus = await bench.host();
    const controller = new AbortController();
    const run = pagurus.run({ prompt: "Hi", cwd: bench.root, signal: controller.signal });
    const events: TurnEvent[] = [];
    for await (const event of run) {
      events.push(event);
      if (event.type === "model.retry") controller.abort();
    }
    const retry = events.find((event) => event.type === "model.retry");
    assert.ok(retry?.type === "model.retry" && retry.delayMs >= 600_000, JSON.stringify(retry));
    assert.equal(bench.server.requests.length, 1);
  });
});

describe("an answer at the output limit", () => {
  let bench: Bench;
  afterEach(() => bench.end());
  it("makes none of its calls, and their results give the model the reason (finding F12)", async () => {
    bench = await Bench.with([
      {
        text: "I write two files.",
        toolCalls: [
          { id: "c1", name: "write", arguments: { path: "whole.txt", content: "x" } },
          { id: "c2", name: "write", arguments: {} },
        ],
        rawArguments: '{"path": "half.txt", "cont',
        stop: "length",
      },
      { text: "Then again, smaller." },
    ]);
    const pagurus = await bench.host();
    const events = await bench.ask(pagurus, "Write", { permission: "auto" });
    const completed = events.filter((event) => event.type === "tool.completed");
    assert.deepEqual(
      completed.map((event) => event.outcome.isError),
      [true, true],
    );
    const results = bench.body(1).messages.flatMap((message) => message.results);
    assert.equal(results.length, 2);
    for (const { text } of results)
      assert.match(text, /came in an answer that was cut at the output limit\. Nothing was done/);
  });
});

describe("arguments of a call that are too deep or too large", () => {
  let bench: Bench;
  afterEach(() => bench.end());
  const deep = (levels: number): string => `{"a":${"[".repeat(levels)}${"]".repeat(levels)}}`;
  const large = `{"path":"a.txt","content":"${"x".repeat(9_000_000)}"}`;

  for (const [name, rawArguments, why] of [
    ["2,500 levels", deep(2_500), /nest deeper than 100 levels/],
    ["100,000 levels", deep(100_000), /nest deeper than 100 levels/],
    ["9 MB", large, /have more than 4194304 characters/],
  ] as const) {
    it(`neither run nor end a turn, and the session continues: ${name} (finding F8, F9)`, async () => {
      const call = {
        toolCalls: [{ id: "c1", name: "write", arguments: {} }],
        rawArguments,
        chunkSize: 100_000,
      };
      bench = await Bench.with((_request, index) => (index % 3 === 0 ? call : { text: `Reply ${index}.` }));
      for (const engine of ["lossless", "legacy"]) {
        const more = {
          home: join(bench.root, engine),
          config: modelConfig("openai-completions", bench.server.url, undefined, {
            plugins: { slots: { contextEngine: engine } },
          }),
        };
        const before = bench.server.requests.length;
        const pagurus = await bench.host({ more });
        const events = await bench.ask(pagurus, "Write", { permission: "auto" });
        assert.deepEqual(
          events.filter((event) => event.type === "context.degraded"),
          [],
        );
        JSON.stringify(events);
        const [result] = bench.body(before + 1).messages.flatMap((message) => message.results);
        assert.match(result?.text ?? "", why);
        await bench.ask(pagurus, "And now?");
      }
    });
  }

  it("are bounded in a transcript that has them already (finding F8)", () => {
    const line = `{"type":"message","id":"e1","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"write","arguments":${deep(5_000)}}]}}`;
    const parsed = parseEntry(Buffer.from(line));
    assert.ok("entry" in parsed && parsed.entry.type === "message");
    const copy = structuredClone(parsed.entry.message);
    assert.deepEqual(copy.role === "assistant" && copy.content, [
      {
        type: "toolCall",
        id: "c1",
        name: "write",
        arguments: { __refused_arguments: "nest deeper than 100 levels" },
      },
    ]);
  });
});

describe("a call that fails in the same way", () => {
  let bench: Bench;
  afterEach(() => bench.end());
  const failing = (path = "none.txt"): ReplyStep => ({
    toolCalls: [{ id: "c", name: "read", arguments: { path } }],
  });
  const lastResult = (index: number): string =>
    bench
      .body(index)
      .messages.flatMap((message) => message.results)
      .at(-1)?.text ?? "";

  it("is reported to the model from the fifth time on, and ends the turn at the tenth (finding A8)", async () => {
    bench = await Bench.with(() => failing());
    const pagurus = await bench.host();
    const { code, message } = failure(await eventsOf(pagurus.run({ prompt: "Read it", cwd: bench.root })));
    assert.equal(code, "repeat_limit");
    assert.match(message, /"read" failed in the same way 10 times/);
    assert.equal(bench.server.requests.length, 10);
    assert.doesNotMatch(lastResult(4), /in the same way/);
    assert.match(lastResult(5), /failed in the same way 5 times in this turn/);
    assert.match(lastResult(9), /failed in the same way 9 times in this turn/);
  });

  it("is counted again after progress, and not together with other calls (finding A8)", async () => {
    bench = await Bench.with((_request, index) => {
      if (index >= 40) return { text: "Done." };
      if (index % 8 < 7) return failing();
      const content = String(index);
      return { toolCalls: [{ id: "w", name: "write", arguments: { path: `${index}.txt`, content } }] };
    });
    const pagurus = await bench.host();
    const events = await bench.ask(pagurus, "Go", { permission: "auto" });
    assert.equal(events.filter((event) => event.type === "tool.completed").length, 40);
  });

  it("is the same where only numbers in its result differ (finding A8)", async () => {
    const command = 'echo "pid $$ after $(date +%N) ns"; exit 3';
    const call = { toolCalls: [{ id: "c", name: "shell", arguments: { command } }] };
    bench = await Bench.with((_request, index) => (index >= 15 ? { text: "Done." } : call));
    const pagurus = await bench.host();
    const run = pagurus.run({ prompt: "Test", cwd: bench.root, permission: "auto" });
    assert.equal(failure(await eventsOf(run)).code, "repeat_limit");
    assert.equal(bench.server.requests.length, 10);
  });

  it("is still counted after read-only calls (finding A8)", async () => {
    bench = await Bench.with((_request, index) => {
      if (index >= 25) return { text: "Done." };
      if (index % 2 === 0) return failing();
      return { toolCalls: [{ id: "g", name: "glob", arguments: { pattern: `*.${index}` } }] };
    });
    const pagurus = await bench.host();
    const events = await eventsOf(pagurus.run({ prompt: "Read it", cwd: bench.root }));
    assert.equal(failure(events).code, "repeat_limit");
    assert.equal(bench.server.requests.length, 19);
  });

  it("is counted in answers that are cut at the output limit too (finding A8, F12)", async () => {
    bench = await Bench.with(() => ({ ...failing(), stop: "length" }));
    const pagurus = await bench.host();
    const events = await eventsOf(pagurus.run({ prompt: "Read it", cwd: bench.root }));
    assert.equal(failure(events).code, "repeat_limit");
  });
});

describe("the offline model", () => {
  let bench: Bench;
  afterEach(() => bench.end());

  it("does not answer when the configuration misspells another model (finding A8)", async () => {
    bench = await Bench.with([]);
    const cases: [PagurusConfig, RegExp][] = [
      [
        { agents: { defaults: { modle: "anthropic/claude-sonnet-5-5" } as object } },
        /agents\.defaults\.modle is not a known key \(did you mean agents\.defaults\.model\?\)/,
      ],
      [{ modles: { providers: {} } } as object, /modles is not a known key \(did you mean models\?\)/],
      [
        { models: { providers: { local: { api: "openai-completions" } } } },
        /models\.providers\.local lists no models/,
      ],
      [{ agents: { defaults: { model: "anthropc/claude-sonnet-5-5" } } }, /Did you mean anthropic\/claude/],
      [{ agents: { defaults: { model: "anthropic/claude-sonnet-5-5" } } }, /needs a key.*ANTHROPIC_API_KEY/],
    ];
    for (const [index, [config, words]] of cases.entries()) {
      const pagurus = await bench.host({ more: { home: join(bench.root, String(index)), config } });
      const { code, message } = failure(await eventsOf(pagurus.run({ prompt: "Hi", cwd: bench.root })));
      assert.match(message, words);
      assert.equal(exitCodeFor(code), 2, code);
      const status = await pagurus.status({ cwd: bench.root });
      assert.ok(status.problems.some((problem) => problem.code === code));
    }
  });

  it("answers when nothing is configured, and by name (finding A8)", async () => {
    bench = await Bench.with([]);
    const plain = await bench.host({ more: { home: join(bench.root, "plain"), config: {} } });
    await bench.ask(plain, "Hello");
    const wrong = { agents: { defaults: { modle: "x" } as object } };
    const named = await bench.host({ more: { home: join(bench.root, "named"), config: wrong } });
    await bench.ask(named, "Hello", { model: "offline/extract" });
  });
});
