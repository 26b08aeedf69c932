/** Codex's own compaction: where it keeps the context, and where an engine that governs did not request it. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { TurnEvent } from "../../../packages/contract/src/host/events.ts";
import type { RecordedRequest, ReplyStep } from "../../servers/server.ts";
import { CodexBench, conversation } from "./codex-bench.ts";

const PAGE = { value: "The page shows a harbour.", kind: "untrusted" as const };
const RULE = { value: "Answer in one line.", kind: "application" as const };
const SET = { additionalContext: { page: PAGE, rule: RULE } };

function isSummary({ headers }: RecordedRequest): boolean {
  return String(headers["x-codex-turn-metadata"]).includes('"request_kind":"compaction"');
}

function compactions(events: readonly TurnEvent[]): TurnEvent[] {
  return events.filter(({ type }) => type.startsWith("compaction."));
}

const FULL = { input: 300_000, output: 20 };

describe("where no engine governs, Codex", () => {
  let bench: CodexBench;
  afterEach(() => bench.end());

  /** Answers summaries; `step` answers the rest, by its number. */
  async function begin(step: (index: number) => ReplyStep): Promise<void> {
    let asked = 0;
    bench = await CodexBench.with((request) =>
      isSummary(request) ? { text: "SUMMARY OF IT." } : step(asked++),
    );
  }

  it("compacts its thread inside a turn as it always does, reported as native, and the thread continues", async () => {
    await begin((index) => ({ text: `Answer ${index}.`, ...(index === 1 ? { usage: FULL } : {}) }));
    const pagurus = await bench.host({ slot: "legacy" });
    await bench.ask(pagurus, "First?", SET);
    await bench.ask(pagurus, "Second?", SET);
    const events = await bench.ask(pagurus, "Third?", SET);
    const reported = compactions(events);
    assert.deepEqual(
      reported.map((event) => event.type),
      ["compaction.started", "compaction.completed"],
    );
    const done = reported[1];
    assert.ok(done?.type === "compaction.completed");
    const { lane, backend, ownsCompaction, tokensBefore, tokensAfter, handledBy } = done;
    assert.deepEqual(
      { lane, backend, ownsCompaction, handledBy },
      { lane: "harness", backend: "codex-app-server", ownsCompaction: false, handledBy: "codex-app-server" },
    );
    assert.ok(
      tokensBefore >= 300_000 && tokensAfter > 0 && tokensAfter < tokensBefore,
      `${tokensBefore} ${tokensAfter}`,
    );
    await bench.ask(pagurus, "Fourth?", SET);
    const shown = conversation(bench.request(-1));
    assert.equal(shown.filter((line) => line.includes("SUMMARY OF IT.")).length, 1, shown.join("\n"));
    assert.ok(!shown.some((line) => line.startsWith("assistant: Answer 0.")), "what Codex dropped is gone");
    assert.equal(shown.at(-1), "user: Fourth?");
    for (const line of ["user: Third?", "assistant: Answer 2."])
      assert.equal(shown.filter((each) => each === line).length, 1, shown.join("\n"));
    const transcript = pagurus.sessions().openReader("main");
    const words = JSON.stringify(transcript.contextMessages().messages);
    transcript.close();
    for (const word of ["Answer 0.", "Answer 1.", "Answer 2.", "Answer 3."]) assert.ok(words.includes(word));
    assert.ok(!words.includes("SUMMARY OF IT."), "the summary is Codex's own");
  });

  it("shows additional context again, once, that its compaction removed", async () => {
    await begin((index) => ({ text: `Answer ${index}.`, ...(index === 1 ? { usage: FULL } : {}) }));
    const pagurus = await bench.host({ slot: "legacy" });
    for (const prompt of ["First?", "Second?", "Third?", "Fourth?"]) await bench.ask(pagurus, prompt, SET);
    const text = JSON.stringify(bench.request(-1).body["input"]);
    assert.equal(text.split(PAGE.value).length, 2, "the page once");
    assert.equal(text.split(RULE.value).length, 2, "the rule once");
  });

  it("compacts its thread on /compact, also for a restarted host, and the next turn continues from that (finding D12)", async () => {
    await begin((index) => ({ text: `Answer ${index}.`, usage: { input: 20_000, output: 5 } }));
    const first = await bench.host({ slot: "legacy" });
    await bench.ask(first, "First?", SET);
    await bench.ask(first, "Second?", SET);
    await first.close();
    const pagurus = await bench.host({ slot: "legacy" });
    const report = await pagurus.compact({ cwd: bench.cwd });
    assert.equal(report.compacted, true, report.reason);
    // Both as Codex counts: the host's own estimate of two short messages is not comparable.
    assert.equal(report.tokensBefore, 20_005);
    assert.ok((report.tokensAfter ?? 0) > 100 && (report.tokensAfter ?? 0) < 20_005, `${report.tokensAfter}`);
    assert.equal(bench.server.requests.filter(isSummary).length, 1);
    await bench.ask(pagurus, "Third?", SET);
    const shown = conversation(bench.request(-1));
    assert.ok(
      shown.some((line) => line.includes("SUMMARY OF IT.")),
      shown.join("\n"),
    );
    assert.ok(!shown.some((line) => line.startsWith("assistant: Answer 0.")));
    assert.equal(shown.at(-1), "user: Third?");
    const text = JSON.stringify(bench.request(-1).body["input"]);
    assert.equal(text.split(PAGE.value).length, 2, "the page once");
    assert.equal(text.split(RULE.value).length, 2, "the rule once");
  });

  it("keeps its thread when a summary fails, and says why", async () => {
    let isDown = false;
    bench = await CodexBench.with((request, index) =>
      isSummary(request) && isDown ? { status: 400 } : { text: `Answer ${index}.` },
    );
    const pagurus = await bench.host({ slot: "legacy" });
    await bench.ask(pagurus, "First?");
    isDown = true;
    const report = await pagurus.compact({ cwd: bench.cwd });
    assert.equal(report.compacted, false);
    assert.match(report.reason ?? "", /\w{4}/);
    await bench.ask(pagurus, "Second?");
    const shown = conversation(bench.request(-1));
    assert.deepEqual(shown, ["user: First?", "assistant: Answer 0.", "user: Second?"]);
  });

  it("shows additional context after a /compact that was aborted, whatever its outcome", async () => {
    const held = Promise.withResolvers<void>();
    let asked = 0;
    bench = await CodexBench.with(async (request) => {
      if (!isSummary(request)) return { text: `Answer ${asked++}.` };
      await held.promise;
      return { text: "SUMMARY OF IT." };
    });
    const pagurus = await bench.host({ slot: "legacy" });
    await bench.ask(pagurus, "First?", SET);
    await bench.ask(pagurus, "Second?", SET);
    const stop = new AbortController();
    const compaction = pagurus.compact({ cwd: bench.cwd, signal: stop.signal });
    while (!bench.server.requests.some(isSummary)) await new Promise((resolve) => setTimeout(resolve, 20));
    stop.abort();
    await assert.rejects(compaction, { code: "turn_aborted" });
    held.resolve();
    await bench.ask(pagurus, "Third?", SET);
    const text = JSON.stringify(bench.request(-1).body["input"]);
    // At worst a second time, where the interrupted compaction removed nothing.
    for (const { value } of [PAGE, RULE]) assert.ok(text.includes(value), value);
    assert.match(text, /Third\?/);
  });

  it("gets no summary request from the host when the history outgrows the window", async () => {
    const long = "The keeper of the quay wrote down which ships had come. ".repeat(400);
    await begin((index) => ({ text: `Answer ${index}. ${long}`, usage: { input: 100, output: 10 } }));
    const pagurus = await bench.host({ slot: "legacy", contextWindow: 20_000 });
    const events: TurnEvent[] = [];
    for (const prompt of ["First?", "Second?", "Third?", "Fourth?", "Fifth?"])
      events.push(...(await bench.ask(pagurus, prompt)));
    assert.deepEqual(compactions(events), []);
    assert.equal(new Set(bench.server.requests.map(({ body }) => body["prompt_cache_key"])).size, 1);
  });

  it("takes steering that comes during a compaction once that is over", async () => {
    const held = Promise.withResolvers<void>();
    let asked = 0;
    bench = await CodexBench.with(async (request) => {
      if (isSummary(request)) {
        await held.promise;
        return { text: "SUMMARY OF IT." };
      }
      const index = asked++;
      return {
        text: `Answer ${index}.`,
        delayMs: index === 1 ? 40 : 0,
        ...(index === 0 ? { usage: FULL } : {}),
      };
    });
    const pagurus = await bench.host({ slot: "legacy" });
    await bench.ask(pagurus, "First?");
    const run = pagurus.run({ prompt: "Second?", cwd: bench.cwd });
    let last: TurnEvent | undefined;
    for await (const event of run) {
      if (event.type === "compaction.started") {
        run.steer("Hurry.");
        setTimeout(() => held.resolve(), 300);
      }
      last = event;
    }
    assert.equal(last?.type, "turn.completed", JSON.stringify(last));
    const shown = conversation(bench.request(-1));
    assert.equal(shown.filter((line) => line === "user: Hurry.").length, 1, shown.join("\n"));
  });
});

