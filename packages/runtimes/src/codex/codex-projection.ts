/**
 * The engine's context as text around the prompt, for threads whose history is Codex's own. Byte-stable: the same messages
 * give the same text. Source: harness port, "2. Add a Codex context projection helper" and 5.
 */
import type { AgentMessage, ImagePart, TextPart } from "@pagurus/contract/message";
import { fencedContext, REQUEST_LINE } from "@pagurus/core/native/native-words";
import { imageParts, imagesLeftOut, projectedImages } from "@pagurus/core/native/projected-images";
import { wordsOf } from "./app-server/codex-input.ts";
import { defined } from "@pagurus/core/data/defined";

export interface CodexContextProjection {
  developerInstructionAddition?: string;
  promptText: string;
  /** Images that the text names, each below a line with its number; they come before it. */
  images: (TextPart | ImagePart)[];
  /** Reason why some images are only named in the text. */
  imagesLeftOut?: string;
  assembledMessages: AgentMessage[];
  prePromptMessageCount: number;
}

export interface ProjectionInput {
  assembledMessages: AgentMessage[];
  originalHistoryMessages: AgentMessage[];
  prompt: string;
  systemPromptAddition?: string;
  /** Reason why no image can be sent, for example a model without image input. */
  noImages?: string | undefined;
}

const INTRO = "Pagurus assembled context for this turn:";

/** Drops the prompt at the tail, which is the request itself; repeated it would be run twice. */
function withoutPrompt(messages: readonly AgentMessage[], prompt: string): AgentMessage[] {
  const last = messages.at(-1);
  const isPrompt = last?.role === "user" && wordsOf(last).trim() === prompt.trim();
  return isPrompt ? messages.slice(0, -1) : [...messages];
}

/** Never throws for messages of the contract. */
export function projectContextEngineAssemblyForCodex(input: ProjectionInput): CodexContextProjection {
  const { assembledMessages, originalHistoryMessages, prompt, systemPromptAddition, noImages } = input;
  const before = withoutPrompt(assembledMessages, prompt);
  const images = projectedImages(before, noImages === undefined);
  const leftOut = imagesLeftOut(images, noImages);
  const context = fencedContext(before, images);
  const promptText = context === undefined ? prompt : `${INTRO}\n\n${context}\n\n${REQUEST_LINE}\n${prompt}`;
  return {
    ...(systemPromptAddition === undefined || systemPromptAddition === ""
      ? {}
      : { developerInstructionAddition: systemPromptAddition }),
    promptText,
    images: imageParts(images),
    ...defined({ imagesLeftOut: leftOut }),
    assembledMessages: before,
    prePromptMessageCount: originalHistoryMessages.length,
  };
}
