/**
 * Figures that need no model, over the recorded sessions: what a session had is in the context or found by one call after
 * compactions, and the strings of the tool call that came next are in the context.
 */
import { globSync, existsSync } from "node:fs";
import { join } from "node:path";
import { recallTools } from "../../packages/lossless/src/recall/recall-tools.ts";
import { createLegacyEngine } from "../../packages/host/src/engines/legacy/legacy-engine.ts";
import { createLosslessEngine } from "../../packages/lossless/src/lossless-engine.ts";
import type { LosslessStore } from "../../packages/lossless/src/store/lossless-store.ts";
import { Pace } from "../../packages/core/src/platform/pace.ts";
import { measure } from "../../packages/replay/src/prompt-meter.ts";
import { readSession } from "../../packages/replay/src/read-session.ts";
import { figuresOf } from "../../packages/replay/src/replay-figures.ts";
import {
  addCounts,
  noCounts,
  prepareSession,
  replaySession,
  type PreparedSession,
  type ReplayCounts,
} from "../../packages/replay/src/replay-session.ts";
import type { ReplayedEngine } from "../../packages/replay/src/replayed-engine.ts";
import { type BenchOptions, type BenchRow, withPeer, withTarget } from "../report.ts";
import { slidingWindow } from "./policies/windows.ts";
import { CODING_SESSIONS } from "./replay/claude-code.ts";
import { readDialogues, recordedDialogues } from "./replay/tau-bench.ts";

const WINDOW = 64_000;
/** So many dialogues have about five times what a window holds. */
const DIALOGUES = 50;
/** Items of a kind for each session. */
const ITEMS = 40;
/** Points by which the strings of the next call are more often in the context than by each baseline. */
const LEAST_LEAD = 5;
const LEAST: Readonly<Record<string, number>> = { decisions: 100 };
const LEAST_OTHERS = 95;

function losslessWithTools(): ReplayedEngine {
  let store: LosslessStore | undefined;
  const onStore = (opened: LosslessStore): void => void (store = opened);
  return {
    key: "lossless",
    id: "lossless",
    config: {},
    create: (context) => createLosslessEngine(context, { onStore }),
    tools: recallTools(() => store),
  };
}

const ENGINES: readonly (() => ReplayedEngine)[] = [
  losslessWithTools,
  () => ({ key: "legacy", id: "legacy", config: {}, create: createLegacyEngine, tools: [] }),
];

/** Dialogues in sequence as one session: coding sessions have few decisions of a user. */
async function dialogues(): Promise<PreparedSession[]> {
  const recorded = recordedDialogues()?.toSorted((a, b) => a.trial - b.trial || a.task_id - b.task_id);
  if (!recorded) return [];
  const session = readDialogues("service dialogues", recorded.slice(0, DIALOGUES));
  return [await prepareSession(session, new Pace())];
}

async function codingSessions(quick: boolean): Promise<PreparedSession[]> {
  const files = globSync("*.jsonl", { cwd: CODING_SESSIONS }).filter((file) => !file.includes("_subagents_"));
  const sessions: PreparedSession[] = [];
  for (const file of files.toSorted().slice(0, quick ? 1 : undefined)) {
    const session = await readSession(join(CODING_SESSIONS, file), new Pace());
    if (session) sessions.push(await prepareSession(session, new Pace()));
  }
  return sessions;
}

async function counted(engine: ReplayedEngine, sessions: readonly PreparedSession[]): Promise<ReplayCounts> {
  const sum = noCounts();
  const [pace, { signal }] = [new Pace(), new AbortController()];
  for (const session of sessions)
    addCounts(sum, await replaySession(engine, session, { window: WINDOW, most: ITEMS, pace, signal }));
  return sum;
}

async function slidingShare(sessions: readonly PreparedSession[]): Promise<number> {
  let [seen, strings] = [0, 0];
  for (const { session, wanted } of sessions) {
    const measured = await measure(slidingWindow(WINDOW), session, wanted);
    seen += measured.strings.seen;
    strings += measured.strings.strings;
  }
  return (100 * seen) / strings;
}

function share({ next }: ReplayCounts): number {
  return (100 * next.seen) / next.strings;
}

export async function survivalRows({ quick, log }: BenchOptions): Promise<BenchRow[]> {
  if (!existsSync(CODING_SESSIONS)) {
    log(
      "context: THE RECORDED SESSIONS ARE NOT THERE: survival and next action are measured on generated ones only",
    );
    return [];
  }
  const coding = await codingSessions(quick);
  const rows: BenchRow[] = [];
  const sets = { coding, ...(quick ? {} : { dialogues: await dialogues() }) };
  const nextShares = new Map<string, number>();
  for (const [set, sessions] of Object.entries(sets)) {
    for (const make of ENGINES) {
      const engine = make();
      const counts = await counted(engine, sessions);
      if (set === "coding") nextShares.set(engine.id, share(counts));
      for (const { name, value, unit } of figuresOf(counts)) {
        if (value === undefined) continue;
        const row = { measure: `${set}, ${engine.id}: ${name}`, value, unit };
        rows.push(engine.id === "lossless" ? judged(row) : row);
      }
      log(`${set}, ${engine.id}: next action ${share(counts).toFixed(1)} %`);
    }
  }
  const own = nextShares.get("lossless") ?? 0;
  const others = { "a sliding window": await slidingShare(coding), legacy: nextShares.get("legacy") ?? 0 };
  for (const [name, value] of Object.entries(others)) {
    const measured = `coding, lossless: next action, points above ${name}`;
    const lead: BenchRow = { measure: measured, value: own - value, unit: "points" };
    rows.push(withTarget(withPeer(lead, name, value), ">=", LEAST_LEAD));
  }
  return rows;
}

/** After five compactions what the session had is there or found by one call. */
function judged(row: BenchRow): BenchRow {
  const [, kind] = /: after 5 compactions, ([\w ]+): or by one call$/.exec(row.measure) ?? [];
  return kind === undefined ? row : withTarget(row, ">=", LEAST[kind] ?? LEAST_OTHERS);
}
