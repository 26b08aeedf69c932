/** The gauge of the context and the costs, as every channel shows them. */
import type { CostSoFar } from "@pagurus/contract/host/cost";
import type { CompactionLane, ContextGauge } from "@pagurus/contract/host/events";
import { count, dollars, plural } from "@pagurus/core/data/plain-numbers";
import { oneLine } from "./layout.ts";

/** When a compaction of a lane happens. */
export const LANE_WORDS: Readonly<Record<CompactionLane, string>> = {
  queued: "between turns",
  "in-attempt": "inside a turn",
  harness: "by the runtime",
  engine: "in the background",
};

/** Tokens at which the gauge is full: where the context is compacted, else what fits. 0 where the window is unknown. */
export function gaugeEnd({ budget, compactsAt }: Pick<ContextGauge, "budget" | "compactsAt">): number {
  return compactsAt ?? budget;
}

/** A bar and the used share of the gauge; a share above 100 % fills the bar. */
export function gaugeBar(gauge: ContextGauge, cells: number): string {
  const end = gaugeEnd(gauge);
  const share = end > 0 ? gauge.tokens / end : 0;
  const full = Math.round(Math.min(1, share) * cells);
  return `${"█".repeat(full)}${"░".repeat(cells - full)} ${Math.round(share * 100)} %`;
}

/** Text such as `2 old tool results shortened`. */
export function agedWords(results: number): string {
  return `${plural(results, "old tool result")} shortened`;
}

/** Who compacts and when: `by legacy, between turns; by built-in, inside a turn`. Empty where no handler does. */
function compactors({ next, inTurn }: ContextGauge): string[] {
  const times = [
    ...(next ? [{ handler: next.handler, when: LANE_WORDS[next.lane] }] : []),
    ...(inTurn ? [{ handler: inTurn.handler, when: LANE_WORDS["in-attempt"] }] : []),
  ];
  return [...Map.groupBy(times, ({ handler }) => handler)].map(([handler, group]) => {
    const whens = new Set(group.map(({ when }) => when));
    return `by ${oneLine(handler, 60)}, ${[...whens].join(" and ")}`;
  });
}

/** `at 200,000 tokens, by legacy, between turns`; undefined where the budget is unknown. */
export function nextCompaction(gauge: ContextGauge): string | undefined {
  const end = gaugeEnd(gauge);
  if (end <= 0) return undefined;
  const who = compactors(gauge);
  return who.length === 0 ? "not automatically" : `at ${count(end)} tokens, ${who.join("; ")}`;
}

/** The known figures, or undefined if there are none. */
export function costFigures({ turn, session, day }: CostSoFar): string | undefined {
  return listed([
    ["last turn", turn],
    ["session", session],
    ["today", day],
  ]);
}

/** The limits in force, or undefined if there is none. */
export function costLimits({ limits }: CostSoFar): string | undefined {
  return listed([
    ["turn", limits?.turn],
    ["session", limits?.session],
    ["day", limits?.day],
  ]);
}

function listed(figures: readonly (readonly [string, number | undefined])[]): string | undefined {
  const known = figures.flatMap(([name, value]) =>
    value === undefined ? [] : [`${name} ${dollars(value)}`],
  );
  return known.length === 0 ? undefined : known.join(", ");
}

/** `$0.012 (session $0.34 of $5.00, today $1.20)`: the costs, each with its limit if one is in force. */
function spent({ turn, session, day, unpriced = [], limits }: CostSoFar): string | undefined {
  const of = (value: number, limit: number | undefined): string =>
    limit === undefined ? dollars(value) : `${dollars(value)} of ${dollars(limit)}`;
  const further = [
    session === undefined ? "" : `session ${of(session, limits?.session)}`,
    day === undefined ? "" : `today ${of(day, limits?.day)}`,
    unpriced.length === 0 ? "" : `without ${oneLine(unpriced.join(", "), 60)}, whose price is not known`,
  ].filter((text) => text !== "");
  if (turn === undefined) return further.length === 0 ? undefined : further.join(", ");
  return `${of(turn, limits?.turn)}${further.length === 0 ? "" : ` (${further.join(", ")})`}`;
}

/** How full the context is, and who compacts it at which size, in one line. */
export function contextText(context: ContextGauge): string {
  return contextParts(context).join(" · ");
}

function contextParts(context: ContextGauge): string[] {
  const { tokens, next, inTurn, agedResults = 0 } = context;
  const end = gaugeEnd(context);
  if (end <= 0) return [`context ${count(tokens)} tokens`];
  const aged = agedResults > 0 ? `, ${agedWords(agedResults)}` : "";
  const used = `context ${gaugeBar(context, 10)}  ${count(tokens)} of ${count(end)}${aged}`;
  const handlers = new Set([next, inTurn].flatMap((one) => (one ? [oneLine(one.handler, 60)] : [])));
  if (handlers.size === 0) return [used];
  return [used, `compacts at ${count(end)} by ${[...handlers].join(" or ")}`];
}

/**
 * The line for the end of a turn: the context, the next compaction, and the cost; undefined if none of it is known. Where it
 * does not fit into `columns`, the cost gets a line of its own.
 */
export function turnGauge(
  { context, cost }: { context?: ContextGauge; cost?: CostSoFar },
  columns = Infinity,
): string | undefined {
  const parts = context ? contextParts(context) : [];
  const money = cost && spent(cost);
  const costs = money === undefined ? [] : [`cost ${money}`];
  const line = [...parts, ...costs].join(" · ");
  if (line === "") return undefined;
  return line.length <= columns
    ? line
    : [parts.join(" · "), ...costs].filter((text) => text !== "").join("\n");
}

/** `182,000 → 41,000 tokens (saved 141,000)`, the effect of a compaction; a count of 0 means unknown. */
export function compactionSizes(before: number, after: number): string {
  if (after <= 0) return before <= 0 ? "tokens not counted" : `${count(before)} tokens before`;
  if (before <= 0) return `now ${count(after)} tokens`;
  const saved = after < before ? `saved ${count(before - after)}` : "nothing saved";
  return `${count(before)} → ${count(after)} tokens (${saved})`;
}
