/** Trimming of large tool results, the same for every engine: head and tail stay, the rest is named. */
import type { ToolResultMessage } from "../contract/message.ts";

/** A cut moves to a line end that is at most this many characters away. */
const LINE_REACH = 200;
/** Share of the characters kept that the head gets; ends of outputs (errors, totals) matter almost as much. */
const HEAD_SHARE = 0.6;
/** Smaller limits count as this one: the marker has to fit, or trimming again would change the text again. */
const SMALLEST_LIMIT = 200;

/** Where the whole of a trimmed result is found: its entry, and the tool that gives an entry's words, if there is one. */
interface Source {
  entryId?: string | undefined;
  tool?: string | undefined;
}

function marker(left: number, { entryId, tool }: Source): string {
  const how = tool === undefined ? "" : `, which ${tool} gives`;
  const where = entryId === undefined ? "" : `; the whole result is entry ${entryId}${how}`;
  return `\n[... ${left} characters left out${where} ...]\n`;
}

function splitsPair(text: string, at: number): boolean {
  return at > 0 && at < text.length && /[\uD800-\uDBFF]/.test(text.charAt(at - 1));
}

function headEnd(text: string, wanted: number): number {
  const line = text.lastIndexOf("\n", wanted);
  if (line > 0 && line >= wanted - LINE_REACH) return line;
  return splitsPair(text, wanted) ? wanted - 1 : wanted;
}

function tailStart(text: string, wanted: number): number {
  const line = text.indexOf("\n", wanted);
  if (line >= 0 && line + 1 < text.length && line <= wanted + LINE_REACH) return line + 1;
  return splitsPair(text, wanted) ? wanted + 1 : wanted;
}

/** A text of at most `maxChars` characters (200 where less is asked for): head, a line naming the gap, tail. */
export function trimText(text: string, maxChars: number, source: Source = {}): string {
  const limit = Math.max(maxChars, SMALLEST_LIMIT);
  if (text.length <= limit) return text;
  const room = Math.max(0, limit - marker(text.length, source).length);
  const head = headEnd(text, Math.floor(room * HEAD_SHARE));
  const tail = tailStart(text, text.length - (room - Math.floor(room * HEAD_SHARE)));
  return text.slice(0, head) + marker(tail - head, source) + text.slice(tail);
}

/**
 * Leaves out the middle of a tool result whose text parts together exceed `maxChars` characters; images stay.
 * The text becomes one part in the place of the first. A limit under 200 counts as 200. `tool` names the tool that
 * gives an entry's words, where the model has one. Bytes are those of the text. Returns the same object when it is
 * short enough.
 */
export function trimToolResult(
  message: ToolResultMessage,
  maxChars: number,
  tool?: string,
): { message: ToolResultMessage; trimmed?: { fromBytes: number; toBytes: number } } {
  let chars = 0;
  for (const part of message.content) if (part.type === "text") chars += part.text.length;
  if (chars <= Math.max(maxChars, SMALLEST_LIMIT)) return { message };
  const texts = message.content.filter((part) => part.type === "text").map((part) => part.text);
  const whole = texts.join("\n");
  const text = trimText(whole, maxChars, { entryId: message.entryId, tool });
  const first = message.content.findIndex((part) => part.type === "text");
  const content: ToolResultMessage["content"] = [];
  for (const [index, part] of message.content.entries()) {
    if (part.type !== "text") content.push(part);
    else if (index === first) content.push({ type: "text", text });
  }
  const fromBytes = Buffer.byteLength(texts.join(""));
  return { message: { ...message, content }, trimmed: { fromBytes, toBytes: Buffer.byteLength(text) } };
}
