/** The figures of replayed sessions by their names, and their comparison with saved ones. */
import { SURVIVAL_AFTER } from "./survival/survival.ts";
import { ITEM_KINDS } from "./survival/survival-items.ts";
import type { ReplayCounts } from "./replay-session.ts";

type FigureUnit = "tokens" | "%" | "prompts" | "";

export interface Figure {
  /** For example `after 5 compactions, paths: in context or by one call`. */
  name: string;
  /** Absent where the sessions have nothing to measure it by. */
  value?: number;
  unit: FigureUnit;
  /** Direction that is better; absent for a figure that is only shown. */
  better?: "more" | "less";
}

/** What may differ from a saved figure, since times and threads decide a little. */
const TOLERANCE_POINTS = 0.5;
const TOLERANCE_SHARE = 0.02;

export const FIGURES_VERSION = 1;

export interface ReplayReport {
  version: typeof FIGURES_VERSION;
  window: number;
  sessions: ReplayedSession[];
  /** Files without a session, or with one that cannot be replayed, and why. */
  leftOut: { file: string; why: string }[];
  engines: { id: string; figures: Figure[] }[];
}

export interface ReplayedSession {
  file: string;
  format: string;
  calls: number;
  messages: number;
  /** Tokens of all messages. */
  tokens: number;
  isShortened: boolean;
}

function share(part: number, whole: number): { value?: number } {
  return whole === 0 ? {} : { value: (100 * part) / whole };
}

export function figuresOf(counts: ReplayCounts): Figure[] {
  const { calls, next, survival } = counts;
  const perCall = (sum: number): { value?: number } => (calls === 0 ? {} : { value: sum / calls });
  const figures: Figure[] = [
    { name: "context, mean", ...perCall(counts.tokens), unit: "tokens" },
    { name: "context, largest", value: counts.largest, unit: "tokens" },
    { name: "token equivalents a call", ...perCall(counts.cost), unit: "tokens", better: "less" },
    { name: "compactions", value: counts.compactions, unit: "" },
    { name: "broken prefixes", value: counts.brokenPrefixes, unit: "prompts", better: "less" },
    { name: "faulty prompts", value: counts.faulty, unit: "prompts", better: "less" },
    { name: "sessions compacted five times", value: counts.compacted, unit: "" },
    { name: "next action in context", ...share(next.seen, next.strings), unit: "%", better: "more" },
    { name: "next action in context, far", ...share(next.farSeen, next.far), unit: "%", better: "more" },
  ];
  for (const after of SURVIVAL_AFTER) {
    for (const kind of ITEM_KINDS) {
      const { items, inContext, reachable } = survival[after][kind];
      const of = `after ${after === 1 ? "1 compaction" : `${after} compactions`}, ${kind}`;
      figures.push(
        { name: `${of}: in context`, ...share(inContext, items), unit: "%", better: "more" },
        { name: `${of}: or by one call`, ...share(reachable, items), unit: "%", better: "more" },
      );
    }
  }
  figures.push({ name: "failed searches", value: survival.failed.searches, unit: "", better: "less" });
  return figures;
}

export interface WorseFigure {
  engine: string;
  name: string;
  now: number;
  saved: number;
  unit: FigureUnit;
}

/** Why reports are not comparable, as one sentence; undefined where they are. */
export function incomparable(now: ReplayReport, saved: ReplayReport): string | undefined {
  if (now.window !== saved.window)
    return `it is of a window of ${saved.window} tokens, and this replay of one of ${now.window}`;
  if (setOf(now) !== setOf(saved)) return "it is of other sessions, or these have changed since";
  const known = new Set(saved.engines.map(({ id }) => id));
  return now.engines.some(({ id }) => known.has(id)) ? undefined : "it has none of these engines";
}

/** Equal for the same sessions, wherever they are. */
function setOf({ sessions }: ReplayReport): string {
  return sessions
    .map(({ format, calls, messages, tokens }) => `${format} ${calls} ${messages} ${tokens}`)
    .toSorted()
    .join("\n");
}

/** Figures that are worse than the saved ones of the same engine. */
export function worseFigures(now: ReplayReport, saved: ReplayReport): WorseFigure[] {
  return now.engines.flatMap(({ id, figures }) => {
    const before = new Map(
      saved.engines.find((engine) => engine.id === id)?.figures.map((figure) => [figure.name, figure.value]),
    );
    return figures.flatMap(({ name, value, unit, better }) => {
      const known = before.get(name);
      if (value === undefined || known === undefined || better === undefined) return [];
      const lost = better === "more" ? known - value : value - known;
      const tolerance =
        unit === "%" ? TOLERANCE_POINTS : unit === "tokens" ? Math.abs(known) * TOLERANCE_SHARE : 0;
      return lost > tolerance ? [{ engine: id, name, now: value, saved: known, unit }] : [];
    });
  });
}
