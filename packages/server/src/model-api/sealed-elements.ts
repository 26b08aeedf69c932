/** The compaction elements in requests and replies of the model API: sealed for clients, in plain form for the dialects. */
import { isRecord, listOf, parseJson, recordOf, stringOf } from "@pagurus/core/data/record-fields";
import { unsealed } from "@pagurus/gateway/dialect/sealed-summary";
import type { WireReply } from "@pagurus/gateway/dialect/wire-dialect";
import { WireCallError } from "@pagurus/gateway/server/faults";
import type { SummarySeal } from "./summary-seal.ts";

/** Begins our elements of every version; those of version 1 are plain text. */
const OURS = "pagurus:summary:";
const FIELD = "encrypted_content";

/** The key is read, or created, for the first element. */
export type GetSeal = () => SummarySeal;

type Element = Readonly<Record<string, unknown>>;

/**
 * The request with its elements opened. One of version 1 was in the client's hands without a seal, so its summary counts as words of
 * the client. Throws `WireCallError` for an element that was changed.
 */
export function openElements(asked: Record<string, unknown>, seal: GetSeal): Record<string, unknown> {
  const { input, messages } = asked;
  return {
    ...asked,
    ...(Array.isArray(input)
      ? { input: input.flatMap((item, at) => opened(item, `input ${at}`, seal)) }
      : {}),
    ...(Array.isArray(messages)
      ? { messages: messages.map((message, at) => openedMessage(message, `message ${at}`, seal)) }
      : {}),
  };
}

function openedMessage(message: unknown, place: string, seal: GetSeal): unknown {
  const { content, ...rest } = recordOf(message);
  if (!Array.isArray(content)) return message;
  return { ...rest, content: content.flatMap((block) => opened(block, place, seal)) };
}

function opened(element: unknown, place: string, seal: GetSeal): unknown[] {
  const sealed = stringOf(recordOf(element)[FIELD]);
  if (!isRecord(element) || !sealed.startsWith(OURS)) return [element];
  if (unsealed(sealed)) return clientWords(element);
  const text = seal().open(sealed, besideOf(element));
  if (text !== undefined) return [{ ...element, [FIELD]: text }];
  throw new WireCallError(
    "bad_request",
    `The compaction element of ${place} was changed, or is of another server; send it as it was returned, or begin a new conversation.`,
  );
}

/** A block of the Messages API has its summary beside the seal. */
function besideOf({ content }: Element): string {
  return stringOf(content);
}

function clientWords(element: Element): Element[] {
  const isBlock = "content" in element;
  const text = isBlock ? besideOf(element) : (unsealed(element[FIELD])?.summary ?? "");
  if (text === "") return [];
  if (isBlock) return [{ type: "text", text }];
  return [{ type: "message", role: "user", content: [{ type: "input_text", text }] }];
}

/** The reply with its elements sealed; another one as it is. */
export function sealElements(reply: WireReply, seal: GetSeal): WireReply {
  if (!reply.body.includes(OURS)) return reply;
  const text = reply.body.toString("utf8");
  const isStream = String(reply.headers["content-type"]).startsWith("text/event-stream");
  const sealed = isStream
    ? text.replaceAll(/^data: (.*)$/gm, (line, data: string) =>
        data.includes(OURS) ? `data: ${sealedJson(data, seal)}` : line,
      )
    : sealedJson(text, seal);
  return { ...reply, body: Buffer.from(sealed) };
}

function sealedJson(text: string, seal: GetSeal): string {
  const value = parseJson(text);
  return value === undefined ? text : JSON.stringify(sealedValue(value, seal));
}

/** Of our own replies, so its depth is bounded. */
function sealedValue(value: unknown, seal: GetSeal): unknown {
  if (Array.isArray(value)) return listOf(value).map((each) => sealedValue(each, seal));
  if (!isRecord(value)) return value;
  const plain = value[FIELD];
  const fields = Object.entries(value).map(([name, each]) => [name, sealedValue(each, seal)]);
  const copy = Object.fromEntries(fields) as Record<string, unknown>;
  return unsealed(plain) ? { ...copy, [FIELD]: seal().seal(stringOf(plain), besideOf(value)) } : copy;
}
