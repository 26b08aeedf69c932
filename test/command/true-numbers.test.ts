/** One computation of the context, its end and the next compaction: every place that shows it has the same numbers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { execute } from "../../packages/cli/src/cli-program.ts";
import { StatusLine } from "../../packages/cli/src/terminal/status-line.ts";
import { themeOf } from "../../packages/cli/src/terminal/theme.ts";
import {
  contextText,
  gaugeEnd,
  nextCompaction,
  turnGauge,
} from "../../packages/host/src/command/context-gauge.ts";
import { runCommand } from "../../packages/host/src/command/host-command.ts";
import { undoLastTurn } from "../../packages/host/src/command/rewind.ts";
import type { ContextEngine } from "../../packages/contract/src/engine/engine.ts";
import type { ContextGauge, TurnEvent } from "../../packages/contract/src/host/events.ts";
import type { AgentMessage } from "../../packages/contract/src/message.ts";
import type { PluginTool } from "../../packages/contract/src/host/plugin.ts";
import { isPagurusError } from "../../packages/contract/src/errors.ts";
import type { Pagurus } from "../../packages/contract/src/host/host.ts";
import type { StatusReport } from "../../packages/contract/src/host/status.ts";
import { createLegacyEngine } from "../../packages/host/src/engines/legacy/legacy-engine.ts";
import { hostRoutes } from "../../packages/server/src/api/host-routes.ts";
import { estimateTokens } from "../../packages/core/src/tokens/estimate.ts";
import { fakeCli } from "../cli/fake-cli.ts";
import { byLength } from "../runner/short-form.ts";
import { Bench } from "../turn/in-process.ts";

const KEY = "main";

/** An engine with a trigger of its own, which it keeps, below the budget. */
function triggered(trigger: number): ContextEngine {
  const legacy = createLegacyEngine();
  return {
    info: { id: "early", name: "early", assembleScope: "call" },
    ingest: () => Promise.resolve({ ingested: true }),
    assemble: ({ messages, prompt, runtimeContext }) => {
      const count = (some: readonly AgentMessage[]): number => runtimeContext?.tokens(some) ?? 0;
      const input: AgentMessage[] = prompt === undefined ? [] : [{ role: "user", content: prompt }];
      const wantsCompaction = count([...messages, ...input]) > trigger;
      return Promise.resolve({ messages, estimatedTokens: count(messages), wantsCompaction });
    },
    compact: (params) => legacy.compact({ ...params, force: true }),
    status: () => Promise.resolve({ trigger }),
  };
}

const WINDOWS = [16_000, 24_000, 65_536, 130_000, 400_000, 1_050_000];
const ENGINES = ["lossless", "legacy", "early"] as const;
type EngineName = (typeof ENGINES)[number];

function modelsOf(url: string): Record<string, unknown> {
  const models = WINDOWS.map((contextWindow) => ({
    id: `w${contextWindow}`,
    contextWindow,
    maxTokens: 2_000,
  }));
  return {
    session: { scope: "main" },
    models: { providers: { test: { api: "openai-completions", baseUrl: url, apiKey: "test-key", models } } },
    agents: { defaults: { model: `test/w${WINDOWS[0]}`, permission: { mode: "auto", sandbox: "off" } } },
    logging: { level: "silent" },
  };
}

async function hostOf(bench: Bench, engine: EngineName, window: number): Promise<Pagurus> {
  const config = modelsOf(bench.server.url);
  return bench.host({
    ...(engine === "early" ? { engine: triggered(Math.floor(window * 0.4)) } : {}),
    more: { config: { ...config, plugins: { slots: { contextEngine: engine } } } },
  });
}

