/** Messages of OpenClaw: fields that its engines read of each, and roles that only its engines answer with. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { ContextEngine } from "../../../packages/contract/src/engine/engine.ts";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { hostEngine } from "../../../packages/host/src/plugin/compat/foreign-engine.ts";
import {
  foreignMessage,
  hostMessage,
  type ForeignAssistant,
} from "../../../packages/host/src/plugin/compat/foreign-messages.ts";
import { createLegacyEngine } from "../../../packages/host/src/engines/legacy/legacy-engine.ts";
import { Bench } from "../../turn/in-process.ts";

let bench: Bench | undefined;

const OWN: readonly AgentMessage[] = [
  { role: "user", content: "Which berth?", timestamp: 1, entryId: "a" },
  {
    role: "assistant",
    entryId: "b",
    timestamp: 2,
    provider: "test",
    model: "m1",
    stopReason: "toolUse",
    usage: { input: 10, output: 5, cacheRead: 3, cacheWrite: 2, totalTokens: 20, cost: 0.25 },
    content: [
      { type: "thinking", thinking: "The third one?", signature: "sealed" },
      { type: "toolCall", id: "call-1", name: "look", arguments: { at: 3 }, signature: "kept" },
    ],
  },
  {
    role: "toolResult",
    toolCallId: "call-1",
    toolName: "look",
    content: [{ type: "text", text: "free" }],
    isError: false,
    timestamp: 3,
  },
  {
    role: "assistant",
    entryId: "c",
    timestamp: 4,
    stopReason: "stop",
    content: [{ type: "text", text: "Berth 3." }],
  },
];

describe("a message in OpenClaw's form", () => {
  afterEach(async () => bench?.end());
  it("has the amounts, names and signatures that its engines read, and is this host's own again after it", () => {
    const theirs = OWN.map(foreignMessage);
    const [, first, , second] = theirs as [unknown, ForeignAssistant, unknown, ForeignAssistant];
    assert.equal(first.usage.cost.total, 0.25);
    assert.deepEqual(
      first.content.map((part) => part.thinkingSignature ?? part.thoughtSignature),
      ["sealed", "kept"],
    );
    assert.deepEqual([second.usage.totalTokens, second.usage.cost.total, second.api], [0, 0, "unknown"]);
    assert.deepEqual(theirs.map(hostMessage), OWN);
    const { timestamp } = foreignMessage({ role: "user", content: "Now?" });
    assert.ok(Math.abs(Date.now() - timestamp) < 60_000, "a message that is not recorded yet is of now");
  });

  it("keeps a signature that an engine stores by its name there alone", () => {
    const [, first] = OWN.map(foreignMessage) as [unknown, ForeignAssistant];
    const stored = first.content.map(({ ...part }) => {
      if ("signature" in part) delete part.signature;
      return part;
    });
    assert.deepEqual(hostMessage({ ...first, content: stored }), OWN[1]);
  });
});

/** An engine whose `assemble` answers as `change` says, in OpenClaw's form. */
function theirEngine(change: (messages: ForeignAssistant[]) => unknown[], more: object = {}): ContextEngine {
  const legacy = createLegacyEngine();
  const engine = {
    info: { id: "theirs", name: "Theirs" },
    ingest: () => Promise.resolve({ ingested: true }),
    assemble: ({ messages }: { messages: unknown }) =>
      Promise.resolve({ messages: change(messages as ForeignAssistant[]), estimatedTokens: 0 }),
    compact: (params: never) => legacy.compact(params),
    ...more,
  };
  return hostEngine(engine as unknown as ContextEngine);
}

async function asked(
  engine: ContextEngine,
  ...prompts: string[]
): Promise<{ texts: string[]; reasons: string[] }> {
  const made = await Bench.with((_request, index) => ({ text: `Answer ${index}.` }));
  bench = made;
  const host = await made.host({ engine });
  const reasons: string[] = [];
  for (const prompt of prompts) {
    const last = (await made.ask(host, prompt)).at(-1);
    assert.ok(last?.type === "turn.completed");
    reasons.push(...last.degraded.map(({ reason }) => reason));
  }
  return { texts: made.body(-1).messages.map(({ text }) => text), reasons };
}

describe("an engine of OpenClaw", () => {
  afterEach(async () => bench?.end());
  it("reads the amounts of each assistant message", async () => {
    const totals: number[] = [];
    const engine = theirEngine((messages) => {
      for (const { role, usage } of messages) if (role === "assistant") totals.push(usage.cost.total);
      return messages;
    });
    const { reasons } = await asked(engine, "First?", "Second?");
    assert.deepEqual(reasons, []);
    assert.deepEqual(totals, [0]);
  });

  it("answers with summaries, custom messages and commands, which reach the model as texts", async () => {
    const engine = theirEngine((messages) => [
      {
        role: "compactionSummary",
        summary: "Two files were written.",
        tokensBefore: 9,
        timestamp: "2026-01-01",
      },
      { role: "branchSummary", summary: "The other way failed.", fromId: "x", timestamp: 1 },
      { role: "custom", customType: "note", content: "The tide is low.", display: false, timestamp: 1 },
      {
        role: "custom",
        customType: "ui",
        content: "Hidden.",
        display: true,
        excludeFromContext: true,
        timestamp: 1,
      },
      {
        role: "bashExecution",
        command: "pwd",
        output: "/quay",
        exitCode: 2,
        cancelled: false,
        truncated: false,
      },
      ...messages.slice(-1),
    ]);
    const { texts, reasons } = await asked(engine, "And now?");
    assert.deepEqual(reasons, []);
    const text = texts.join("\n");
    for (const part of [
      "Two files were written.",
      "The other way failed.",
      "The tide is low.",
      "/quay",
      "code 2",
    ])
      assert.ok(text.includes(part), `${part} in ${text}`);
    assert.doesNotMatch(text, /Hidden/);
  });

  it("rewrites an entry with a message in its own form", async () => {
    const results: unknown[] = [];
    const engine = theirEngine((messages) => messages, {
      maintain: async ({
        runtimeContext,
      }: {
        runtimeContext: { transcript: never; rewriteTranscriptEntries: never };
      }) => {
        const { transcript, rewriteTranscriptEntries: rewrite } = runtimeContext as unknown as {
          transcript: { forward(): AsyncIterable<{ id: string; type: string; message: AgentMessage }> };
          rewriteTranscriptEntries(request: object): Promise<{ changed: boolean }>;
        };
        for await (const { id, type, message } of transcript.forward())
          if (type === "message" && message.role === "user" && results.length === 0) {
            const redacted = {
              role: "custom",
              customType: "note",
              content: "[redacted]",
              display: false,
              timestamp: 1,
            };
            const unknown = await rewrite({ replacements: [{ entryId: "not there", message: redacted }] });
            results.push(
              unknown.changed,
              (await rewrite({ replacements: [{ entryId: id, message: redacted }] })).changed,
            );
          }
        return { changed: true, bytesFreed: 0, rewrittenEntries: 1 };
      },
    });
    const { texts, reasons } = await asked(engine, "My password is amber.", "And now?");
    assert.deepEqual(results, [false, true]);
    assert.deepEqual(reasons, []);
    assert.equal(texts[0], "[redacted]");
  });
});
