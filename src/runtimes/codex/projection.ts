/**
 * The engine's context as text around the prompt, for threads whose history is Codex's own. Byte-stable: the same
 * messages give the same text. Source: harness port, "2. Add a Codex context projection helper" and 5.
 */
import type { AgentMessage } from "../../contract/message.ts";
import { textOf } from "../../native/words.ts";

export interface CodexContextProjection {
  developerInstructionAddition?: string;
  promptText: string;
  assembledMessages: AgentMessage[];
  prePromptMessageCount: number;
}

export interface ProjectionInput {
  assembledMessages: AgentMessage[];
  originalHistoryMessages: AgentMessage[];
  prompt: string;
  systemPromptAddition?: string;
}

const INTRO = "Pagurus assembled context for this turn:";
const REQUEST = "Current user request:";

function label(message: AgentMessage): string {
  if (message.role !== "toolResult") return `[${message.role}]`;
  const failed = message.isError ? ", failed" : "";
  return `[tool result ${message.toolCallId}${failed}]`;
}

/** The prompt at the tail is the request itself; said twice it would be done twice. */
function withoutPrompt(messages: readonly AgentMessage[], prompt: string): AgentMessage[] {
  const last = messages.at(-1);
  const isPrompt = last?.role === "user" && textOf(last).trim() === prompt.trim();
  return isPrompt ? messages.slice(0, -1) : [...messages];
}

/** Never throws for messages of the contract. */
export function projectContextEngineAssemblyForCodex(input: ProjectionInput): CodexContextProjection {
  const { assembledMessages, originalHistoryMessages, prompt, systemPromptAddition } = input;
  const before = withoutPrompt(assembledMessages, prompt);
  const context = before
    .map((message) => ({ message, text: textOf(message) }))
    .filter(({ text }) => text !== "")
    .map(({ message, text }) => `${label(message)}\n${text}`);
  const promptText =
    context.length === 0
      ? prompt
      : `${INTRO}\n\n<conversation_context>\n${context.join("\n\n")}\n</conversation_context>\n\n${REQUEST}\n${prompt}`;
  return {
    ...(systemPromptAddition === undefined || systemPromptAddition === ""
      ? {}
      : { developerInstructionAddition: systemPromptAddition }),
    promptText,
    assembledMessages: before,
    prePromptMessageCount: originalHistoryMessages.length,
  };
}