/** The host without its end, for commands that close theirs. */
function lasting(pagurus: Pagurus): Pagurus {
  return new Proxy(pagurus, {
    get: (target, name) => {
      if (name === "close") return () => Promise.resolve();
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** Tokens, end and the next compaction, as a text shows them. */
function shownIn(text: string): { tokens: string; end: string; percent: string; at: string | undefined } {
  const [, percent = "", tokens = "", end = ""] = /(\d+) % {2}([\d,]+) of ([\d,]+)/.exec(text) ?? [];
  const [, at] = /(?:compacts at|Compacts: +at) ([\d,]+)/.exec(text) ?? [];
  return { tokens, end, percent, at };
}

/** Compares every place that shows the numbers of the next turn with this model. Returns them. */
async function agreed(
  bench: Bench,
  pagurus: Pagurus,
  model: string,
  last?: ContextGauge,
): Promise<ContextGauge> {
  const place = { sessionKey: KEY, agentId: "main", cwd: bench.root };
  const report = await pagurus.status({ ...place, model });
  const route = hostRoutes.find(({ path }) => path === "/sessions/{key}/status");
  const call = { params: { key: KEY }, query: { agent: "main", cwd: bench.root, model }, parts: { pagurus } };
  const answer = await route?.handle(call as unknown as Parameters<typeof route.handle>[0]);
  assert.ok(answer && "body" in answer);
  const api = JSON.parse(JSON.stringify(answer.body)) as StatusReport;
  assert.deepEqual(api.context, report.context, "the API");
  const slash = await runCommand("/status", { pagurus, ...place, model });
  const cli = fakeCli({ pagurus: lasting(pagurus), env: {}, input: "" });
  const set = await pagurus.status(place);
  assert.equal(await execute(["status", "--session", KEY, "-C", bench.root], cli), 0);
  const line = new StatusLine(themeOf(false));
  line.set({ context: report.context });
  const [statusLine = ""] = line.render(200);
  const expected = shownIn(`${contextText(report.context)}`);
  assert.equal(expected.at, expected.end);
  assert.deepEqual(shownIn(slash.text), expected, "/status");
  assert.deepEqual(shownIn(contextText(api.context)), expected, "the page");
  assert.deepEqual(shownIn(cli.out()), shownIn(contextText(set.context)), "pagurus status");
  assert.match(nextCompaction(report.context) ?? "", new RegExp(`^at ${expected.end} tokens, by `));
  assert.match(statusLine, new RegExp(` ${expected.percent} % of ${expected.end}$`), "the status line");
  if (last)
    assert.deepEqual(shownIn(turnGauge({ context: last }) ?? ""), expected, "the gauge after the turn");
  return report.context;
}

function gaugeOf(events: readonly TurnEvent[]): ContextGauge {
  const end = events.at(-1);
  assert.ok(end?.type === "turn.completed" && end.context);
  return end.context;
}

function isCompacted(events: readonly TurnEvent[]): boolean {
  return events.some(({ type }) => type === "compaction.completed");
}

/** The notice of a compaction has the size of the request after it. */
function assertSaved(events: readonly TurnEvent[]): void {
  const at = events.findIndex(({ type }) => type === "compaction.completed");
  const done = events[at];
  const gauge = gaugeOf(events);
  assert.ok(done?.type === "compaction.completed");
  const difference = Math.abs(gauge.tokens - done.tokensAfter);
  assert.ok(
    difference < 40 + gauge.tokens / 50,
    `${done.tokensAfter} in the notice, ${gauge.tokens} in the gauge`,
  );
  assert.ok(done.tokensAfter < done.tokensBefore);
}

/** Words of so many tokens, by the host's estimate. */
function wordsOf(tokens: number, seed: number): string {
  const word = (index: number): string => `harbour${1_000 + ((seed * 31 + index * 7) % 8_999)}`;
  const size = estimateTokens(Array.from({ length: 100 }, (_, index) => word(index)).join(" ")) / 100;
  return Array.from({ length: Math.max(1, Math.round(tokens / size)) }, (_, index) => word(index)).join(" ");
}

type Step =
  | { do: "say"; share: number }
  | { do: "model"; window: number }
  | { do: "undo" }
  | { do: "compact" };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("say" as const),
      share: fc.double({ min: 0, max: 0.5, noNaN: true }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("model" as const), window: fc.constantFrom(...WINDOWS) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("undo" as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("compact" as const) }) },
);

/** Takes the last turn back, where one is left. */
async function undone(pagurus: Pagurus, root: string): Promise<void> {
  try {
    await undoLastTurn(pagurus.sessions("main"), KEY, root);
  } catch (error) {
    if (!isPagurusError(error) || error.code !== "entry_not_found") throw error;
  }
}

test("Gauge, status line, /status, pagurus status, page and API agree in random states", async () => {
  const steps = 8;
  const states = byLength(200, 48, 24);
  let seen = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...ENGINES),
      fc.constantFrom(...WINDOWS),
      fc.array(step, { minLength: steps, maxLength: steps }),
      async (engine, first, plan) => {
        const bench = await Bench.with(() => ({ text: "Noted.", usage: null }));
        try {
          const pagurus = await hostOf(bench, engine, first);
          let window = first;
          await bench.ask(pagurus, "First of all", { sessionKey: KEY, model: `test/w${window}` });
          for (const [index, now] of plan.entries()) {
            let last: ContextGauge | undefined;
            if (now.do === "model") window = now.window;
            if (now.do === "say") {
              const prompt = wordsOf(Math.min(window, 40_000) * now.share, index);
              last = gaugeOf(await bench.ask(pagurus, prompt, { sessionKey: KEY, model: `test/w${window}` }));
            }
            if (now.do === "undo") await undone(pagurus, bench.root);
            if (now.do === "compact") await pagurus.compact({ sessionKey: KEY, cwd: bench.root });
            await agreed(bench, pagurus, `test/w${window}`, last);
            seen += 1;
          }
        } finally {
          await bench.end();
        }
      },
    ),
    { numRuns: states / steps, endOnFailure: true },
  );
  assert.ok(seen >= states, `${seen} states`);
});

