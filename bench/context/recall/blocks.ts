/**
 * Blocks by script: how many of the questions with evidence, and of those about what was never mentioned, get recalled passages in the context
 * of the next turn. `PAGURUS_BENCH_BEFORE` is the root of a checkout of an earlier version, which is then measured beside this one.
 */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { isRecallBlock } from "../../../packages/contract/src/engine/recall-block.ts";
import type { createLosslessEngine } from "../../../packages/lossless/src/lossless-engine.ts";
import { type BenchOptions, type BenchRow, withTarget } from "../../report.ts";
import { textOfMessage } from "../../../packages/replay/src/prompt-blocks.ts";
import type { Split } from "./cases.ts";
import { LosslessPreview } from "./preview.ts";
import { articleCases } from "./talks/articles.ts";
import { LANGUAGES } from "./talks/languages.ts";
import { madeTalk, type BlockCase } from "./talks/made-talk.ts";

const BUDGETS = [8_000, 32_000] as const;
/** Tokens of a made conversation for each one of the budget. */
const LONGER = 1.75;
const LEAST_BLOCKS = 95;
const MOST_FALSE = 5;
const LEAST_SCRIPTS = 6;
const HUNDRED = 100;
const MADE = "made talk";
/** The part that is reported in the smaller window comes last. */
const PLANS: readonly (readonly [Split, number])[] = [
  ["tuning", BUDGETS[0]],
  ["reporting", BUDGETS[1]],
  ["reporting", BUDGETS[0]],
];

type CreateEngine = typeof createLosslessEngine;

interface Asked {
  kind: string;
  hasBlock: boolean;
  hasEvidence: boolean;
}

/** What the context has for each question. */
export async function blocksFor(given: BlockCase, budget: number, create?: CreateEngine): Promise<Asked[]> {
  const preview = new LosslessPreview(undefined, create);
  const results: Asked[] = [];
  try {
    await preview.index(given.messages);
    for (const { text, gold, kind } of given.questions) {
      const texts = (await preview.contextFor(text, budget)).map(textOfMessage);
      const hasEvidence = gold !== undefined && texts.some((each) => each.includes(gold));
      results.push({ kind, hasBlock: texts.some((each) => isRecallBlock(each)), hasEvidence });
    }
  } finally {
    await preview.close();
  }
  return results;
}

function percent(all: readonly Asked[], is: (each: Asked) => boolean): number {
  return (HUNDRED * all.filter(is).length) / Math.max(1, all.length);
}

interface Measured {
  name: string;
  results: readonly Asked[];
}

/** Shares of the questions that get a block, of those with evidence and of the others. */
function sharesOf(results: readonly Asked[]): { held: number; wrong: number } {
  const isStated = ({ kind }: Asked): boolean => kind === "stated";
  return {
    held: percent(results.filter(isStated), (each) => each.hasBlock),
    wrong: percent(
      results.filter((each) => !isStated(each)),
      (each) => each.hasBlock,
    ),
  };
}

function rowsOf({ name, results }: Measured): BenchRow[] {
  const stated = results.filter(({ kind }) => kind === "stated");
  const never = results.filter(({ kind }) => kind !== "stated");
  const kinds = [...new Set(never.map(({ kind }) => kind))];
  const { held, wrong } = sharesOf(results);
  const row = (measure: string, value: number): BenchRow => ({
    measure: `${name}: ${measure}`,
    value,
    unit: "%",
  });
  return [
    row("questions with evidence that get a block", held),
    row("questions about what was never mentioned that get one", wrong),
    row(
      "evidence in the context",
      percent(stated, (each) => each.hasEvidence),
    ),
    ...kinds.map((kind) =>
      row(
        `a block, ${kind}`,
        percent(
          never.filter((each) => each.kind === kind),
          (each) => each.hasBlock,
        ),
      ),
    ),
  ];
}

async function earlierEngine(): Promise<CreateEngine | undefined> {
  const { PAGURUS_BENCH_BEFORE: root = "" } = process.env;
  if (root === "") return undefined;
  const file = pathToFileURL(join(root, "packages/lossless/src/lossless-engine.ts")).href;
  return ((await import(file)) as { createLosslessEngine: CreateEngine }).createLosslessEngine;
}

function casesOf(split: Split, budget: number): BlockCase[] {
  const made = LANGUAGES.map((language) => madeTalk(language, split, LONGER * budget));
  // The articles of a conversation do not fill a larger window.
  return budget === BUDGETS[0] ? [...made, ...articleCases(split)] : made;
}

/** The target is for what was not tuned on. `quick`: the smaller window of the reporting parts. */
export async function blockRows({ quick, log }: BenchOptions): Promise<BenchRow[]> {
  const before = await earlierEngine();
  const rows: BenchRow[] = [];
  const measured = async (
    name: string,
    cases: readonly BlockCase[],
    budget: number,
    create?: CreateEngine,
  ) => {
    const results: Asked[] = [];
    for (const each of cases) results.push(...(await blocksFor(each, budget, create)));
    const { held, wrong } = sharesOf(results);
    log(
      `${name}: a block for ${held.toFixed(1)} % of what was stated, ${wrong.toFixed(1)} % of what was not`,
    );
    rows.push(...rowsOf({ name, results }));
    return held >= LEAST_BLOCKS && wrong <= MOST_FALSE;
  };
  for (const [split, budget] of quick ? PLANS.slice(-1) : PLANS) {
    let holding = 0;
    for (const [group, cases] of Map.groupBy(casesOf(split, budget), (each) => each.group)) {
      const start = `${group}, ${split}, ${budget / 1_000}k`;
      if (before) await measured(`${start}, before`, cases, budget, before);
      const isHeld = await measured(start, cases, budget);
      if (isHeld && group.startsWith(MADE)) holding += 1;
    }
    if (split === "reporting") {
      const measure = `${MADE}, reporting, ${budget / 1_000}k: scripts with at least ${LEAST_BLOCKS} % and at most ${MOST_FALSE} %`;
      rows.push(withTarget({ measure, value: holding, unit: "scripts" }, ">=", LEAST_SCRIPTS));
    }
  }
  return rows;
}
