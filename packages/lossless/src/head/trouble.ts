/** Errors of the work with what ended them, and the plan's open steps, from the calls themselves. */
import type { CallRecord } from "@pagurus/core/compaction/summary/calls";
import type { AgentMessage } from "@pagurus/contract/message";
import { callsOf } from "@pagurus/core/compaction/message-text";
import { failureLine } from "@pagurus/core/compaction/summary/result-words";
import { isErrorLine, mayReportErrors } from "@pagurus/core/compaction/summary/salience";
import { onOneLine, shorten } from "@pagurus/core/compaction/summary/sentences";
import { estimateTokens } from "@pagurus/core/tokens/estimate";
import { isRecord } from "@pagurus/core/data/record-fields";

export interface Trouble {
  /** The call, for example `shell npm test`. */
  label: string;
  /** First line of its error. */
  error: string;
  /** Files that were changed since, until the call succeeded. */
  changed: readonly string[];
  isFixed: boolean;
}

const MOST_TROUBLES = 40;
const MOST_CHANGED = 4;
const LABEL_CHARS = 80;
const ERROR_CHARS = 140;

/** The error of a call, if it has one. Sources and search results are full of the word "error". */
function errorOf(record: CallRecord): string | undefined {
  if (record.state === "failed") return failureLine(record.result, ERROR_CHARS);
  if (record.kind !== "command" || record.state !== "ok" || !mayReportErrors(record.result)) return undefined;
  const line = record.result
    .split("\n")
    .map(onOneLine)
    .find((each) => isErrorLine(each, false));
  return line === undefined ? undefined : shorten(line, ERROR_CHARS);
}

function withChanged(trouble: Trouble, path: string): Trouble {
  if (trouble.isFixed || trouble.changed.includes(path)) return trouble;
  return { ...trouble, changed: [...trouble.changed, path].slice(-MOST_CHANGED) };
}

/** Errors after these calls: the same call without an error ends one, and the files changed between are the fix. */
export function troublesAfter(before: readonly Trouble[], records: readonly CallRecord[]): Trouble[] {
  let troubles = [...before];
  for (const record of records) {
    if (record.state === "open") continue;
    const label = shorten(record.label, LABEL_CHARS);
    const error = errorOf(record);
    if (error !== undefined) {
      const open = troubles.find((each) => each.label === label && !each.isFixed);
      troubles = [
        ...troubles.filter((each) => each !== open),
        { label, error, changed: open?.error === error ? open.changed : [], isFixed: false },
      ];
      continue;
    }
    if (record.kind === "edit" && record.path !== undefined) {
      const { path } = record;
      troubles = troubles.map((each) => withChanged(each, path));
    }
    troubles = troubles.map((each) => (each.label === label ? { ...each, isFixed: true } : each));
  }
  return troubles.slice(-MOST_TROUBLES);
}

/** `shell npm test — error: TypeError: x (gone after changes in src/a.ts)`. */
export function troubleLine({ label, error, changed, isFixed }: Trouble): string {
  const files = changed.map((path) => path.split("/").slice(-2).join("/")).join(", ");
  const how = files === "" ? "" : ` after changes in ${files}`;
  return `${label} — ${error}${isFixed ? ` (gone${how})` : ""}`;
}

/** Lines within the budget: open errors first, then fixed ones, the newest of each; in their order. */
export function troubleLines(troubles: readonly Trouble[], budget: number): string[] {
  const ranked = [false, true].flatMap((isFixed) =>
    troubles.filter((each) => each.isFixed === isFixed && (!isFixed || each.changed.length > 0)).toReversed(),
  );
  const chosen = new Set<Trouble>();
  let left = budget;
  for (const trouble of ranked) {
    left -= estimateTokens(`\n- ${troubleLine(trouble)}`);
    if (left < 0) break;
    chosen.add(trouble);
  }
  return troubles.filter((each) => chosen.has(each)).map(troubleLine);
}

const STEP_KEYS = ["content", "step", "title", "text", "task", "name"];
const MOST_NEXT = 3;
const STEP_CHARS = 160;

interface PlanStep {
  text: string;
  status: string;
}

function stepOf(value: unknown): PlanStep | undefined {
  if (!isRecord(value) || typeof value["status"] !== "string") return undefined;
  const text = STEP_KEYS.map((key) => value[key]).find((each) => typeof each === "string" && each !== "");
  return typeof text === "string"
    ? { text: shorten(onOneLine(text), STEP_CHARS), status: value["status"] }
    : undefined;
}

/** Steps of a call that sets a plan, for example `{"todos":[{"content":"Fix the parser","status":"in_progress"}]}`. */
function planIn(args: Record<string, unknown>): PlanStep[] | undefined {
  for (const value of Object.values(args)) {
    if (!Array.isArray(value) || value.length === 0) continue;
    const steps = value.map(stepOf);
    if (steps.every((step) => step !== undefined)) return steps;
  }
  return undefined;
}

/** The open steps of the newest plan, the one in progress first; `before` where no message sets a plan. */
export function planAfter(before: readonly string[], messages: readonly AgentMessage[]): readonly string[] {
  for (const message of messages.toReversed()) {
    if (message.role !== "assistant") continue;
    const steps = callsOf(message)
      .toReversed()
      .map((call) => planIn(call.arguments))
      .find((plan) => plan !== undefined);
    if (!steps) continue;
    const now = steps.filter(({ status }) => /progress|active|running|current|doing/i.test(status));
    const next = steps.filter(({ status }) => /pending|to[ _-]?do|open|not[ _]started|queued/i.test(status));
    return [
      ...now.map(({ text }) => `In progress: ${text}`),
      ...next.slice(0, MOST_NEXT).map(({ text }) => `Next: ${text}`),
    ];
  }
  return before;
}
