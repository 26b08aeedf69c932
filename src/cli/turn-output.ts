import type { TurnEvent } from "../contract/events.ts";
import type { AgentMessage } from "../contract/message.ts";
import { saving } from "../command/gauge.ts";
import { bytes, count, oneLine, plural, terminalSafe } from "../command/layout.ts";
import { planLines } from "../command/plan-text.ts";
import { messageText } from "../command/rewind.ts";
import { styleFor, type OutputStream, type Style } from "./cli.ts";
import { Waiting } from "./waiting.ts";

type Of<T extends TurnEvent["type"]> = Extract<TurnEvent, { type: T }>;

/** The host's tool for plans (`src/tool/plan-tool.ts`, which is not loaded for its name). */
const PLAN_TOOL = "update_plan";

/** Arguments that say most about a call, in order of preference. */
const TELLING = ["command", "path", "file", "pattern", "query", "url", "prompt"];

/** One line for a call: its telling arguments, else all of them as JSON. */
function callSummary(args: Record<string, unknown>, limit: number): string {
  const told = TELLING.flatMap((key) => (typeof args[key] === "string" ? [args[key]] : []));
  if (told.length > 0) return oneLine(told.join("  "), limit);
  return Object.keys(args).length === 0 ? "" : oneLine(JSON.stringify(args), limit);
}

/** Lines of a failure that are shown from its start and from its end, when it has more than both. */
const FAILURE_LINES = 20;

/** A text whole, in one line. */
function whole(text: string): string {
  return oneLine(text, Infinity);
}

/** A failure with all it says, a line each; of a long output the start and the end. */
function failureText(text: string): string {
  const lines = text.trim().split("\n").map(whole);
  const left = lines.length - 2 * FAILURE_LINES;
  if (left > 0) lines.splice(FAILURE_LINES, left, `… ${plural(left, "more line")} …`);
  return lines.join("\n    ");
}

/** A result: all of an error, the size of a success. */
function outcomeSummary(outcome: Of<"tool.completed">["outcome"], limit: number): string {
  const text = outcome.content.map((part) => (part.type === "text" ? part.text : "[image]")).join("\n");
  const exit = outcome.details?.["exitCode"];
  const code = typeof exit === "number" && exit !== 0 ? `exit ${exit}, ` : "";
  if (outcome.isError) return `${code}${failureText(text)}`;
  const lines = text === "" ? 0 : text.replace(/\n$/, "").split("\n").length;
  return lines <= 1 && text.length <= 60
    ? oneLine(`${code}${text}`, limit)
    : `${code}${plural(lines, "line")}, ${bytes(Buffer.byteLength(text))}`;
}

/**
 * Events that are not text, for a person; undefined for those that need not be seen. Only the arguments of a call
 * and the words of a result that succeeded are cut to `limit` characters: a message holds what to do at its end.
 */
