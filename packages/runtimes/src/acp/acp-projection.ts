/**
 * Builds the text of a prompt from a context: everything that a native session lacks, once. Byte-stable: the same messages
 * give the same text.
 */
import type { ContentBlock } from "@agentclientprotocol/sdk/unstable";
import type { AgentMessage, ImagePart, TextPart, UserMessage } from "@pagurus/contract/message";
import { fencedContext, fragmentWords, REQUEST_LINE } from "@pagurus/core/native/native-words";
import {
  imageParts,
  imagesLeftOut,
  projectedImages,
  type ProjectedImages,
} from "@pagurus/core/native/projected-images";

export interface Projection {
  /** System prompt, for agents without a parameter for it. */
  instructions: string | undefined;
  /** Earlier messages that the native session lacks, in order. */
  context: readonly AgentMessage[];
  /** The native session already has the conversation before them. */
  continues: boolean;
  /** Fragments of additional context that are shown again. */
  shownAgain: readonly string[];
  /** The current user messages, fragments of additional context among them. */
  inputs: readonly UserMessage[];
  takesImages: boolean;
}

const BEGINS = "Pagurus assembled context for this turn:";
const CONTINUES = "Said in this conversation since your last answer, in another place:";

function contextText(
  messages: readonly AgentMessage[],
  images: ProjectedImages,
  continues: boolean,
): string | undefined {
  const context = fencedContext(messages, images);
  return context && `${continues ? CONTINUES : BEGINS}\n\n${context}`;
}

function contentBlock(part: TextPart | ImagePart, takesImages: boolean): ContentBlock {
  if (part.type === "text") return { type: "text", text: part.text };
  if (!takesImages) return { type: "text", text: "[An image, which this agent does not take.]" };
  return { type: "image", data: part.data, mimeType: part.mimeType };
}

function blocksOf({ content }: UserMessage, takesImages: boolean): ContentBlock[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return content.map((part) => contentBlock(part, takesImages));
}

/** The blocks of a prompt. The last ones are the user's own text. Never throws for messages of the contract. */
export function promptBlocks(projection: Projection): ContentBlock[] {
  const { instructions, context, continues, shownAgain, inputs, takesImages } = projection;
  const blocks: ContentBlock[] = [];
  const say = (text: string): void => void blocks.push({ type: "text", text });
  if (instructions !== undefined && instructions !== "")
    say(`<instructions>\n${instructions}\n</instructions>`);
  const images = projectedImages(context, takesImages);
  const earlier = contextText(context, images, continues);
  if (earlier !== undefined) say(earlier);
  for (const part of imageParts(images)) blocks.push(contentBlock(part, takesImages));
  for (const fragment of shownAgain) say(fragmentWords(fragment));
  const fragments = inputs.filter(({ fragment }) => fragment !== undefined);
  for (const fragment of fragments)
    for (const block of blocksOf(fragment, takesImages))
      blocks.push(block.type === "text" ? { ...block, text: fragmentWords(block.text) } : block);
  if (blocks.length > 0) say(REQUEST_LINE);
  for (const input of inputs) if (!input.fragment) blocks.push(...blocksOf(input, takesImages));
  return blocks;
}

/** Reasons of degradations for images that do not reach the agent: those of earlier messages, and those of the input. */
export function lostImages(
  { context, inputs, takesImages }: Pick<Projection, "context" | "inputs" | "takesImages">,
  label: string,
): string[] {
  const cannot = takesImages ? undefined : `${label} takes no images`;
  const earlier = imagesLeftOut(projectedImages(context, takesImages), cannot);
  const own = projectedImages(inputs, takesImages);
  const now =
    takesImages || own.leftOut === 0
      ? undefined
      : `${label} takes no images, so ${own.leftOut} of the input ${own.leftOut === 1 ? "was" : "were"} left out`;
  return [earlier, now].filter((reason) => reason !== undefined);
}
