/** Messages in the form that pi and OpenClaw share, a list of parts. Imports nothing, as all of the client. */
import type { ProgramMessage } from "./host-client.ts";

export const OPEN_NAME = "pagurus_open";
export const SEARCH_NAME = "pagurus_search";
/** Tools whose results the model works on as they are: files that it edits, and what it opened here. */
export const WHOLE = /^(?:read|edit|write|pagurus_.*)$/;

/** A text of the engine, with the names that its tools have in these programs. */
export function named(text: string): string {
  return text.replaceAll("context_expand", OPEN_NAME).replaceAll("context_search", SEARCH_NAME);
}

export interface MessagePart {
  type: string;
  text?: string;
  id?: string;
  name?: string;
  arguments?: Record<string, unknown>;
}

export interface PartMessage {
  role: string;
  /** Absent in messages that a program has for itself. */
  content?: string | readonly MessagePart[];
  toolCallId?: string;
  toolName?: string;
  isError?: boolean;
  /** Of a command of the user's own. */
  command?: string;
  output?: string;
}

export function partText({ content = "" }: PartMessage): string {
  if (typeof content === "string") return content;
  return content.flatMap((part) => (part.type === "text" ? (part.text ?? "") : [])).join("\n");
}

/** Undefined for what is no message of the conversation. */
export function partMessage(message: PartMessage): ProgramMessage | undefined {
  const { role, content = "" } = message;
  if (role === "user") return { role, text: partText(message), calls: [], results: [] };
  if (role === "bashExecution")
    return { role: "user", text: `$ ${message.command}\n${message.output}`, calls: [], results: [] };
  if (role === "toolResult" && message.toolCallId !== undefined) {
    const { toolCallId: id, isError = false } = message;
    return { role: "user", text: "", calls: [], results: [{ id, text: partText(message), isError }] };
  }
  if (role !== "assistant") return undefined;
  const parts = typeof content === "string" ? [] : content;
  const calls = parts.flatMap(({ type, id, name, arguments: input = {} }) =>
    type === "toolCall" && id !== undefined && name !== undefined ? [{ id, name, input }] : [],
  );
  return { role, text: partText(message), calls, results: [] };
}
