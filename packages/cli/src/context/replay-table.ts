/** The figures of a replay as text. */
import { count, plural } from "@pagurus/core/data/plain-numbers";
import { table } from "@pagurus/host/command/layout";
import type { Figure, ReplayReport, WorseFigure } from "@pagurus/replay/replay-figures";

/** Files that are named one by one. */
const NAMED = 3;

/** `notes`: sentences below the table. */
export function reportText(report: ReplayReport, notes: readonly string[]): string {
  const { sessions, engines, window } = report;
  const sum = (of: (session: ReplayReport["sessions"][number]) => number): number =>
    sessions.reduce((total, session) => total + of(session), 0);
  const calls = plural(
    sum((session) => session.calls),
    "model call",
  );
  const tokens = count(sum((session) => session.tokens));
  const head = `${plural(sessions.length, "session")}, ${calls}, ${tokens} tokens; window ${count(window)}, of it 26,000 system prompt and tools. No model was called.`;
  const names = engines[0]?.figures.map(({ name }) => name) ?? [];
  const rows = names.map((name) => [
    name,
    ...engines.map(({ figures }) => cellOf(figures.find((figure) => figure.name === name))),
  ]);
  const right = engines.map((_, index) => index + 1);
  const lines = table(["figure", ...engines.map(({ id }) => id)], rows, right);
  return [head, "", ...lines, ...notesOf(report, notes)].join("\n");
}

function cellOf(figure: Figure | undefined): string {
  return figure?.value === undefined ? "–" : valueText(figure.value, figure.unit);
}

function valueText(value: number, unit: Figure["unit"]): string {
  return unit === "%" ? `${value.toFixed(1)} %` : count(value);
}

function notesOf({ sessions, leftOut }: ReplayReport, more: readonly string[]): string[] {
  const notes = [...more];
  const shortened = sessions.filter(({ isShortened }) => isShortened).length;
  if (shortened > 0) notes.push(`Of ${plural(shortened, "long session")} only the newest part was replayed.`);
  if (leftOut.length > 0) {
    const named = leftOut.slice(0, NAMED).map(({ file, why }) => `${file}: ${why}`);
    const more = leftOut.length > NAMED ? [`and ${leftOut.length - NAMED} more`] : [];
    notes.push(`Left out: ${[...named, ...more].join("; ")}`);
  }
  return notes.length === 0 ? [] : ["", ...notes];
}

export function worseText(worse: readonly WorseFigure[]): string {
  if (worse.length === 0) return "No figure is worse than in the baseline.";
  const lines = worse.map(
    ({ engine, name, now, saved, unit }) =>
      `${engine}: ${name} is ${valueText(now, unit)}, and was ${valueText(saved, unit)}`,
  );
  return [`${plural(worse.length, "figure")} worse than in the baseline:`, ...lines].join("\n");
}
