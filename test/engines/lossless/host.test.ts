import assert from "node:assert/strict";
import { test } from "node:test";
import { filler } from "../../../src/testkit/engine/conversation.ts";
import { estimateTokens } from "../../../src/tokens/estimate.ts";
import type { ReplyStep } from "../../servers/script.ts";
import { Bench } from "../../turn/in-process.ts";
import { modelConfig } from "../../turn/setting.ts";
import { readBody, type WireBody } from "../../turn/wire-bodies.ts";

const WINDOW = 24_000;
const TURNS = 200;
const LONG_EVERY = 40;
const SUMMARY = ["Goal", "State", "Decisions and constraints", "Open asks"]
  .map((heading) => `## ${heading}\n- The berths are looked after, one task after the other.`)
  .join("\n");

/** Each call has its result right behind it, before anything else is said. */
function problemOf(body: WireBody): string | undefined {
  let open: string[] = [];
  for (const [index, message] of body.messages.entries()) {
    for (const { id } of message.results) {
      if (!open.includes(id)) return `message ${index}: result of ${id} without its call`;
      open = open.filter((other) => other !== id);
    }
    if (message.role === "tool") continue;
    if (open.length > 0) return `message ${index}: ${open.join()} has no result`;
    open = message.calls.map(({ id }) => id);
  }
  return open.length > 0 ? `${open.join()} has no result` : undefined;
}

test("a few hundred turns with tools: every request valid, in the window, and a continuation of the one before", async () => {
  let turn = 0;
  let round = 0;
  const heads = new Set<string>();
  const problems: string[] = [];
  let before: string[] = [];
  let broken = 0;
  let summaries = 0;
  const bench = await Bench.with((request): ReplyStep => {
    const body = readBody("openai-completions", request);
    if (body.tools.length === 0) {
      summaries += 1;
      return { text: SUMMARY, chunkSize: 10_000 };
    }
    const problem = problemOf(body);
    if (problem !== undefined) problems.push(problem);
    const tokens = estimateTokens(request.text);
    if (tokens > WINDOW) problems.push(`${tokens} tokens`);
    const said = body.messages.map((message) => JSON.stringify(message));
    const head = body.messages.find(({ text }) => text.includes("<conversation_summary>"))?.text ?? "";
    if (!heads.has(head)) heads.add(head);
    else if (before.some((text, index) => said[index] !== text)) broken += 1;
    before = said;
    const inputs = body.messages.filter(({ text }) => text.includes(`Do task ${turn}.`));
    if (inputs.length === 0) problems.push(`the input of turn ${turn} is missing`);
    const rounds = turn % LONG_EVERY === 0 ? 60 : turn % 3;
    if (round >= rounds) return { text: `Task ${turn} is done. ${filler(60)}`, chunkSize: 10_000 };
    round += 1;
    const call = {
      id: `call_${turn}_${round}`,
      name: "berth_log",
      arguments: { berth: `B-${turn}-${round}` },
    };
    return { toolCalls: [call], chunkSize: 10_000 };
  });
  try {
    const pagurus = await bench.host({
      more: {
        plugins: {
          harbour: (api) =>
            api.registerTool({
              name: "berth_log",
              description: "Reads a berth's log.",
              parameters: { type: "object", properties: { berth: { type: "string" } } },
              execute: async ({ berth }) => ({
                content: [{ type: "text", text: `Log of ${String(berth)}: ${filler(300)}` }],
                isError: false,
              }),
            }),
        },
        config: modelConfig(
          "openai-completions",
          bench.server.url,
          { contextWindow: WINDOW },
          {
            logging: { level: "silent" },
            plugins: { slots: { contextEngine: "lossless" } },
          },
        ),
      },
    });
    const degraded: string[] = [];
    for (turn = 1; turn <= TURNS; turn += 1) {
      round = 0;
      const events = await bench.ask(pagurus, `Do task ${turn}. ${filler(40)}`);
      for (const event of events)
        if (event.type === "context.degraded") degraded.push(`${turn} ${event.stage}: ${event.reason}`);
    }
    assert.deepEqual(problems.slice(0, 5), []);
    assert.deepEqual(degraded.slice(0, 5), []);
    assert.equal(broken, 0);
    assert.ok(summaries > 0, "no summary was asked for");
    assert.ok(heads.size > 5, `${heads.size} epochs`);
  } finally {
    await bench.end();
  }
});
