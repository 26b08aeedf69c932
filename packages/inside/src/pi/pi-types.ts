/** The part of pi's extension interface that the adapter uses. A test with the real program checks the adapter against it. */
import type { MessagePart, PartMessage } from "../client/part-message.ts";

export interface PiEntry {
  type: string;
  id: string;
  message?: PartMessage;
  firstKeptEntryId?: string;
}

export interface PiContext {
  cwd: string;
  hasUI: boolean;
  ui: { notify(text: string, kind?: "info" | "warning"): void };
  sessionManager: { getSessionId(): string; getBranch(): PiEntry[] };
}

export interface PiCompactEvent {
  preparation: { tokensBefore: number };
  branchEntries: PiEntry[];
  customInstructions?: string;
  reason: "manual" | "threshold" | "overflow";
}

export interface PiToolResult {
  toolName: string;
  toolCallId: string;
  content: MessagePart[];
  isError: boolean;
}

type Handler<Event> = (event: Event, ctx: PiContext) => Promise<object | undefined> | void;

/** `pi`: all that an extension reaches. */
export interface PiApi {
  on(event: "session_start" | "agent_settled" | "session_tree", handler: Handler<object>): void;
  on(event: "session_before_compact", handler: Handler<PiCompactEvent>): void;
  on(event: "before_agent_start", handler: Handler<{ prompt: string }>): void;
  on(event: "tool_result", handler: Handler<PiToolResult>): void;
  registerTool(tool: {
    name: string;
    label: string;
    description: string;
    parameters: object;
    execute(
      callId: string,
      params: Record<string, unknown>,
      signal: AbortSignal | undefined,
      onUpdate: unknown,
      ctx: PiContext,
    ): Promise<{ content: { type: "text"; text: string }[]; details: object }>;
  }): void;
  registerCommand(
    name: string,
    command: { description: string; handler(args: string, ctx: PiContext): Promise<void> },
  ): void;
}
