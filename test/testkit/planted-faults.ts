/** Faults of an engine that keep every id: the suite and the host have to compare whole messages. */
import type { AgentMessage, AssistantMessage, ToolCallPart } from "../../packages/contract/src/message.ts";

type Fault = (messages: readonly AgentMessage[]) => AgentMessage[];

function inCalls(change: (call: ToolCallPart) => Partial<ToolCallPart>): Fault {
  const changed = (message: AssistantMessage): AssistantMessage => ({
    ...message,
    content: message.content.map((part) => (part.type === "toolCall" ? { ...part, ...change(part) } : part)),
  });
  return (messages) => messages.map((message) => (message.role === "assistant" ? changed(message) : message));
}

/** The content of the first assistant message without calls takes the place of each later one. */
function replaced(messages: readonly AgentMessage[]): AgentMessage[] {
  const isPlain = (message: AgentMessage): message is AssistantMessage =>
    message.role === "assistant" && message.content.every(({ type }) => type === "text");
  const first = messages.find(isPlain);
  return messages.map((message) =>
    first && isPlain(message) ? { ...message, content: first.content } : message,
  );
}

export const PLANTED_FAULTS = {
  "empties the arguments of calls": {
    fault: inCalls(() => ({ arguments: {} })),
    says: /the entry \w+ has other arguments of the call/,
  },
  "changes the names of calls": {
    fault: inCalls(({ name }) => ({ name: `${name}_2` })),
    says: /the entry \w+ has another name of the tool in the call/,
  },
  "turns failures into successes": {
    fault: (messages) =>
      messages.map((message) =>
        message.role === "toolResult" ? { ...message, isError: !message.isError } : message,
      ),
    says: /the entry \w+ has the (?:success|failure) of the call \S+ as a (?:success|failure)/,
  },
  "replaces the content of an entry": { fault: replaced, says: /the entry \w+ has another text/ },
} satisfies Record<string, { fault: Fault; says: RegExp }>;
