/** Words for the events of a turn, as every view shows them. */
import type { TurnEvent } from "@pagurus/contract/host/events";
import { compactionSizes } from "@pagurus/host/command/context-gauge";
import { fallbackText } from "@pagurus/host/command/fallback-text";
import { bytes, oneLine } from "@pagurus/host/command/layout";
import { count, plural } from "@pagurus/core/data/plain-numbers";
import { planLines } from "@pagurus/host/command/plan-text";
import { durationText } from "@pagurus/core/platform/duration";
import type { Style } from "../cli.ts";

type Completed = Extract<TurnEvent, { type: "tool.completed" }>;

/** The host's plan tool (`packages/host/src/tool/plan-tool.ts`, which is not loaded just for its name). */
export const PLAN_TOOL = "update_plan";

/** Arguments that describe a call best, in order of preference. */
const MAIN_ARGUMENTS = ["command", "path", "file", "pattern", "query", "url", "prompt"];

/** One line per call: its main arguments, else all of them as JSON. */
export function callSummary(args: Record<string, unknown>, limit: number): string {
  const main = MAIN_ARGUMENTS.flatMap((key) => (typeof args[key] === "string" ? [args[key]] : []));
  if (main.length > 0) return oneLine(main.join("  "), limit);
  return Object.keys(args).length === 0 ? "" : oneLine(JSON.stringify(args), limit);
}

/** Lines shown of the start and of the end of a failure, when it has more than both. */
const FAILURE_LINES = 20;

/** The full text, in one line. */
function whole(text: string): string {
  return oneLine(text, Infinity);
}

/** A failure with its full message, a line each; of a long output the start and the end. */
function failureText(text: string): string {
  const lines = text.trim().split("\n").map(whole);
  const left = lines.length - 2 * FAILURE_LINES;
  if (left > 0) lines.splice(FAILURE_LINES, left, `… ${plural(left, "more line")} …`);
  return lines.join("\n    ");
}

/** Maximum characters of a one-line success that is shown in full. */
const SHORT = 60;

function lineCount(text: string): number {
  return text === "" ? 0 : text.replace(/\n$/, "").split("\n").length;
}

export function outcomeText({ content }: Completed["outcome"]): string {
  return content.map((part) => (part.type === "text" ? part.text : "[image]")).join("\n");
}

/** Whether the result line shows less than all of it. */
export function isFolded(outcome: Completed["outcome"]): boolean {
  const text = outcomeText(outcome);
  const lines = lineCount(text);
  return outcome.isError ? lines > 2 * FAILURE_LINES : lines > 1 || text.length > SHORT;
}

/** Summary of a result: all of an error, the size of a success. */
export function outcomeSummary(outcome: Completed["outcome"], limit: number): string {
  const text = outcomeText(outcome);
  const exit = outcome.details?.["exitCode"];
  const code = typeof exit === "number" && exit !== 0 ? `exit ${exit}, ` : "";
  if (outcome.isError) return `${code}${failureText(text)}`;
  const lines = lineCount(text);
  return lines <= 1 && text.length <= SHORT
    ? oneLine(`${code}${text}`, limit)
    : `${code}${plural(lines, "line")}, ${bytes(Buffer.byteLength(text))}`;
}

/**
 * Line for an event that is not text; undefined for events without one. Only the arguments of a call and the text of a
 * successful result are cut to `limit` characters: a message has its remedy at the end.
 */
export function activityLine(event: TurnEvent, style: Style, limit: number): string | undefined {
  switch (event.type) {
    case "tool.started":
      // Its effect is shown as the plan.
      if (event.toolName === PLAN_TOOL) return undefined;
      return `${style("cyan", "•")} ${whole(event.toolName)} ${style("dim", callSummary(event.arguments, limit))}`.trimEnd();
    case "tool.completed": {
      if (event.toolName === PLAN_TOOL && !event.outcome.isError) return undefined;
      const mark = event.outcome.isError ? style("red", "✗") : style("green", "✓");
      return `  ${mark} ${style("dim", `${whole(event.toolName)}: ${outcomeSummary(event.outcome, limit)}`)}`;
    }
    case "notice":
      return style("dim", `note: ${whole(event.detail)}`);
    case "plan.updated":
      if (event.steps.length === 0) return style("dim", "  (an empty plan)");
      return planLines(event)
        .map((line) => style("dim", `  ${line}`))
        .join("\n");
    case "model.retry":
      return style("yellow", retryLine(event.attempt, event.delayMs, whole(event.reason)));
    case "model.fallback":
      return style("yellow", `fallback: ${fallbackText(event)}`);
    case "steered":
      return style("dim", "note: your input joined the turn");
    case "compaction.started":
      return style(
        "dim",
        event.tokensBefore > 0
          ? `compacting ${count(event.tokensBefore)} tokens (${event.trigger})…`
          : `compacting (${event.trigger})…`,
      );
    case "compaction.completed":
      return style(
        "dim",
        `compacted by ${whole(event.handledBy)}: ${compactionSizes(event.tokensBefore, event.tokensAfter)}`,
      );
    case "compaction.failed":
      return style("yellow", `compaction failed: ${whole(event.reason)}`);
    case "subagent.started": {
      const about = `(${event.contextMode}, depth ${event.depth})`;
      return `${style("cyan", "•")} subagent ${whole(event.childSessionKey)} ${style("dim", about)}`;
    }
    case "subagent.ended": {
      const mark = event.outcome === "completed" ? style("green", "✓") : style("red", "✗");
      return `  ${mark} ${style("dim", `subagent ${whole(event.childSessionKey)}: ${event.outcome}`)}`;
    }
    case "context.degraded":
      return style(
        "yellow",
        `degraded (${event.stage}, engine ${whole(event.engineId)}): ${whole(event.reason)}`,
      );
    case "turn.completed":
      if (event.stopReason === "length")
        return style("yellow", "the answer reached the model's output limit");
      if (event.stopReason === "max_steps")
        return style("yellow", "stopped: the turn reached its step limit");
      return undefined;
    default:
      return undefined;
  }
}

/** Pauses of at least this length are shown with the time of day at which they end, ms. */
const LONG_PAUSE_MS = 10_000;

function retryLine(attempt: number, delayMs: number, reason: string): string {
  if (delayMs < LONG_PAUSE_MS) return `retry ${attempt} in ${durationText(delayMs)}: ${reason}`;
  const until = new Date(Date.now() + delayMs).toTimeString().slice(0, 8);
  return `retry ${attempt} in ${durationText(delayMs)}, at ${until} (Ctrl-C ends the wait): ${reason}`;
}
