/** Refuses a request by the length of its texts, before its conversation is read, looked up or stored. */
import { recordOf } from "@pagurus/core/data/record-fields";
import { WireCallError } from "@pagurus/gateway/server/faults";
import { MOST_TEXT } from "@pagurus/core/tokens/most-text";
import { LONG_BYTES } from "@pagurus/core/platform/pace";
import { tokensOver } from "@pagurus/core/tokens/least-tokens";

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

/** Adds the texts of a value that are longer than `above`. */
function collect(value: unknown, into: string[], above = -1): string[] {
  if (typeof value === "string") {
    if (value.length > above) into.push(value);
  } else if (Array.isArray(value)) for (const item of value) collect(item, into, above);
  else if (typeof value === "object" && value !== null)
    // Not by `Object.entries`, which takes as long as the parsing for an object with thousands of members.
    for (const name in value)
      if (!DATA.has(name)) collect((value as Record<string, unknown>)[name], into, above);
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
  const others = collect({ ...asked, messages: undefined, input: elements.slice(0, live) }, [], SHORT);
  return { newest: collect(elements.slice(live), []), others };
}

/** Messages or items of one conversation; more are the work of seconds in every layer that has the conversation. */
const MOST_MESSAGES = 5_000;
/** Characters of the images and files of one message: an image of the largest size that providers take, or several smaller ones. */
const MOST_DATA = 8 * 2 ** 20;

/**
 * Throws `WireCallError` for a conversation of too many messages, a message with too much data of images and files, and for texts that are
 * longer than any model takes. Returns whether the request is long: then each step on it takes a slice of the event loop by itself.
 */
export function checkRequestSize(asked: Readonly<Record<string, unknown>>): boolean {
  const { messages, input, ...rest } = asked;
  const conversation = messages ?? input;
  const elements: unknown[] = Array.isArray(conversation) ? conversation : [conversation];
  if (elements.length > MOST_MESSAGES)
    throw new WireCallError(
      "context_overflow",
      `The conversation has ${elements.length} messages, and ${MOST_MESSAGES} are the most; compact it, or begin a new one.`,
    );
  const whole: Lengths = { data: 0, text: 0, values: 0 };
  for (const [at, message] of elements.entries()) {
    const { data, text } = lengthsOf(message, whole);
    if (data > MOST_DATA)
      throw new WireCallError(
        "too_large",
        `The images and files of message ${at} have ${data} characters, and ${MOST_DATA} are the most; send fewer or smaller ones in a message.`,
      );
    if (text > MOST_TEXT) throw tooLong(`message ${at}`, text);
  }
  for (const [name, value] of Object.entries(rest)) {
    const { data, text } = lengthsOf(value, whole);
    if (data + text > MOST_TEXT) throw tooLong(`"${name.slice(0, LONGEST_NAME)}"`, data + text);
  }
  return whole.data + whole.text > LONG_BYTES || whole.values > MANY_VALUES;
}

const LONGEST_NAME = 100;
/** More of them are some milliseconds of work for each step on a request, however short they are. */
const MANY_VALUES = 2_000;

function tooLong(what: string, length: number): WireCallError {
  return new WireCallError(
    "context_overflow",
    `The texts of ${what} have ${length} characters, and ${MOST_TEXT} are the most; send less at once.`,
  );
}

interface Lengths {
  data: number;
  text: number;
  /** Numbers, texts, lists and objects in the value. */
  values: number;
}

/** Characters of the data and of the texts in a value, names of its members included; added to `whole` too. */
function lengthsOf(value: unknown, whole: Lengths): Lengths {
  const lengths: Lengths = { data: 0, text: 0, values: 0 };
  addLengths(value, lengths, false);
  whole.data += lengths.data;
  whole.text += lengths.text;
  whole.values += lengths.values;
  return lengths;
}

function addLengths(value: unknown, lengths: Lengths, isData: boolean): void {
  lengths.values += 1;
  if (typeof value === "string") lengths[isData ? "data" : "text"] += value.length;
  else if (Array.isArray(value)) for (const item of value) addLengths(item, lengths, isData);
  else if (typeof value === "object" && value !== null)
    for (const name in value) {
      lengths.text += name.length;
      addLengths((value as Record<string, unknown>)[name], lengths, DATA.has(name));
    }
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
