/**
 * A context as the text of a prompt: what a native session has to be told, each thing once. Byte-stable: the same
 * messages give the same text.
 */
import type { ContentBlock } from "@agentclientprotocol/sdk/unstable";
import type { AgentMessage, ImagePart, TextPart, UserMessage } from "../../contract/message.ts";
import { textOf } from "../../native/words.ts";

export interface Telling {
  /** System prompt, where the agent takes none beside its own. */
  instructions: string | undefined;
  /** What was said before, in order, that the native session does not have. */
  context: readonly AgentMessage[];
  /** The native session has the conversation up to that. */
  goesOn: boolean;
  /** Fragments of additional context that are to be shown again. */
  shownAgain: readonly string[];
  /** What the user says now, fragments of additional context among it. */
  inputs: readonly UserMessage[];
  takesImages: boolean;
}

const BEGINS = "Pagurus assembled context for this turn:";
const WENT_ON = "Said in this conversation since your last answer, in another place:";
const REQUEST = "Current user request:";

function label(message: AgentMessage): string {
  if (message.role === "user" && message.fragment) return "[additional context]";
  if (message.role !== "toolResult") return `[${message.role}]`;
  const failed = message.isError ? ", failed" : "";
  return `[tool result ${message.toolCallId}${failed}]`;
}

function contextText(messages: readonly AgentMessage[], goesOn: boolean): string | undefined {
  const told = messages
    .map((message) => ({ message, words: textOf(message) }))
    .filter(({ words }) => words !== "")
    .map(({ message, words }) => `${label(message)}\n${words}`);
  if (told.length === 0) return undefined;
  const intro = goesOn ? WENT_ON : BEGINS;
  return `${intro}\n\n<conversation_context>\n${told.join("\n\n")}\n</conversation_context>`;
}

function partBlock(part: TextPart | ImagePart, takesImages: boolean): ContentBlock {
  if (part.type === "text") return { type: "text", text: part.text };
  if (!takesImages) return { type: "text", text: "[An image, which this agent does not take.]" };
  return { type: "image", data: part.data, mimeType: part.mimeType };
}

function blocksOf({ content }: UserMessage, takesImages: boolean): ContentBlock[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return content.map((part) => partBlock(part, takesImages));
}

/** The blocks of a prompt. The last ones are the user's own words. Never throws for messages of the contract. */
export function promptBlocks(telling: Telling): ContentBlock[] {
  const { instructions, context, goesOn, shownAgain, inputs, takesImages } = telling;
  const blocks: ContentBlock[] = [];
  const say = (text: string): void => void blocks.push({ type: "text", text });
  if (instructions !== undefined && instructions !== "")
    say(`<instructions>\n${instructions}\n</instructions>`);
  const told = contextText(context, goesOn);
  if (told !== undefined) say(told);
  for (const fragment of shownAgain) say(fragment);
  const fragments = inputs.filter(({ fragment }) => fragment !== undefined);
  for (const fragment of fragments) blocks.push(...blocksOf(fragment, takesImages));
  if (blocks.length > 0) say(REQUEST);
  for (const input of inputs) if (!input.fragment) blocks.push(...blocksOf(input, takesImages));
  return blocks;
}
