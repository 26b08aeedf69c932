/**
 * Ids of calls that a server uses again in each answer. Contexts have each id once: the host writes `id_2` for the second use. The
 * request has them as they came, so that here they are told apart by their place and not by their names.
 */
import type { AgentMessage } from "../../../contract/message.ts";

/** As `repairPairs` of contexts names a second use. */
const SECOND_USE = /^(.+)_\d+$/s;

/** The messages with the ids that the request has; the same array where it has them all. */
export function asRequested(
  messages: readonly AgentMessage[],
  isRequested: (callId: string) => boolean,
): readonly AgentMessage[] {
  const names = new Map<string, string>();
  for (const { role, content } of messages) {
    if (role !== "assistant") continue;
    for (const part of content) {
      if (part.type !== "toolCall" || isRequested(part.id)) continue;
      const first = SECOND_USE.exec(part.id)?.[1];
      if (first !== undefined && isRequested(first)) names.set(part.id, first);
    }
  }
  return names.size === 0 ? messages : messages.map((message) => renamed(message, (id) => names.get(id)));
}

/** The message with other ids of its calls; the same one where `nameOf` has none for them. */
export function renamed(message: AgentMessage, nameOf: (callId: string) => string | undefined): AgentMessage {
  if (message.role === "user") return message;
  if (message.role === "toolResult") {
    const toolCallId = nameOf(message.toolCallId);
    return toolCallId === undefined ? message : { ...message, toolCallId };
  }
  const isMeant = message.content.some((part) => part.type === "toolCall" && nameOf(part.id) !== undefined);
  if (!isMeant) return message;
  const content = message.content.map((part) =>
    part.type === "toolCall" ? { ...part, id: nameOf(part.id) ?? part.id } : part,
  );
  return { ...message, content };
}

export function callsIn(message: AgentMessage | undefined): string[] {
  if (message?.role !== "assistant") return [];
  return message.content.flatMap((part) => (part.type === "toolCall" ? [part.id] : []));
}

/** Answers with calls and the results right behind them: index of the answer, and of what follows the last result. */
export function groupsOf(messages: readonly AgentMessage[]): { from: number; to: number }[] {
  return messages.flatMap((message, from) => {
    if (callsIn(message).length === 0) return [];
    let to = from + 1;
    while (messages[to]?.role === "toolResult") to += 1;
    return [{ from, to }];
  });
}
