import type { Pagurus } from "@pagurus/contract/host/host";
import type { RunRequest } from "@pagurus/contract/host/run";
import type { FileChange } from "./file-changes.ts";

export type ChatPermission = NonNullable<RunRequest["permission"]>;
export type Thinking = NonNullable<RunRequest["thinking"]>;
export const THINKING_LEVELS: readonly Thinking[] = ["off", "low", "medium", "high"];

/** Where a command is sent: one conversation in some channel. */
export interface CommandContext {
  pagurus: Pagurus;
  sessionKey: string;
  agentId: string;
  cwd: string;
  /** Model ref the channel passes with each run, when the user chose one. */
  model?: string;
  /** Runtime that the channel passes with each run, when the user chose one. */
  runtime?: string;
  /** Permission mode that the channel passes with each run, when the user chose one. */
  permission?: ChatPermission;
  /** The full output of a tool, by its number; without one the newest. Absent where outputs are shown in full. */
  toolOutput?(number?: number): string;
  /** Checks whether a model ref is usable: `problem` refuses it, `warning` is only shown. */
  checkModel?(ref: string): Promise<{ problem?: string; warning?: string }>;
  /** Refs of the models that can be used now, the most likely first. */
  models?(): Promise<readonly string[]>;
  /** Width of the lines that the channel shows; absent: it wraps them itself. */
  columns?: number;
  signal?: AbortSignal;
  /** The running turn of this channel; `steer` returns false when it takes no more input. */
  turn?: { steer(text: string): boolean; abort(): void };
  /** Reports the progress of a long command. */
  note?(text: string): void;
  /** Lets the person pick from a list; undefined when they leave it. `selected`: the value that is selected at first. Absent where the channel has only text. */
  pick?(title: string, choices: readonly Choice[], selected?: string): Promise<string | undefined>;
  /** Shows changes of files with colours. Absent where the channel has only text. */
  showChanges?(changes: readonly FileChange[]): void;
  /** Whether the next turns only plan; absent where the channel has no plan mode. */
  isPlanning?: boolean;
  /** Reasoning effort that the channel passes with each run, when the user chose one. */
  thinking?: Thinking;
}

/** One line of a list to pick from. */
export interface Choice {
  value: string;
  label: string;
  description?: string;
}

/** What the channel has to do besides showing the text. */
export type CommandEffect =
  /** Pass this model ref with the next runs; absent: the configured one again. */
  | { type: "model"; model?: string }
  /** Pass this permission mode with the next runs; absent: the configured one again. */
  | { type: "permission"; mode?: ChatPermission }
  /** Pass this reasoning effort with the next runs; absent: the configured one again. */
  | { type: "thinking"; thinking?: Thinking }
  /** Only plan from now on, or no longer. */
  | { type: "plan"; isOn: boolean }
  /** Carry out the plan that the person accepted. */
  | { type: "accepted" }
  /** The conversation ends earlier now; `text`: the input after that end, to edit and send again. */
  | { type: "rewound"; text?: string }
  /** The key now names another generation. */
  | { type: "renewed"; sessionId: string }
  /** Continue with this session. */
  | { type: "session"; sessionKey: string }
  /** Run a turn with this input; `model` applies to it alone, if the user chose none in the channel. */
  | { type: "prompt"; prompt: string; model?: string; isForeign?: boolean }
  /** Put the text into the person's clipboard. */
  | { type: "copy"; text: string }
  | { type: "exit" };

export interface CommandResult {
  /** Plain text, lines without a trailing newline. */
  text: string;
  effects: CommandEffect[];
}

/** Where a slash command is offered. */
export type CommandDoor = "terminal" | "editor" | "channel";

/** One slash command; a terminal and an editor run it, a channel has an answer of its own, as a turn is work of an inbox there. */
export interface SlashCommand {
  /** Without the slash. */
  name: string;
  aliases?: readonly string[];
  /** Arguments as shown in `/help`; empty when it takes none. */
  usage: string;
  summary: string;
  /** Absent: terminal and editor. */
  doors?: readonly CommandDoor[];
  /** Whether it may run during a turn; absent: when the turn has ended. */
  atOnce?(args: string): boolean;
  /** Throws `PagurusError`; the channel shows its message. */
  run(args: string, context: CommandContext): Promise<CommandResult>;
}

export const EVERY_DOOR: readonly CommandDoor[] = ["terminal", "editor", "channel"];

export function say(text: string, ...effects: CommandEffect[]): CommandResult {
  return { text, effects };
}