function activityLine(event: TurnEvent, style: Style, limit: number): string | undefined {
  switch (event.type) {
    case "tool.started":
      // What it does is shown as the plan.
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
      return style("yellow", `retry ${event.attempt} in ${count(event.delayMs)} ms: ${whole(event.reason)}`);
    case "steered":
      return style("dim", "note: your input joined the turn");
    case "compaction.started":
      return style("dim", `compacting ${count(event.tokensBefore)} tokens (${event.trigger})…`);
    case "compaction.completed":
      return style(
        "dim",
        `compacted by ${whole(event.handledBy)}: ${count(event.tokensBefore)} → ${count(event.tokensAfter)} tokens${saving(event.tokensBefore, event.tokensAfter)}`,
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
        return style("yellow", "stopped: the turn reached its limit of steps");
      return undefined;
    default:
      return undefined;
  }
}

/** Stands for a compaction among the tool calls that are waited for. */
const COMPACTION = "compaction";

const COMPACTION_NOTICES: ReadonlySet<TurnEvent["type"]> = new Set([
  "compaction.started",
  "compaction.completed",
]);

export interface TurnOutputOptions {
  /** Nothing may be shown now that is not asked for: a person types or is asked. */
  quiet?: () => boolean;
  /** Whether compactions that go well are told of; one that fails always is. Default true. */
  notifyCompactions?: boolean;
}

/** A character of two UTF-16 units whose second one has not come yet. */
const HALF_CHARACTER = /[\ud800-\udbff]$/;

/**
 * Shows a turn to a person: its text on one stream, everything else as lines on another. On a terminal text appears
 * as it comes. Elsewhere it waits until its message is complete, because a retry says everything again.
 */
export class TurnOutput {
  readonly #text: OutputStream;
  readonly #activity: OutputStream;
  readonly #style: Style;
  readonly #limit: number;
  readonly #live: boolean;
  readonly #notifyCompactions: boolean;
  readonly #waiting: Waiting;
  readonly #running = new Map<string, string>();
  #model = "the model";
  /** Something was written since the last newline of the text stream. */
  #lineOpen = false;
  /** Text of the message that is streaming was shown as deltas. */
  #streamed = false;
  /** Text that came and is not shown yet: half a character, or off a terminal the message so far. */
  #kept = "";
  #answered = false;

  constructor(
    text: OutputStream,
    activity: OutputStream,
    env: Record<string, string | undefined>,
    options: TurnOutputOptions = {},
  ) {
    const { quiet = () => false, notifyCompactions = true } = options;
    this.#text = text;
    this.#activity = activity;
    this.#notifyCompactions = notifyCompactions;
    this.#live = text.isTTY === true;
    this.#style = styleFor(activity, env);
    this.#limit = Math.max(40, Math.min(activity.columns ?? 100, 160) - 12);
    this.#waiting = new Waiting(activity, this.#style, {
      whom: () => [...this.#running.values()].join(", ") || this.#model,
      quiet,
      before: () => this.endLine(),
    });
  }

  show(event: TurnEvent): void {
    this.#waiting.beat();
    this.#follow(event);
    if (event.type === "text.delta") return this.#delta(event.delta);
    if (event.type === "message") this.#message(event.message);
    if (event.type === "model.retry") this.#startAgain();
    if (event.type === "turn.completed" || event.type === "turn.failed") this.#finish();
    const told = this.#notifyCompactions || !COMPACTION_NOTICES.has(event.type);
    const line = told ? activityLine(event, this.#style, this.#limit) : undefined;
    if (line !== undefined) this.note(line);
    const nothing = event.type === "turn.completed" && event.stopReason !== "aborted" && !this.#answered;
    if (nothing) this.note(this.#style("yellow", "the model answered nothing"));
    return undefined;
  }

  /** A line of its own on the stream for activity. */
  note(line: string): void {
    this.endLine();
    this.#activity.write(`${line}\n`);
  }

  /** That the user ended the turn. Behind the `^C` that a terminal echoes the line is still open. */
  aborted(): void {
    const echoed = this.#activity.isTTY === true && !this.#lineOpen;
    if (echoed) this.#activity.write("\n");
    this.note(this.#style("dim", "aborted"));
  }

  /** Ends the current line of text, so that what follows starts on its own. */
  endLine(): void {
    if (this.#lineOpen) this.#text.write("\n");
    this.#lineOpen = false;
  }

  /** Nothing follows. */
  close(): void {
    this.#waiting.stop();
    this.#finish();
    this.endLine();
  }

  /** Keeps what a wait is named after. */
  #follow(event: TurnEvent): void {
    if (event.type === "turn.started") this.#model = oneLine(event.model, 100);
    if (event.type === "tool.started") this.#running.set(event.toolCallId, oneLine(event.toolName, 60));
    if (event.type === "tool.completed") this.#running.delete(event.toolCallId);
    if (event.type === "compaction.started") this.#running.set(COMPACTION, "the compaction");
    if (event.type === "compaction.completed" || event.type === "compaction.failed")
      this.#running.delete(COMPACTION);
  }

  #delta(delta: string): void {
    if (delta === "") return;
    this.#answered = true;
    this.#kept += delta;
    if (!this.#live) return;
    this.#streamed = true;
    const half = HALF_CHARACTER.exec(this.#kept)?.[0] ?? "";
    const ready = this.#kept.slice(0, this.#kept.length - half.length);
    this.#kept = half;
    this.#write(ready);
  }

  #startAgain(): void {
    const shown = this.#streamed;
    this.#kept = "";
    this.#streamed = false;
    if (shown) this.note(this.#style("yellow", "(answer broke off; starting again)"));
  }

  #message(message: AgentMessage): void {
    if (message.role !== "assistant") return;
    const text = messageText(message);
    if (text !== "") this.#answered = true;
    // A runtime that does not stream sends whole messages only.
    if (!this.#streamed) this.#write(text === "" ? this.#kept : text);
    this.#kept = "";
    this.#streamed = false;
    this.endLine();
  }

  /** A turn that ends within a message keeps what came of it. */
  #finish(): void {
    const rest = this.#kept;
    this.#kept = "";
    this.#streamed = false;
    this.#write(rest);
  }

  #write(text: string): void {
    if (text === "") return;
    this.#text.write(this.#live ? terminalSafe(text) : text);
    this.#lineOpen = !text.endsWith("\n");
  }
}
