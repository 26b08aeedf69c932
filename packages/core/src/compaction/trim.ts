/** Trims large tool results, for every engine alike: head and tail stay, a marker replaces the middle. */
import type { ToolResultMessage } from "@pagurus/contract/message";

/** Distance within which a cut moves to a line end. Characters. */
const LINE_REACH = 200;
/** The head's share of the kept characters; ends of outputs (errors, totals) matter almost as much. */
const HEAD_SHARE = 0.6;
/** Minimum limit: the marker has to fit, or trimming twice would change the text twice. */
const SMALLEST_LIMIT = 200;

/** Where the untrimmed result is: its entry, and the tool that returns an entry's text, if there is one. */
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

/** Trims a text to `maxChars` characters, at least 200: head, a marker line, tail. */
export function trimText(text: string, maxChars: number, source: Source = {}): string {
  const limit = Math.max(maxChars, SMALLEST_LIMIT);
  if (text.length <= limit) return text;
  const kept = Math.max(0, limit - marker(text.length, source).length);
  const head = headEnd(text, Math.floor(kept * HEAD_SHARE));
  const tail = tailStart(text, text.length - (kept - Math.floor(kept * HEAD_SHARE)));
  return text.slice(0, head) + marker(tail - head, source) + text.slice(tail);
}

/**
 * Cuts the middle of a tool result whose text parts together exceed `maxChars` characters; images stay. The text
 * becomes one part in the position of the first. A limit under 200 counts as 200. `tool` names the tool that returns an
 * entry's text, if the model has one. Byte counts are of the text. Returns the same object when it is short enough.
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
