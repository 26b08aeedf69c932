/** The view of a chat: a full terminal, or lines. */
import type { CostSoFar } from "@pagurus/contract/host/cost";
import type { ContextGauge, TurnEvent, TurnSummary } from "@pagurus/contract/host/events";
import type { Pagurus } from "@pagurus/contract/host/host";
import type { AskPermission } from "@pagurus/contract/host/run";
import type { AgentMessage } from "@pagurus/contract/message";
import type { Choice } from "@pagurus/host/command/command-types";
import type { FileChange } from "@pagurus/host/command/file-changes";
import type { OutputStream } from "../cli.ts";
import type { ToolOutputs } from "./tool-outputs.ts";

/** An input that waits no longer; a promise where a server is asked for it. */
export type TakenBack = string | undefined | Promise<string | undefined>;

export interface ViewEvents {
  /** A complete input. */
  line(text: string): void;
  /** Input for the time after the turn. */
  later(text: string): void;
  /** Ctrl-C, or an interrupt from outside. */
  interrupt(): void;
  /** Esc: ends the running work; false when nothing runs. */
  escape(): boolean;
  /** Takes back the newest input that waits; undefined when none does. */
  takeBack(): TakenBack;
  /** Ctrl-O. */
  open(): void;
  /** Chooses the next permission mode. */
  nextMode(): void;
  /** Chooses a higher (1) or lower (-1) level of thinking. */
  nextThinking(by: 1 | -1): void;
  /** Asks which message to go back to. */
  rewind(): void;
  /** The input has ended. */
  end(): void;
}

/** Shows the events of one turn. */
export interface TurnView {
  show(event: TurnEvent): void;
  /** Ends an open line. */
  endLine(): void;
  close(): void;
}

/** Facts beside the conversation. */
export interface ViewFacts {
  model?: string;
  runtime?: string;
  permission?: string;
  thinking?: string | undefined;
  /** Context and cost before the next turn. */
  context?: ContextGauge;
  cost?: CostSoFar;
  summary?: Pick<TurnSummary, "context" | "cost">;
}

/** The terminal's own clipboard, also over ssh: the escape sequence OSC 52. */
export function clipboardSequence(text: string): string {
  return `\u001b]52;c;${Buffer.from(text, "utf8").toString("base64")}\u0007`;
}

/** Shows a command of the person while it runs. */
export interface CommandView {
  push(chunk: string): void;
  end(result: { output: string; code: number | null }): void;
}

export interface ChatView {
  /** A person can type and be asked. */
  readonly interactive: boolean;
  /** A line about the keys, for the start. */
  readonly keys: string;
  /** For texts of commands. */
  readonly text: OutputStream;
  /** For everything else. */
  readonly activity: OutputStream;
  /** Ready for the next input. */
  prompt(): void;
  /** Shows lines at once, also while the person types. */
  above(text: string): void;
  /** Discards typed but unsent input; false when there was none. */
  discardInput(): boolean;
  /** Undefined without a person to ask. */
  permission(): AskPermission | undefined;
  turn(): Promise<TurnView>;
  command(line: string): CommandView;
  /** An input that now is a part of the conversation. */
  entered(text: string): void;
  /** Inputs that wait: those that join the running turn, and those for the time after it. */
  waiting(steering: readonly string[], queued: readonly string[]): void;
  /** Inputs that an ended turn did not take, or that were rewound. */
  restore(texts: readonly string[]): void;
  /** Offers an input to begin with. */
  suggest(text: string): void;
  /** Earlier messages of the conversation, the oldest first. */
  past(messages: readonly AgentMessage[]): void;
  /** Lets the person pick from a list; absent where there are only lines. */
  pick?(title: string, choices: readonly Choice[], selected?: string): Promise<string | undefined>;
  /** Shows changes of files with colours; absent where there are only lines. */
  showChanges?(changes: readonly FileChange[]): void;
  /** Files of pictures that were pasted into this input; absent where there are only lines. */
  images?(text: string): readonly string[];
  about(facts: ViewFacts): void;
  /** Puts a text into the clipboard of the terminal. */
  copy(text: string): void;
  close(): void;
}

/** Parts of the chat that a view may ask. */
export interface ViewSources {
  outputs: ToolOutputs;
  /** Undefined before the host is open. */
  pagurus(): Pagurus | undefined;
  where(): { agentId: string; cwd: string; sessionKey: string };
}

export type ViewMaker = (events: ViewEvents, sources: ViewSources) => ChatView;