for (const engine of ENGINES)
  test(`A compaction comes above the named point and not below it, with the engine ${engine}`, async () => {
    for (const window of byLength(WINDOWS.slice(0, 4), WINDOWS.slice(0, 2), WINDOWS.slice(0, 1))) {
      const bench = await Bench.with(() => ({ text: "Noted.", usage: null }));
      try {
        const pagurus = await hostOf(bench, engine, window);
        const say = async (tokens: number, seed: number): Promise<TurnEvent[]> =>
          bench.ask(pagurus, wordsOf(tokens, seed), { sessionKey: KEY, model: `test/w${window}` });
        // Compared at the second approach, too: then a summary is in the context.
        for (const round of [1, 2]) {
          let gauge = gaugeOf(await say(200, round * 100));
          const end = gaugeEnd(gauge);
          const part = end / 6;
          for (let seed = round * 100 + 1; gauge.tokens + part < end * 0.97; seed += 1) {
            const events = await say(part, seed);
            gauge = gaugeOf(events);
            assert.equal(isCompacted(events), false, `${gauge.tokens} of ${end} in a window of ${window}`);
            assert.equal(gaugeEnd(gauge), end);
          }
          const below = await say(Math.max(0, end * 0.98 - gauge.tokens), round);
          assert.equal(isCompacted(below), false, `2 % below ${end}`);
          const over = await say(end * 1.02 - gaugeOf(below).tokens, round + 50);
          assert.equal(isCompacted(over), true, `2 % above ${end}`);
          assertSaved(over);
        }
      } finally {
        await bench.end();
      }
    }
  });

test("A compaction's notice counts large results as they are sent", async () => {
  const big: PluginTool = {
    name: "big",
    description: "Lists the ships.",
    parameters: { type: "object", properties: {} },
    readOnly: true,
    execute: () =>
      Promise.resolve({
        isError: false,
        content: [{ type: "text", text: wordsOf(9_000, 3).slice(0, 30_000) }],
      }),
  };
  const bench = await Bench.with((_request, index) =>
    index === 1
      ? { toolCalls: [{ id: "call-1", name: "big", arguments: {} }], usage: null }
      : { text: "Noted.", usage: null },
  );
  try {
    const pagurus = await hostOf(bench, "lossless", 16_000);
    const say = (prompt: string): Promise<TurnEvent[]> =>
      bench.ask(pagurus, prompt, { sessionKey: KEY, tools: [big] });
    await say(wordsOf(3_000, 1));
    const before = gaugeOf(await say("List the ships"));
    const {
      compacted,
      tokensBefore = 0,
      tokensAfter = 0,
    } = await pagurus.compact({ sessionKey: KEY, cwd: bench.root });
    assert.equal(compacted, true);
    const { tokens } = (await pagurus.status({ sessionKey: KEY, cwd: bench.root })).context;
    const after = gaugeOf(await say("Thank you"));
    for (const [name, shown, sent] of [
      ["before", tokensBefore, before.tokens],
      ["after", tokensAfter, after.tokens],
      ["status", tokens, after.tokens],
    ] as const)
      assert.ok(
        Math.abs(shown - sent) < 60 + sent / 20,
        `${name}: ${shown} in the notice, ${sent} in the request`,
      );
  } finally {
    await bench.end();
  }
});

test("After a rewind the status counts what is left of the conversation", async () => {
  const bench = await Bench.with(() => ({ text: "Noted.", usage: null }));
  try {
    const pagurus = await hostOf(bench, "lossless", 65_536);
    const status = async (): Promise<ContextGauge> =>
      (await pagurus.status({ sessionKey: KEY, cwd: bench.root, model: "test/w65536" })).context;
    await bench.ask(pagurus, "First of all", { sessionKey: KEY, model: "test/w65536" });
    const small = await status();
    await bench.ask(pagurus, wordsOf(5_000, 1), { sessionKey: KEY, model: "test/w65536" });
    assert.ok((await status()).tokens > 5_000);
    await undoLastTurn(pagurus.sessions("main"), KEY, bench.root);
    assert.deepEqual(await status(), small);
  } finally {
    await bench.end();
  }
});

test("A summarizer's request is marked in what is shown of requests", async () => {
  const bench = await Bench.with(() => ({ text: "A summary of the harbour.", usage: null }));
  try {
    const pagurus = await hostOf(bench, "lossless", 65_536);
    for (const seed of [1, 2, 3, 4]) await bench.ask(pagurus, wordsOf(1_200, seed), { sessionKey: KEY });
    await pagurus.compact({ sessionKey: KEY, cwd: bench.root });
    const place = { pagurus, sessionKey: KEY, agentId: "main", cwd: bench.root };
    const { text } = await runCommand("/context", place);
    assert.match(text, /^Request \d+ of turn \S+, .*: a summary for a compaction, no answer to you$/m);
  } finally {
    await bench.end();
  }
});
