/** Earlier messages of a conversation as blocks. */
import type { AgentMessage, UserMessage } from "@pagurus/contract/message";
import { terminalSafe } from "@pagurus/host/command/layout";
import { messageText } from "@pagurus/host/command/rewind";
import { Answer, UserBlock } from "./blocks.ts";
import { ShownCall } from "./shown-call.ts";
import type { Theme } from "./theme.ts";
import type { Block } from "./transcript.ts";

/** The person's own words, and a mark for each part that came with them, for example `[file src/a.ts]`. */
function ownWords({ content }: UserMessage): string {
  if (typeof content === "string") return content;
  return content
    .map((part) =>
      part.type === "image" ? "[image]" : part.source === undefined ? part.text : `[${part.source}]`,
    )
    .filter((text) => text !== "")
    .join("\n");
}

/** Puts the messages into a transcript, the oldest first. */
export function showPast(
  messages: readonly AgentMessage[],
  { theme, add }: { theme: Theme; add: (block: Block) => void },
): void {
  const calls = new Map<string, ShownCall>();
  for (const message of messages) {
    if (message.role === "user") {
      const text = ownWords(message);
      if (text !== "") add(new UserBlock(text, theme));
    } else if (message.role === "assistant") {
      const answer = new Answer(add, theme);
      const text = messageText(message);
      if (text !== "") answer.push(terminalSafe(text));
      answer.end();
      for (const part of message.content) {
        if (part.type !== "toolCall") continue;
        const call = new ShownCall(part.name, part.arguments, theme);
        calls.set(part.id, call);
        add(call.block);
      }
    } else {
      const { toolCallId, content, isError } = message;
      calls.get(toolCallId)?.end({ content, isError });
      calls.delete(toolCallId);
    }
  }
  for (const { block } of calls.values()) block.end({ summary: "no result", isError: true, text: "" });
}
