import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ContextEngine } from "../../../packages/contract/src/engine/engine.ts";
import type { PluginApi } from "../../../packages/contract/src/host/plugin.ts";
import { answered, Calls, engineOf, MembersBench } from "./members-bench.ts";

const OPTIONAL = [
  "sessionKey",
  "prompt",
  "runtimeSettings",
  "sessionTarget",
  "runtimeContext",
  "abortSignal",
] as const;
type Optional = (typeof OPTIONAL)[number];

interface Member {
  /** Always passed. */
  base: string[];
  /** Passed when accepted. */
  optional: Optional[];
}

const SESSION: Optional[] = ["sessionKey", "runtimeContext", "runtimeSettings"];
const FILE: Optional[] = [...SESSION, "sessionTarget"];

const MEMBERS: Record<string, Member> = {
  bootstrap: { base: ["sessionId", "sessionFile"], optional: FILE },
  ingest: { base: ["sessionId", "message", "isHeartbeat"], optional: SESSION },
  ingestBatch: { base: ["sessionId", "messages", "isHeartbeat"], optional: SESSION },
  assemble: {
    base: ["sessionId", "messages", "tokenBudget", "availableTools", "citationsMode", "model"],
    optional: [...SESSION, "prompt"],
  },
  afterTurn: {
    base: [
      "sessionId",
      "sessionFile",
      "messages",
      "prePromptMessageCount",
      "isHeartbeat",
      "tokenBudget",
      "autoCompactionSummary",
    ],
    optional: FILE,
  },
  commitTurn: {
    base: ["sessionId", "advancementKey", "admission", "terminal", "messages", "isHeartbeat"],
    optional: FILE,
  },
  maintain: { base: ["sessionId", "sessionFile"], optional: [...FILE, "abortSignal"] },
  compact: {
    base: [
      "sessionId",
      "agentId",
      "sessionFile",
      "tokenBudget",
      "force",
      "currentTokenCount",
      "compactionTarget",
      "customInstructions",
    ],
    optional: [...FILE, "abortSignal"],
  },
  interceptCompaction: {
    base: [
      "sessionId",
      "sessionFile",
      "contextWindow",
      "currentTokenCount",
      "firstKeptEntryId",
      "tokensBefore",
      "messages",
      "trigger",
      "backend",
      "signal",
    ],
    optional: ["sessionKey"],
  },
};

/** Which member settles the turn. */
const SETTLING = {
  commitTurn: { commitTurn: async () => ({ status: "committed" as const }) },
  afterTurn: { afterTurn: async () => undefined },
  ingestBatch: { ingestBatch: async () => ({ ingestedCount: 1 }) },
  ingest: {},
} satisfies Record<string, Partial<ContextEngine>>;

/** Keys of the parameters that each member received over turns, a restart, a compaction in each lane. */
async function given(acceptedHostParams: string[] | undefined, settling: keyof typeof SETTLING) {
  const script = (_request: unknown, index: number) =>
    index === 2 ? { toolCalls: [{ id: "c", name: "big", arguments: {} }] } : answered(_request, index);
  const bench = await MembersBench.open(script);
  try {
    const asked = new Calls();
    const engine = engineOf(
      asked,
      {
        bootstrap: async () => ({ bootstrapped: true }),
        maintain: async () => ({ changed: false, bytesFreed: 0, rewrittenEntries: 0 }),
        interceptCompaction: async () => ({ handled: false, reason: "no" }),
        compact: async () => ({ ok: true, compacted: false, reason: "no" }),
        ...SETTLING[settling],
      },
      { interceptsCompaction: true, ...(acceptedHostParams ? { acceptedHostParams } : {}) },
    );
    const setup = {
      engine,
      model: { contextWindow: 20_000 },
      defaults: { compaction: { keepRecentTokens: 1_000 }, toolResultMaxChars: 200_000 },
      plugin: (api: PluginApi) =>
        api.registerTool({
          name: "big",
          description: "Much.",
          parameters: { type: "object", properties: {} },
          execute: async () => ({
            content: [{ type: "text", text: "much of it ".repeat(3_500) }],
            isError: false,
          }),
        }),
    };
    const before = await bench.start(setup);
    await bench.ask(before, `One ${"word ".repeat(2_500)}`);
    await bench.ask(before, `Two ${"word ".repeat(2_500)}`);
    await before.close();
    const pagurus = await bench.start(setup);
    await bench.ask(pagurus, "Three");
    await pagurus.compact({ cwd: bench.root, focus: "the fog" });
    const keys = new Map<string, Set<string>>();
    for (const { member, params } of asked.all()) {
      if (member === "dispose") continue;
      const known = keys.get(member) ?? new Set();
      // Only parameters with a value count as passed.
      for (const [name, value] of Object.entries(params as object)) if (value !== undefined) known.add(name);
      keys.set(member, known);
    }
    return keys;
  } finally {
    await bench.end();
  }
}

function expected(member: string, accepted: readonly string[]): string[] {
  const { base, optional } = MEMBERS[member] ?? { base: [], optional: [] };
  return [...base, ...optional.filter((name) => accepted.includes(name))].toSorted();
}

describe("acceptedHostParams", () => {
  const declared: [string, string[] | undefined][] = [
    ["nothing declared: all are passed", undefined],
    ["an empty list: only the base is passed", []],
    ...OPTIONAL.map((name): [string, string[]] => [`only ${name}`, [name]]),
    ["a name that the host does not know", ["sessionTarget", "weather"]],
  ];
  const settling = Object.keys(SETTLING) as (keyof typeof SETTLING)[];
  for (const [index, [what, accepted]] of declared.entries()) {
    // Each member that settles is tested with the ends of the table, and in turn with the rest of it.
    const ways = index < 2 ? settling : settling.filter((_, way) => way === index % settling.length);
    for (const way of ways) {
      it(`${what} (${way})`, async () => {
        const keys = await given(accepted, way);
        const members = ["bootstrap", "assemble", "compact", "interceptCompaction", "maintain", way];
        assert.deepEqual([...keys.keys()].toSorted(), members.toSorted());
        for (const member of members) {
          const names = [...(keys.get(member) ?? [])].toSorted();
          assert.deepEqual(names, expected(member, accepted ?? OPTIONAL), member);
        }
      });
    }
  }
});
