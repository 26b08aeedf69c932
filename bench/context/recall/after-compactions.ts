/**
 * Where facts are after many compactions: in the next context, or in one answer of the recall tool. Once with extracts alone, once with
 * a summarizing model that copies the facts that it is shown.
 */
import { openLosslessStore } from "../../../packages/lossless/src/store/lossless-store.ts";
import { createLosslessEngine } from "../../../packages/lossless/src/lossless-engine.ts";
import { recallPassages } from "../../../packages/lossless/src/recall/pages.ts";
import { type BenchOptions, type BenchRow, withTarget } from "../../report.ts";
import { EngineDriver } from "../../../packages/replay/src/engine/engine-driver.ts";
import { textOfMessage } from "../../../packages/replay/src/prompt-blocks.ts";
import type { ModelCall, RecordedSession } from "../../../packages/replay/src/recorded-session.ts";
import type { LlmComplete } from "../../../packages/contract/src/model.ts";
import { recallCases } from "./cases.ts";
import { copyingModel } from "./copying-model.ts";
import { shareOf, type RecallCase } from "./measure.ts";

const WINDOW = 64_000;
/** Tokens of one answer of the recall tool. */
const ANSWER_TOKENS = 2_000;
const LEAST_COMPACTIONS = 5;
/** A replay takes seconds for days: the limit on calls an hour is not for it. */
const MANY_CALLS = { plugins: { entries: { lossless: { config: { summariesPerHour: 100_000 } } } } };
/** Least share in percent, by the kind of fact: of the user nothing may be missing. */
const LEAST: Readonly<Record<string, number>> = {
  "fact: user": 100,
  "fact: answered": 100,
  "fact: tool result": 90,
  "fact: looked up": 90,
};

/** One call for each output of the agent. A user's message after a result is part of the running turn. */
function replayOf({ name, messages, factor }: RecallCase): RecordedSession {
  const calls: ModelCall[] = [];
  let liveStart = 0;
  for (const [end, { role }] of messages.entries()) {
    const before = messages[end - 1]?.role;
    if (role === "user" && before === "assistant") liveStart = end;
    if (role === "assistant")
      calls.push({ index: calls.length, turnId: `turn${liveStart}`, end, liveStart, at: 0 });
  }
  return { name, messages, calls, factor };
}

interface Places {
  category: string;
  /** In the context of a next turn that asks for something else. */
  inAny: number;
  /** In the context of a turn that asks for it. */
  inContext: number;
  byOneCall: number;
}

interface Outcome {
  places: Places[];
  compactions: number;
}

/** Replays a history with the engine, and looks for each fact. */
async function placesOf(asked: RecallCase, complete?: LlmComplete): Promise<Outcome> {
  const session = replayOf(asked);
  const options = { window: WINDOW, config: MANY_CALLS, ...(complete ? { complete } : {}) };
  const driver = await EngineDriver.open(createLosslessEngine, options, session);
  try {
    for (const call of session.calls) {
      await driver.assemble(call);
      await driver.settle(call);
    }
    const store = openLosslessStore(driver.dir);
    const places: Places[] = [];
    const any = (await driver.preview("Go on.")).map(textOfMessage).join("\n");
    for (const { category, text, gold } of asked.questions) {
      const context = (await driver.preview(text)).map(textOfMessage);
      const page = await recallPassages(store, {
        query: text,
        sessions: ["replay"],
        asking: "replay",
        budgetTokens: ANSWER_TOKENS,
      });
      const words = context.join("\n");
      const found = page.passages.map((passage) => passage.text).join("\n");
      places.push({
        category,
        inAny: shareOf(gold, any),
        inContext: shareOf(gold, words),
        byOneCall: shareOf(gold, `${words}\n${found}`),
      });
    }
    await store.close();
    return { places, compactions: driver.compactions };
  } finally {
    await driver.close();
  }
}

function mean(values: readonly number[]): number {
  return (100 * values.reduce((sum, value) => sum + value, 0)) / Math.max(1, values.length);
}

/** `quick`: few facts in the history for reporting. */
export async function factRows({ quick, log }: BenchOptions): Promise<BenchRow[]> {
  const [asked] = recallCases("reporting", quick ? 16 : undefined);
  if (!asked) {
    log("context: no recordings for facts after compactions");
    return [];
  }
  const facts = asked.questions.filter(({ category }) => category.startsWith("fact"));
  const planted = { ...asked, questions: facts };
  const extracts = rowsOf("extracts", await placesOf(planted));
  const calls = { count: 0 };
  const model = rowsOf("a model", await placesOf(planted, copyingModel(calls)));
  const called: BenchRow = { measure: "facts, a model: its calls", value: calls.count, unit: "" };
  return [...extracts, ...model, withTarget(called, ">=", LEAST_COMPACTIONS)];
}

function rowsOf(by: string, { places, compactions }: Outcome): BenchRow[] {
  const row = (measure: string, value: number, unit = "%"): BenchRow => ({
    measure: `facts, ${by}: ${measure}`,
    value,
    unit,
  });
  const rows = [withTarget(row("compactions", compactions, ""), ">=", LEAST_COMPACTIONS)];
  for (const kind of [...new Set(places.map(({ category }) => category))].toSorted()) {
    const of = places.filter(({ category }) => category === kind);
    rows.push(row(`${kind}, in any next context`, mean(of.map(({ inAny }) => inAny))));
    rows.push(row(`${kind}, in the context that asks`, mean(of.map(({ inContext }) => inContext))));
    const reached = row(`${kind}, there or by one call`, mean(of.map(({ byOneCall }) => byOneCall)));
    const least = LEAST[kind];
    rows.push(least === undefined ? reached : withTarget(reached, ">=", least));
  }
  return rows;
}
