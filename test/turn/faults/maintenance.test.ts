import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ContextEngine } from "../../../packages/contract/src/engine/engine.ts";
import type { MaintainParams } from "../../../packages/contract/src/engine/engine-params.ts";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import type {
  RewriteRequest,
  TranscriptRewriteResult,
} from "../../../packages/contract/src/engine/runtime-context.ts";
import type { TranscriptEntry } from "../../../packages/contract/src/session/transcript.ts";
import { engineWith, FaultBench, of, raise } from "./fault-bench.ts";
import { until } from "../../runner/until.ts";

const DONE: TranscriptRewriteResult = { changed: false, bytesFreed: 0, rewrittenEntries: 0 };

async function pathOf(params: MaintainParams): Promise<TranscriptEntry[]> {
  const entries: TranscriptEntry[] = [];
  for await (const entry of params.runtimeContext?.transcript.forward() ?? []) entries.push(entry);
  return entries;
}

function rewrite(params: MaintainParams, requests: RewriteRequest[]): Promise<TranscriptRewriteResult> {
  const ask = params.runtimeContext?.rewriteTranscriptEntries;
  assert.ok(ask, "maintain may rewrite");
  return ask(requests);
}

interface Impossible {
  what: string;
  requests(entries: TranscriptEntry[]): RewriteRequest[];
  says: RegExp;
}

type MessageEntry = Extract<TranscriptEntry, { type: "message" }>;
const firstOf = (entries: TranscriptEntry[], role: AgentMessage["role"]): MessageEntry => {
  const found = entries.find(
    (entry): entry is MessageEntry => entry.type === "message" && entry.message.role === role,
  );
  assert.ok(found);
  return found;
};
const short: AgentMessage = { role: "user", content: "short" };

const IMPOSSIBLE: Impossible[] = [
  { what: "of nothing", requests: () => [], says: /no replacement/ },
  { what: "of an unknown entry", requests: () => [{ entryId: "nobody", message: short }], says: /no entry/ },
  {
    what: "of an entry that is no message",
    requests: (entries) => [
      { entryId: entries.find(({ type }) => type === "turn_commit")?.id ?? "", message: short },
    ],
    says: /no message/,
  },
  {
    what: "to another role",
    requests: (entries) => [{ entryId: firstOf(entries, "assistant").id, message: short }],
    says: /role/,
  },
  {
    what: "of one entry twice",
    requests: (entries) => [
      { entryId: firstOf(entries, "user").id, message: short },
      { entryId: firstOf(entries, "user").id, message: short },
    ],
    says: /twice/,
  },
  {
    what: "that loses a tool call",
    requests: (entries) => {
      const { id, message } = firstOf(entries, "assistant");
      assert.ok(message.role === "assistant");
      return [{ entryId: id, message: { ...message, content: [{ type: "text", text: "short" }] } }];
    },
    says: /tool call/,
  },
  {
    what: "to a message of no known shape",
    requests: (entries) => [
      { entryId: firstOf(entries, "user").id, message: { role: "user" } as AgentMessage },
    ],
    says: /shape/,
  },
  {
    what: "to what is no JSON",
    requests: (entries) => [
      {
        entryId: firstOf(entries, "user").id,
        message: { role: "user", content: 1n } as unknown as AgentMessage,
      },
    ],
    says: /JSON|shape/,
  },
];

function open(
  maintain: NonNullable<ContextEngine["maintain"]>,
  info: Partial<ContextEngine["info"]>,
): Promise<FaultBench> {
  const defaults = { engineDeadlines: { maintain: 0.3 } };
  return FaultBench.open({ engine: engineWith({ maintain }, info), defaults });
}

describe("maintain()", () => {
  for (const mode of ["foreground", "background"] as const) {
    const info = { turnMaintenanceMode: mode };

    for (const { what, requests, says } of IMPOSSIBLE) {
      it(`that requests a rewrite ${what} receives the reason, and nothing is written (${mode})`, async () => {
        const answers: TranscriptRewriteResult[] = [];
        const fault = await open(async (params) => {
          answers.push(await rewrite(params, requests(await pathOf(params))));
          return DONE;
        }, info);
        try {
          const first = await fault.play("look:1");
          assert.deepEqual(of(first.events, "context.degraded"), []);
          await settled(() => answers.length === 1);
          const before = fault.bytes();
          assert.equal(answers[0]?.changed, false);
          assert.match(answers[0]?.reason ?? "", says);
          await fault.assertSound(before, first);
        } finally {
          await fault.end();
        }
      });
    }

    for (const [what, fail, says] of [
      ["throws", () => raise(new Error("it broke")), /it broke/],
      ["rejects with a value without a message", () => Promise.reject(Object.create(null)), /maintain/],
      ["hangs", () => new Promise(() => undefined), /took longer than 300 ms/],
      ["returns an invalid result", () => Promise.resolve("done"), /invalid result/],
    ] as const) {
      it(`that ${what} costs its own share only (${mode})`, async () => {
        const fault = await open(fail as NonNullable<ContextEngine["maintain"]>, info);
        try {
          const first = await fault.play("look:1");
          assert.equal(first.last.type, "turn.completed");
          const before = fault.bytes();
          if (mode === "foreground") {
            assert.match(of(first.events, "context.degraded")[0]?.reason ?? "", says);
            assert.equal((await fault.degraded())[0]?.stage, "maintain");
          } else {
            await settled(() => fault.logged().includes('"stage":"maintain"'));
          }
          await fault.assertSound(before, first);
        } finally {
          await fault.end();
        }
      });
    }

    it(`that rewrites after its deadline changes nothing (${mode})`, async () => {
      const outcomes: unknown[] = [];
      const fault = await open(async (params) => {
        const entries = await pathOf(params);
        if (outcomes.length > 0 || entries.length > 6) return DONE;
        await until(() => params.abortSignal?.aborted === true);
        const { id } = firstOf(entries, "user");
        await rewrite(params, [{ entryId: id, message: short }]).then(
          (result) => outcomes.push(result.changed),
          () => outcomes.push("refused"),
        );
        return DONE;
      }, info);
      try {
        const first = await fault.play("look:1");
        await settled(() => outcomes.length === 1);
        const before = fault.bytes();
        assert.ok(
          !fault.entries().some((entry) => entry.type === "message" && entry.supersedes !== undefined),
        );
        assert.notEqual(outcomes[0], true);
        await fault.assertSound(before, first);
      } finally {
        await fault.end();
      }
    });
  }
});

async function settled(ready: () => boolean): Promise<void> {
  await until(ready, "it never came to its end");
}