describe("where an engine governs and Codex compacts anyway", () => {
  let bench: CodexBench;
  afterEach(() => bench.end());

  it("that is reported as native and not as the engine's, and the next turn has the engine's context on a new thread", async () => {
    let asked = 0;
    bench = await CodexBench.with((request) => {
      if (isSummary(request)) return { text: "SUMMARY OF IT." };
      const index = asked++;
      // Beyond the limit in the catalog that prevents it.
      return {
        text: `Answer ${index}.`,
        ...(index === 0 ? { usage: { input: 99_000_000, output: 20 } } : {}),
      };
    });
    const pagurus = await bench.host();
    await bench.ask(pagurus, "First?", SET);
    const events = await bench.ask(pagurus, "Second?", SET);
    const [, done] = compactions(events);
    assert.ok(done?.type === "compaction.completed", JSON.stringify(compactions(events)));
    assert.equal(done.lane, "harness");
    assert.equal(done.backend, "codex-app-server");
    assert.equal(done.ownsCompaction, true);
    assert.ok(events.some((event) => event.type === "notice" && event.kind === "native_compaction"));
    await bench.ask(pagurus, "Third?", SET);
    const shown = conversation(bench.request(-1)).filter((line) => !line.includes(PAGE.value));
    // Messages sent to Codex again may have arrived after its request, and then it answers once more.
    assert.deepEqual(
      shown.filter((line) => line !== "assistant: Answer 2."),
      ["user: First?", "assistant: Answer 0.", "user: Second?", "assistant: Answer 1.", "user: Third?"],
    );
    const text = JSON.stringify(bench.request(-1).body["input"]);
    assert.equal(text.split(PAGE.value).length, 2, "the page once");
  });
});
