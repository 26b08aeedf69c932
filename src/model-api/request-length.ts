/** Refuses a request by the length of its texts, before its conversation is read, looked up or stored. */
import { recordOf } from "../data/record-fields.ts";
import { WireCallError } from "../gateway/server/faults.ts";
import { tokensOver } from "../tokens/least-tokens.ts";

/** Members with the data of images, files and sealed parts, whose length says nothing about tokens. */
const DATA: ReadonlySet<string> = new Set([
  "data",
  "url",
  "image_url",
  "file_data",
  "file_url",
  "encrypted_content",
  "signature",
]);
/** Shorter texts fit any window in use. */
const SHORT = 2 ** 14;

function collect(value: unknown, into: string[]): string[] {
  if (typeof value === "string") into.push(value);
  else if (typeof value === "object" && value !== null)
    for (const [name, member] of Object.entries(value)) if (!DATA.has(name)) collect(member, into);
  return into;
}

/** Whether an element of a conversation is the model's, so that what follows the last one is the newest input. */
function isAnswer(element: unknown): boolean {
  const { role, type } = recordOf(element);
  return role === "assistant" || type === "function_call" || type === "reasoning";
}

/** Texts of a request's newest input, and each other long text of it. */
export interface RequestTexts {
  newest: string[];
  others: string[];
}

export function textsOf(asked: Readonly<Record<string, unknown>>): RequestTexts {
  const conversation = asked["messages"] ?? asked["input"];
  const elements: unknown[] = Array.isArray(conversation) ? conversation : [conversation];
  const live = elements.findLastIndex(isAnswer) + 1;
  const rest = collect({ ...asked, messages: undefined, input: elements.slice(0, live) }, []);
  return { newest: collect(elements.slice(live), []), others: rest.filter(({ length }) => length > SHORT) };
}

/** Messages or items of one conversation; more are the work of seconds in every layer that has the conversation. */
const MOST_MESSAGES = 5_000;
/** Characters of the images and files of one message: an image of the largest size that providers take, or several smaller ones. */
const MOST_DATA = 8 * 2 ** 20;

/** Throws `WireCallError` for a conversation of too many messages, or a message with too much data of images and files. */
export function checkRequestSize(asked: Readonly<Record<string, unknown>>): void {
  const conversation = asked["messages"] ?? asked["input"];
  if (!Array.isArray(conversation)) return;
  if (conversation.length > MOST_MESSAGES)
    throw new WireCallError(
      "context_overflow",
      `The conversation has ${conversation.length} messages, and ${MOST_MESSAGES} are the most; compact it, or begin a new one.`,
    );
  for (const [at, message] of conversation.entries()) {
    const length = dataOf(message);
    if (length > MOST_DATA)
      throw new WireCallError(
        "too_large",
        `The images and files of message ${at} have ${length} characters, and ${MOST_DATA} are the most; send fewer or smaller ones in a message.`,
      );
  }
}

/** Characters of the data in a message. */
function dataOf(value: unknown): number {
  let length = 0;
  if (typeof value !== "object" || value === null) return 0;
  for (const [name, member] of Object.entries(value))
    length += typeof member === "string" ? (DATA.has(name) ? member.length : 0) : dataOf(member);
  return length;
}

/** Throws `WireCallError` for a newest input, or one text of the rest, that is too long for the model's window. */
export async function checkRequestLength(
  asked: Readonly<Record<string, unknown>>,
  { ref, contextWindow }: { ref: string; contextWindow: number },
): Promise<void> {
  const { newest, others } = textsOf(asked);
  for (const texts of [newest, ...others.map((text) => [text])]) {
    const least = await tokensOver(texts, contextWindow);
    if (least === undefined) continue;
    throw new WireCallError(
      "context_overflow",
      `The input has at least ${least} tokens and ${ref} takes ${contextWindow}; send less at once, or choose a model with a larger window.`,
    );
  }
}
