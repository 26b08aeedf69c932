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
