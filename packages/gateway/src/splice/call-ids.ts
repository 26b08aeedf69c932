/**
 * Call ids that a server reuses in each answer. In contexts each id is unique: the host writes `id_2` for the second use. The
 * request has the original ids, so here they are distinguished by place and not by name.
 */
import type { AgentMessage } from "@pagurus/contract/message";

/** The form in which `repairPairs` of contexts names a second use. */
const SECOND_USE = /^(.+)_\d+$/s;

/** The messages with the ids of the request; the same array if nothing changes. */
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

/** The message with its call ids renamed; the same one if `nameOf` renames none. */
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

/** Answers with calls and the results directly after them: index of the answer, and index after the last result. */
export function callGroups(messages: readonly AgentMessage[]): { from: number; to: number }[] {
  return messages.flatMap((message, from) => {
    if (callsIn(message).length === 0) return [];
    let to = from + 1;
    while (messages[to]?.role === "toolResult") to += 1;
    return [{ from, to }];
  });
}
