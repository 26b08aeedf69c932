import type { TurnEvent } from "@pagurus/contract/host/events";
import type { AgentMessage } from "@pagurus/contract/message";
import { oneLine, terminalSafe } from "@pagurus/host/command/layout";
import { messageText } from "@pagurus/host/command/rewind";
import { styleFor, type OutputStream, type Style } from "../cli.ts";
import type { Clock } from "@pagurus/core/data/clock";
import { Waiting } from "../chat/wait-spinner.ts";
import { activityLine, isFolded } from "./activity-lines.ts";

type Of<T extends TurnEvent["type"]> = Extract<TurnEvent, { type: T }>;

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
  /** Default: the machine's. */
  clock?: Clock;
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
    const { quiet = () => false, notifyCompactions = true, spin = false, clock } = options;
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
      clock,
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
