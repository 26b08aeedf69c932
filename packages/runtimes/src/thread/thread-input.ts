/** The newest input in a list of messages, which no answer follows. */
import type { AgentMessage, UserMessage } from "@pagurus/contract/message";

export function splitInput(messages: readonly AgentMessage[]): {
  before: AgentMessage[];
  inputs: UserMessage[];
} {
  const from = messages.findLastIndex(({ role }) => role !== "user") + 1;
  const inputs = messages.slice(from).filter((message): message is UserMessage => message.role === "user");
  return { before: messages.slice(0, from), inputs };
}

/** Where the fragments of the message at `from` begin, which come right before it. */
export function fragmentsFrom(messages: readonly AgentMessage[], from: number): number {
  const before = messages.slice(0, from);
  return before.findLastIndex((message) => message.role !== "user" || message.fragment === undefined) + 1;
}
