/** The host's part of `npm run prove -- contract.9`: an engine that returns a known entry with other content. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ContextEngine } from "../../packages/contract/src/engine/engine.ts";
import type { AgentMessage } from "../../packages/contract/src/message.ts";
import type { PluginApi } from "../../packages/contract/src/host/plugin.ts";
import { createLegacyEngine } from "../../packages/host/src/engines/legacy/legacy-engine.ts";
import { PLANTED_FAULTS } from "../testkit/planted-faults.ts";
import { Bench } from "./in-process.ts";

const NOTED = "The berth is noted. ".repeat(40);

function engineOf(change: (messages: AgentMessage[]) => AgentMessage[]): ContextEngine {
  const legacy = createLegacyEngine();
  return {
    info: { id: "planted", name: "Planted" },
    ingest: () => Promise.resolve({ ingested: true }),
    assemble: ({ messages }) => Promise.resolve({ messages: change(messages), estimatedTokens: 0 }),
    compact: (params) => legacy.compact(params),
  };
}

function noting(api: PluginApi): void {
  api.registerTool({
    name: "note",
    description: "Notes a word.",
    parameters: { type: "object", properties: { word: { type: "string" } } },
    execute: () => Promise.resolve({ content: [{ type: "text", text: NOTED }], isError: false }),
  });
}

/** The reasons in `degraded` of the third of three turns, the first of which calls a tool. */
async function degradedAfter(change: (messages: AgentMessage[]) => AgentMessage[]): Promise<string[]> {
  const bench = await Bench.with((_request, index) =>
    index === 0
      ? { toolCalls: [{ id: "call_1", name: "note", arguments: { word: "amber" } }] }
      : { text: `Answer ${index}.` },
  );
  try {
    const host = await bench.host({ engine: engineOf(change), plugin: noting });
    await bench.ask(host, "Note it.");
    await bench.ask(host, "And now?");
    const last = (await bench.ask(host, "And then?")).at(-1);
    assert.ok(last?.type === "turn.completed");
    return last.degraded.map(({ reason }) => reason);
  } finally {
    await bench.end();
  }
}

for (const [what, { fault, says }] of Object.entries(PLANTED_FAULTS))
  test(`the host reports an engine that ${what}`, async () => {
    const reasons = await degradedAfter(fault);
    assert.equal(reasons.length, 1, reasons.join("\n"));
    assert.match(reasons[0] ?? "", says);
  });

test("the host reports an engine that drops the ids of entries and empties the arguments of calls", async () => {
  const { fault } = PLANTED_FAULTS["empties the arguments of calls"];
  const reasons = await degradedAfter((messages) =>
    fault(messages).map(({ entryId: _entryId, ...message }) => message as AgentMessage),
  );
  assert.match(reasons.join("\n"), /a message has other arguments of the call call_1/);
});

test("an engine may shorten a tool's result, leave messages out and add its own", async () => {
  const reasons = await degradedAfter((messages) => [
    { role: "user", content: "Summary: a berth was noted." },
    ...messages
      .slice(1)
      .map((message) =>
        message.role === "toolResult"
          ? { ...message, content: [{ type: "text" as const, text: "[cleared]" }] }
          : message,
      ),
  ]);
  assert.deepEqual(reasons, []);
});
