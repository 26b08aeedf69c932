import type { TurnEvent } from "@pagurus/contract/host/events";
import type { AgentMessage } from "@pagurus/contract/message";
import { compactionSizes } from "@pagurus/host/command/context-gauge";
import { fallbackText } from "@pagurus/host/command/fallback-text";
import { bytes, count, oneLine, plural, terminalSafe } from "@pagurus/host/command/layout";
import { planLines } from "@pagurus/host/command/plan-text";
import { messageText } from "@pagurus/host/command/rewind";
import { styleFor, type OutputStream, type Style } from "../cli.ts";
import { Waiting } from "../chat/wait-spinner.ts";
import { durationText } from "@pagurus/core/platform/duration";

type Of<T extends TurnEvent["type"]> = Extract<TurnEvent, { type: T }>;

/** The host's plan tool (`src/tool/plan-tool.ts`, which is not loaded just for its name). */
const PLAN_TOOL = "update_plan";

/** Arguments that describe a call best, in order of preference. */
const MAIN_ARGUMENTS = ["command", "path", "file", "pattern", "query", "url", "prompt"];

/** One line per call: its main arguments, else all of them as JSON. */
function callSummary(args: Record<string, unknown>, limit: number): string {
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

function outcomeText({ content }: Of<"tool.completed">["outcome"]): string {
  return content.map((part) => (part.type === "text" ? part.text : "[image]")).join("\n");
}

/** Whether the result line shows less than all of it. */
function isFolded(outcome: Of<"tool.completed">["outcome"]): boolean {
  const text = outcomeText(outcome);
  const lines = lineCount(text);
  return outcome.isError ? lines > 2 * FAILURE_LINES : lines > 1 || text.length > SHORT;
}

/** Summary of a result: all of an error, the size of a success. */
function outcomeSummary(outcome: Of<"tool.completed">["outcome"], limit: number): string {
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
function activityLine(event: TurnEvent, style: Style, limit: number): string | undefined {
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

/** Name of a compaction among the pending tool calls. */
const COMPACTION = "compaction";

const COMPACTION_NOTICES: ReadonlySet<TurnEvent["type"]> = new Set([
  "compaction.started",
  "compaction.completed",
]);

export interface TurnOutputOptions {
  /** Whether only requested output may be shown now: a person types or a question is open. */
  quiet?: () => boolean;
  /** Whether successful compactions are shown; failed ones always are. Default true. */
  notifyCompactions?: boolean;
  /** Formats text on a terminal; absent: raw text. */
  render?: TextRenderer | undefined;
  /** Stores the tool outputs of which only the size is shown. */
  outputs?: { add(event: Of<"tool.completed">): number } | undefined;
  /** Shows a spinner while waiting. */
  spin?: boolean;
}

/** Formatter of streaming text for a terminal; it may buffer some until more arrives. */
export interface TextRenderer {
  push(text: string): string;
  /** Returns the buffered text, because something else follows. */
  flush(): string;
  /** The same at the end of a message. */
  end(): string;
}

/** First half of a surrogate pair whose second half has not arrived. */
const HALF_CHARACTER = /[\ud800-\udbff]$/;

/**
 * Shows a turn to a person: its text on one stream, everything else as lines on another. On a terminal text appears as it
 * arrives. Elsewhere it waits until its message is complete, because a retry repeats the message.
 */
export class TurnOutput {
  readonly #text: OutputStream;
  readonly #activity: OutputStream;
  readonly #style: Style;
  readonly #render: TextRenderer | undefined;
  readonly #outputs: TurnOutputOptions["outputs"];
  readonly #live: boolean;
  readonly #notifyCompactions: boolean;
  readonly #waiting: Waiting;
  readonly #running = new Map<string, string>();
  #model = "the model";
  /** Whether text was written since the last newline of the text stream. */
  #lineOpen = false;
  /** Whether deltas of the streaming message were shown. */
  #streamed = false;
  /** Received text that is not shown yet: half a character, or off a terminal the message so far. */
  #kept = "";
  #answered = false;

  constructor(
    text: OutputStream,
    activity: OutputStream,
    env: Record<string, string | undefined>,
    options: TurnOutputOptions = {},
  ) {
    const { quiet = () => false, notifyCompactions = true, spin = false } = options;
    this.#text = text;
    this.#activity = activity;
    this.#notifyCompactions = notifyCompactions;
    this.#live = text.isTTY === true;
    this.#style = styleFor(activity, env);
    this.#render = this.#live ? options.render : undefined;
    this.#outputs = options.outputs;
    this.#waiting = new Waiting(activity, this.#style, {
      whom: () => [...this.#running.values()].join(", ") || this.#model,
      quiet,
      open: () => this.#lineOpen,
      before: () => this.endLine(),
      spin: spin && activity.isTTY === true,
    });
  }

  show(event: TurnEvent): void {
    this.#waiting.beat();
    this.#follow(event);
    if (event.type === "text.delta") return this.#delta(event.delta);
    if (event.type === "message") this.#message(event.message);
    if (event.type === "model.retry" || event.type === "model.fallback") this.#startAgain();
    if (event.type === "turn.completed" || event.type === "turn.failed") this.#finish();
    const isShown = this.#notifyCompactions || !COMPACTION_NOTICES.has(event.type);
    const line = isShown ? activityLine(event, this.#style, this.#limit) : undefined;
    if (line !== undefined) this.note(line + this.#opener(event));
    const nothing = event.type === "turn.completed" && event.stopReason !== "aborted" && !this.#answered;
    if (nothing) this.note(this.#style("yellow", "the model's answer was empty"));
    return undefined;
  }

  get #limit(): number {
    return Math.max(40, Math.min(this.#activity.columns ?? 100, 160) - 12);
  }

  /** Hint on how to open an output of which only the size is shown. */
  #opener(event: TurnEvent): string {
    if (event.type !== "tool.completed" || !this.#outputs || !isFolded(event.outcome)) return "";
    return this.#style("dim", ` (/output ${this.#outputs.add(event)})`);
  }

  /** A line of its own on the stream for activity. */
  note(line: string): void {
    this.endLine();
    this.#activity.write(`${line}\n`);
  }

  /** Reports the user's abort. After the `^C` that a terminal echoes the line is still open. */
  aborted(): void {
    const echoed = this.#activity.isTTY === true && !this.#lineOpen;
    if (echoed) this.#activity.write("\n");
    this.note(this.#style("dim", "aborted"));
  }

  /** Ends the current line of text, so that what follows starts on its own. */
  endLine(): void {
    this.#put(this.#render?.flush() ?? "");
    if (this.#lineOpen) this.#text.write("\n");
    this.#lineOpen = false;
  }

  /** Ends the output. */
  close(): void {
    this.#waiting.stop();
    this.#finish();
    this.endLine();
  }

  /** Tracks what the turn waits for. */
  #follow(event: TurnEvent): void {
    if (event.type === "turn.started") this.#model = oneLine(event.model, 100);
    if (event.type === "model.fallback") this.#model = oneLine(event.to, 100);
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
    this.#put(this.#render?.end() ?? "");
    if (shown) this.note(this.#style("yellow", "(answer cut off; starting again)"));
  }

  #message(message: AgentMessage): void {
    if (message.role !== "assistant") return;
    const text = messageText(message);
    if (text !== "") this.#answered = true;
    // A runtime that does not stream sends complete messages only.
    if (!this.#streamed) this.#write(text === "" ? this.#kept : text);
    this.#kept = "";
    this.#streamed = false;
    this.#put(this.#render?.end() ?? "");
    this.endLine();
  }

  /** Shows the received part of a message when the turn ends within it. */
  #finish(): void {
    const rest = this.#kept;
    this.#kept = "";
    this.#streamed = false;
    this.#write(rest);
    this.#put(this.#render?.end() ?? "");
  }

  #write(text: string): void {
    const shown = this.#live ? terminalSafe(text) : text;
    this.#put(this.#render?.push(shown) ?? shown);
  }

  #put(text: string): void {
    if (text === "") return;
    this.#text.write(text);
    this.#lineOpen = !text.endsWith("\n");
  }
}
