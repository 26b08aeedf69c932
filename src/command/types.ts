import type { Pagurus } from "../contract/host.ts";

/** Where a command is spoken: one conversation in some channel. */
export interface CommandContext {
  pagurus: Pagurus;
  sessionKey: string;
  agentId: string;
  cwd: string;
  /** Model ref the channel passes with each run, when the user chose one. */
  model?: string;
  /** Says at once whether a model ref can be used: `problem` refuses it, `warning` is only told. */
  checkModel?(ref: string): Promise<{ problem?: string; warning?: string }>;
  signal?: AbortSignal;
  /** The turn that runs in this channel; `steer` answers false when it takes no more input. */
  turn?: { steer(text: string): boolean; abort(): void };
  /** Tells what a command is at, while it takes its time. */
  note?(text: string): void;
}

/** What the channel has to do besides showing the text. */
export type CommandEffect =
  /** Pass this model ref with the next runs; absent: the configured one again. */
  | { type: "model"; model?: string }
  /** The key now names another generation. */
  | { type: "renewed"; sessionId: string }
  /** Go on with this session. */
  | { type: "session"; sessionKey: string }
  /** Run a turn with this input; `model` is for it alone, where the channel has none that the user chose. */
  | { type: "prompt"; prompt: string; model?: string }
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
  /** Whether it runs while a turn does; absent: when the turn has ended. */
  atOnce?(args: string): boolean;
  /** Throws `PagurusError`; the channel shows its message. */
  run(args: string, context: CommandContext): Promise<CommandResult>;
}

export function say(text: string, ...effects: CommandEffect[]): CommandResult {
  return { text, effects };
}
