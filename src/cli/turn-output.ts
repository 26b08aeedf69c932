import type { TurnEvent } from "../contract/events.ts";
import type { AgentMessage } from "../contract/message.ts";
import { bytes, count, oneLine, terminalSafe } from "../command/layout.ts";
import { messageText } from "../command/rewind.ts";
import { styleFor, type OutputStream, type Style } from "./cli.ts";

type Of<T extends TurnEvent["type"]> = Extract<TurnEvent, { type: T }>;

/** Arguments that say most about a call, in order of preference. */
const TELLING = ["command", "path", "file", "pattern", "query", "url", "prompt"];

/** One line for a call: its telling arguments, else all of them as JSON. */
function callSummary(args: Record<string, unknown>, limit: number): string {
  const told = TELLING.flatMap((key) => (typeof args[key] === "string" ? [args[key]] : []));
  if (told.length > 0) return oneLine(told.join("  "), limit);
  return Object.keys(args).length === 0 ? "" : oneLine(JSON.stringify(args), limit);
}

/** One line for a result: the first line of an error, the size of a success. */
function outcomeSummary(outcome: Of<"tool.completed">["outcome"], limit: number): string {
  const text = outcome.content.map((part) => (part.type === "text" ? part.text : "[image]")).join("\n");
  const exit = outcome.details?.["exitCode"];
  const code = typeof exit === "number" && exit !== 0 ? `exit ${exit}, ` : "";
  if (outcome.isError) return oneLine(`${code}${text.trim().split("\n")[0] ?? ""}`, limit);
  const lines = text === "" ? 0 : text.replace(/\n$/, "").split("\n").length;
  return lines <= 1 && text.length <= 60
    ? oneLine(`${code}${text}`, limit)
    : `${code}${lines === 1 ? "1 line" : `${count(lines)} lines`}, ${bytes(Buffer.byteLength(text))}`;
}

/** Events that are not text, as one short line; undefined for those a person need not see. */
function activityLine(event: TurnEvent, style: Style, limit: number): string | undefined {
  const short = (text: string): string => oneLine(text, limit);
  switch (event.type) {
    case "tool.started":
      return `${style("cyan", "•")} ${short(event.toolName)} ${style("dim", callSummary(event.arguments, limit))}`.trimEnd();
    case "tool.completed": {
      const mark = event.outcome.isError ? style("red", "✗") : style("green", "✓");
      return `  ${mark} ${style("dim", `${short(event.toolName)}: ${outcomeSummary(event.outcome, limit)}`)}`;
    }
    case "notice":
      return style("dim", `note: ${short(event.detail)}`);
    case "model.retry":
      return style("yellow", `retry ${event.attempt} in ${count(event.delayMs)} ms: ${short(event.reason)}`);
    case "steered":
      return style("dim", "note: your input joined the turn");
    case "compaction.started":
      return style("dim", `compacting (${event.trigger}, ${count(event.tokensBefore)} tokens)`);
    case "compaction.completed":
      return style(
        "dim",
        `compacted by ${short(event.handledBy)}: ${count(event.tokensBefore)} → ${count(event.tokensAfter)} tokens`,
      );
    case "compaction.failed":
      return style("yellow", `compaction failed: ${short(event.reason)}`);
    case "context.degraded":
      return style(
        "yellow",
        `degraded (${event.stage}, engine ${short(event.engineId)}): ${short(event.reason)}`,
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

/** Shows a turn to a person: its text on one stream, everything else as short lines on another. */
export class TurnOutput {
  readonly #text: OutputStream;
  readonly #activity: OutputStream;
  readonly #style: Style;
  readonly #limit: number;
  /** Something was written since the last newline of the text stream. */
  #lineOpen = false;
  /** Text of the message that is streaming was shown as deltas. */
  #streamed = false;

  constructor(text: OutputStream, activity: OutputStream, env: Record<string, string | undefined>) {
    this.#text = text;
    this.#activity = activity;
    this.#style = styleFor(activity, env);
    this.#limit = Math.max(40, Math.min(activity.columns ?? 100, 160) - 12);
  }

  show(event: TurnEvent): void {
    if (event.type === "text.delta") {
      this.#streamed = true;
      this.#write(event.delta);
      return;
    }
    if (event.type === "message") this.#message(event.message);
    if (event.type === "model.retry") this.#streamed = false;
    const line = activityLine(event, this.#style, this.#limit);
    if (line === undefined) return;
    this.endLine();
    this.#activity.write(`${line}\n`);
  }

  /** Ends the current line of text, so that what follows starts on its own. */
  endLine(): void {
    if (this.#lineOpen) this.#text.write("\n");
    this.#lineOpen = false;
  }

  #message(message: AgentMessage): void {
    if (message.role !== "assistant") return;
    // A runtime that does not stream sends whole messages only.
    if (!this.#streamed) this.#write(messageText(message));
    this.#streamed = false;
    this.endLine();
  }

  #write(text: string): void {
    if (text === "") return;
    this.#text.write(this.#text.isTTY === true ? terminalSafe(text) : text);
    this.#lineOpen = !text.endsWith("\n");
  }
}
