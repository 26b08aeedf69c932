import type { Pagurus } from "@pagurus/contract/host/host";
import type { RunRequest } from "@pagurus/contract/host/run";

export type ChatPermission = NonNullable<RunRequest["permission"]>;

/** Where a command is sent: one conversation in some channel. */
export interface CommandContext {
  pagurus: Pagurus;
  sessionKey: string;
  agentId: string;
  cwd: string;
  /** Model ref the channel passes with each run, when the user chose one. */
  model?: string;
  /** Permission mode that the channel passes with each run, when the user chose one. */
  permission?: ChatPermission;
  /** The full output of a tool, by its number; without one the newest. Absent where outputs are shown in full. */
  toolOutput?(number?: number): string;
  /** Checks whether a model ref is usable: `problem` refuses it, `warning` is only shown. */
  checkModel?(ref: string): Promise<{ problem?: string; warning?: string }>;
  /** Width of the lines that the channel shows; absent: it wraps them itself. */
  columns?: number;
  signal?: AbortSignal;
  /** The running turn of this channel; `steer` returns false when it takes no more input. */
  turn?: { steer(text: string): boolean; abort(): void };
  /** Reports the progress of a long command. */
  note?(text: string): void;
}

/** What the channel has to do besides showing the text. */
export type CommandEffect =
  /** Pass this model ref with the next runs; absent: the configured one again. */
  | { type: "model"; model?: string }
  /** Pass this permission mode with the next runs; absent: the configured one again. */
  | { type: "permission"; mode?: ChatPermission }
  /** The key now names another generation. */
  | { type: "renewed"; sessionId: string }
  /** Continue with this session. */
  | { type: "session"; sessionKey: string }
  /** Run a turn with this input; `model` applies to it alone, if the user chose none in the channel. */
  | { type: "prompt"; prompt: string; model?: string; isForeign?: boolean }
  | { type: "exit" };

export interface CommandResult {
  /** Plain text, lines without a trailing newline. */
  text: string;
  effects: CommandEffect[];
}

/** One slash command, the same in every channel. */
export interface SlashCommand {
  /** Without the slash. */
  name: string;
  aliases?: readonly string[];
  /** Arguments as shown in `/help`; empty when it takes none. */
  usage: string;
  summary: string;
  /** Whether it may run during a turn; absent: when the turn has ended. */
  atOnce?(args: string): boolean;
  /** Throws `PagurusError`; the channel shows its message. */
  run(args: string, context: CommandContext): Promise<CommandResult>;
}

export function say(text: string, ...effects: CommandEffect[]): CommandResult {
  return { text, effects };
}
