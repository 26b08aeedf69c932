/** Keys by which content of a body is found in the transcript: the same words, call or result has the same key on both sides. */
import { hash } from "node:crypto";
import type { AgentMessage } from "@pagurus/contract/message";
import { asRecord, asString } from "@pagurus/core/data/record-fields";
import type { Block, ContentKeys } from "./block.ts";
import { defined } from "@pagurus/core/data/defined";

export function digest(text: string): string {
  return hash("sha256", text).slice(0, 16);
}

/** Longer texts have a digest as their key, characters: a short one is sooner compared than digested. */
const SHORT = 1_024;

const textKey = (text: string): string => (text.length <= SHORT ? `text:${text}` : `text:${digest(text)}`);
const contentCallKey = (id: string): string => `call:${id}`;
const resultKey = (id: string): string => `result:${id}`;
/** Of a call whose id the provider would refuse, so that it was changed. */
const calledKey = (name: string, args: unknown): string => `called:${name}:${digest(stable(args))}`;
const imageKey = (data: string): string => `image:${digest(data)}`;

/** JSON with sorted names: a harness may write arguments in another order. */
function stable(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(stable).join()}]`;
  const fields = asRecord(value);
  if (!fields) return JSON.stringify(value) ?? "null";
  const names = Object.keys(fields).toSorted();
  return `{${names.map((name) => `${JSON.stringify(name)}:${stable(fields[name])}`).join()}}`;
}

function parsed(args: unknown): unknown {
  if (typeof args !== "string") return args;
  try {
    return JSON.parse(args);
  } catch {
    // Arguments that are no JSON are compared as they are.
    return args;
  }
}

function called(id: string | undefined, name: unknown, args: unknown): ContentKeys {
  const keys = [
    ...(id === undefined ? [] : [contentCallKey(id)]),
    calledKey(asString(name) ?? "", parsed(args)),
  ];
  return { keys, ...defined({ callId: id }) };
}

function answered(id: string | undefined, text: string): ContentKeys {
  if (id === undefined) return { keys: [], text };
  return { keys: [resultKey(id)], callId: id, text };
}

/** A text of the model's or the user's. */
function worded(role: string | undefined, text: string): ContentKeys {
  return { keys: [textKey(text)], text, ...defined({ role }) };
}

/** The digests that a receipt may have of a message of these words, which begin with the role; the likely one first. */
function* digestsOf({ role, text }: ContentKeys): Generator<string> {
  if (role === undefined || text === undefined) return;
  const forms = [
    [role, text],
    [role, [{ type: "text", text }]],
  ];
  for (const form of role === "assistant" ? forms.toReversed() : forms) yield digest(JSON.stringify(form));
}

/** The one of these digests that the words have. */
export function wordsDigest(content: ContentKeys, wanted: ReadonlyMap<string, unknown>): string | undefined {
  for (const each of digestsOf(content)) if (wanted.has(each)) return each;
  return undefined;
}

/** Keys of words by their digests. */
export function digestKeys(content: ContentKeys): string[] {
  if (content.digest !== undefined) return [`hash:${content.digest}`];
  return Array.from(digestsOf(content), (each) => `hash:${each}`);
}

/** Text of a value, wherever a protocol puts it. */
export function textIn(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  const fields = asRecord(value);
  return asString(fields?.["text"]);
}

function texts(value: unknown): string {
  if (Array.isArray(value)) return value.map(texts).join("\n");
  return textIn(value) ?? "";
}

const MUTE = /^(?:thinking|redacted_thinking|reasoning|reasoning_text|summary_text|item_reference)$/;

/** The keys of a block; computed once. */
export function keysIn(block: Block): ContentKeys {
  block.keys ??= keysOf(block);
  return block.keys;
}

function keysOf({ value, role, item }: Pick<Block, "value" | "role" | "item">): ContentKeys {
  const fields = asRecord(value);
  if (!fields) {
    const text = typeof value === "string" ? value : undefined;
    const callId = asString(item?.fields["tool_call_id"]);
    if (callId !== undefined) return answered(callId, text ?? "");
    return text === undefined ? { keys: [] } : worded(role, text);
  }
  const type = asString(fields["type"]) ?? "";
  if (MUTE.test(type) || fields["thought"] === true) return { keys: [], isMute: true };
  return calls(fields, type) ?? results(fields, type, item) ?? media(fields) ?? wordContent(fields, role);
}

function calls(fields: Readonly<Record<string, unknown>>, type: string): ContentKeys | undefined {
  if (type === "tool_use" || type === "server_tool_use")
    return called(asString(fields["id"]), fields["name"], fields["input"]);
  if (type === "function_call")
    return called(asString(fields["call_id"]), fields["name"], fields["arguments"]);
  if (type === "custom_tool_call")
    return called(asString(fields["call_id"]), fields["name"], fields["input"]);
  const inner = asRecord(fields["function"]);
  if (inner) return called(asString(fields["id"]), inner["name"], inner["arguments"]);
  const google = asRecord(fields["functionCall"]);
  return google ? called(asString(google["id"]), google["name"], google["args"]) : undefined;
}

function results(
  fields: Readonly<Record<string, unknown>>,
  type: string,
  item: Block["item"],
): ContentKeys | undefined {
  if (type === "tool_result") return answered(asString(fields["tool_use_id"]), texts(fields["content"]));
  if (type.endsWith("_call_output")) return answered(asString(fields["call_id"]), texts(fields["output"]));
  const google = asRecord(fields["functionResponse"]);
  if (google) return answered(asString(google["id"]), texts(asRecord(google["response"])?.["output"]));
  const callId = asString(item?.fields["tool_call_id"]);
  return callId === undefined ? undefined : answered(callId, texts(fields["text"]));
}

function media(fields: Readonly<Record<string, unknown>>): ContentKeys | undefined {
  const source = asRecord(fields["source"]) ?? asRecord(fields["inlineData"]);
  const data = asString(source?.["data"]);
  const url = asString(fields["image_url"]) ?? asString(asRecord(fields["image_url"])?.["url"]);
  const found = data ?? url?.replace(/^data:[^,]*,/, "");
  return found === undefined ? undefined : { keys: [imageKey(found)] };
}

function wordContent(fields: Readonly<Record<string, unknown>>, role: string | undefined): ContentKeys {
  const text = textIn(fields);
  return text === undefined ? { keys: [] } : worded(role, text);
}

/** The keys of a message of the transcript, one list for each of its pieces. */
export function messageKeys(message: AgentMessage): ContentKeys[] {
  if (message.role === "toolResult") {
    const text = texts(message.content);
    return [answered(message.toolCallId, text), ...images(message.content)];
  }
  const { content } = message;
  if (typeof content === "string") return [worded(message.role, content)];
  return content.flatMap((part): ContentKeys[] => {
    if (part.type === "text")
      return part.text === "" ? [] : [{ keys: [textKey(part.text)], text: part.text }];
    if (part.type === "toolCall") return [called(part.id, part.name, part.arguments)];
    return images([part]);
  });
}

function images(parts: readonly { type: string; data?: string }[]): ContentKeys[] {
  return parts.flatMap(({ type, data }) => (type === "image" && data ? [{ keys: [imageKey(data)] }] : []));
}
