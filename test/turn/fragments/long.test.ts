/** Many turns through many compactions: current fragments are always in the context, once, and contexts only grow in an epoch. */
import assert from "node:assert/strict";
import { describe } from "node:test";
import type { AdditionalContext } from "../../../packages/contract/src/fragment.ts";
import type { Receipt } from "../../../packages/contract/src/session/receipt.ts";
import { FragmentBench, itemsOf } from "./fragment-bench.ts";
import { longTest } from "../../runner/long-tests.ts";

/** More than three compactions need: how soon a prepared one is swapped in depends on the machine. */
const TURNS = 14;
const FILLER = "gulls over the harbour wall, ".repeat(120);

/** The set of a turn: one that stays, one that changes every third turn, one that comes and goes. */
function setOf(turn: number): AdditionalContext {
  return {
    rule: { kind: "application", value: "Answer in one line." },
    tab: { kind: "untrusted", value: `Tab ${Math.floor(turn / 3)}` },
    ...(turn % 4 < 2 ? { job: { kind: "application", value: "A job is running." } } : {}),
  };
}

function lines(set: AdditionalContext): string[] {
  return Object.entries(set).map(([key, { kind, value }]) =>
    kind === "untrusted"
      ? `user:<external_${key}>${value}</external_${key}>`
      : `system:<${key}>${value}</${key}>`,
  );
}

for (const engine of ["legacy", "lossless"] as const) {
  describe(`fragments in a long session under ${engine}`, () => {
    longTest("are in the context as long as they are current, and never move within an epoch", async () => {
      let turn = 0;
      let step = 0;
      const current: { items: string[]; set: AdditionalContext }[] = [];
      const bench = await FragmentBench.open((request) => {
        const items = itemsOf(request);
        if (!items?.includes(`user:turn ${turn}`))
          return { text: "## Goal\ng\n## State\ns\n## Decisions and constraints\nd\n## Open asks\no" };
        current.push({ items, set: setOf(turn) });
        step += 1;
        if (step % 5 === 0) return { text: `answer ${turn}` };
        return { toolCalls: [{ id: `c${step}`, name: "look", arguments: {} }] };
      });
      try {
        const pagurus = await bench.start(engine, {
          model: { contextWindow: 20_000, maxTokens: 1_000 },
          plugin: (api) =>
            api.registerTool({
              name: "look",
              description: "Looks.",
              parameters: { type: "object", properties: {} },
              execute: async () => ({
                content: [{ type: "text", text: `${step} ${FILLER}` }],
                isError: false,
              }),
            }),
        });
        const receipts: Receipt[] = [];
        let compactions = 0;
        for (; turn < TURNS; turn += 1) {
          const events = await bench.say(pagurus, `turn ${turn}`, setOf(turn));
          compactions += events.filter(({ type }) => type === "compaction.completed").length;
          const started = events.find((event) => event.type === "turn.started");
          const kept = await pagurus.context.receipts({ turnId: started?.turnId ?? "" });
          receipts.push(...kept.filter(({ purpose }) => purpose === undefined));
        }
        assert.ok(compactions >= 3, `${compactions} compactions`);
        for (const [index, { items, set }] of current.entries()) {
          for (const line of lines(set)) {
            const tag = line.slice(0, line.indexOf(">") + 1);
            const newest = items.findLast((item) => item.startsWith(tag));
            assert.equal(newest, line, `request ${index} shows what is current`);
          }
        }
        for (const [index, receipt] of receipts.entries()) {
          const ids = receipt.parts.flatMap(({ source, entryId }) =>
            source === "fragment" ? [entryId] : [],
          );
          assert.equal(new Set(ids).size, ids.length, "each stands once");
          const before = receipts[index - 1];
          if (!before || receipt.epoch === undefined || receipt.epoch !== before.epoch) continue;
          const hashes = receipt.parts.map(({ hash }) => hash);
          const earlier = before.parts.map(({ hash }) => hash);
          assert.deepEqual(hashes.slice(0, earlier.length), earlier, `request ${index} only grows`);
        }
      } finally {
        await bench.end();
      }
    });
  });
}
