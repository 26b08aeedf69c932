/** The conversation in the form that every protocol's writer takes: true roles, each result right after its call. */
import type { ImagePart, ThinkingPart } from "@pagurus/contract/message";
import type { FileData } from "../protocols/files.ts";

/** A part or message with `mark` ends a piece of the prompt that Anthropic caches. */
interface Markable {
  mark?: true;
}

export interface PromptText extends Markable {
  type: "text";
  text: string;
}

/** Only for protocols that have a part for such a file. */
export interface PromptFile extends FileData {
  type: "file";
}

export type PromptPart = PromptText | ImagePart | PromptFile;

export interface PromptCall {
  type: "call";
  id: string;
  name: string;
  arguments: Record<string, unknown>;
  /** Signature by the model that is called now; absent for any other model's call. */
  signature?: string;
}

export interface PromptResult {
  id: string;
  name: string;
  /** Never empty. */
  text: string;
  /** Only for protocols whose results can have some. */
  images: readonly ImagePart[];
  /** Only for protocols with a field for it; with images the text says it. */
  failed: boolean;
}

export type AnswerPart = PromptText | ThinkingPart | PromptCall;

export interface SystemMessage extends Markable {
  role: "system";
  text: string;
}

export interface UserTurn extends Markable {
  role: "user";
  content: PromptPart[];
}

export interface AnswerTurn extends Markable {
  role: "assistant";
  content: AnswerPart[];
}

export interface ResultsTurn extends Markable {
  role: "tool";
  content: PromptResult[];
}

export type PromptMessage = SystemMessage | UserTurn | AnswerTurn | ResultsTurn;
export type Prompt = PromptMessage[];

export interface PromptTool extends Markable {
  name: string;
  description: string;
  parameters: unknown;
}
