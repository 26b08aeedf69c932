/** Lines of a transcript as values and back. */
import { hash } from "node:crypto";
import type { AgentMessage } from "../contract/message.ts";
import type { NewEntry, SessionHeader, TranscriptEntry } from "../contract/transcript.ts";
import { TRANSCRIPT_VERSION } from "../contract/version.ts";

/** The header as written here: the session key survives the loss of the index. */
export interface StoredHeader extends SessionHeader {
  key?: string;
  /** Ascending under a key in the order of making. */
  generation?: number;
  /** The generation with the greatest one is current; that of the header's `generation` where it is missing. */
  precedence?: number;
  /**
   * The session's id once more, where it was not made here: an engine that writes its own files into the folder, with
   * our header and another id, makes no session by that.
   */
  storedAs?: string;
}

export type ParsedLine = { entry: TranscriptEntry } | { problem: string };

type Fields = Record<string, unknown>;

function parseObject(bytes: Buffer): Fields | undefined {
  if (bytes[0] !== 0x7b) return undefined;
  try {
    const value: unknown = JSON.parse(bytes.toString("utf8"));
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Fields)
      : undefined;
  } catch {
    // The caller records the line as unreadable.
    return undefined;
  }
}

const text = (value: unknown): value is string => typeof value === "string";
const textOrNull = (value: unknown): boolean => value === null || text(value);

function isMessage(value: unknown): value is AgentMessage {
  if (typeof value !== "object" || value === null) return false;
  const { role, content, toolCallId } = value as Fields;
  const parts = Array.isArray(content) && content.every((part) => typeof part === "object" && part !== null);
  if (role === "user") return parts || text(content);
  if (role === "toolResult") return parts && text(toolCallId);
  return role === "assistant" && parts;
}

/** What is wrong with an entry's fields; undefined when the store can use it. Unknown types pass as they are. */
function entryProblem(value: object): string | undefined {
  const entry = value as Fields;
  if (!text(entry["type"]) || !text(entry["id"]) || entry["id"] === "") return "it has no type or no id";
  if (!textOrNull(entry["parentId"])) return "it has no parentId";
  if (!text(entry["timestamp"])) return "it has no timestamp";
  if (entry["turnId"] !== undefined && !text(entry["turnId"])) return "its turnId is no text";
  switch (entry["type"]) {
    case "message":
      return isMessage(entry["message"]) ? undefined : "its message has no known shape";
    case "compaction":
      return text(entry["summary"]) && text(entry["firstKeptEntryId"]) ? undefined : "its summary is missing";
    case "custom_message":
      return text(entry["content"]) ? undefined : "its content is missing";
    case "rewind":
      return textOrNull(entry["targetId"]) ? undefined : "its target is missing";
    case "turn_commit":
      return text(entry["turnId"]) ? undefined : "its turnId is missing";
    case "session":
      return "it is a second header";
    default:
      return undefined;
  }
}

export function parseEntry(bytes: Buffer): ParsedLine {
  const value = parseObject(bytes);
  if (!value) return { problem: "it is not a JSON object" };
  const problem = entryProblem(value);
  return problem === undefined ? { entry: value as unknown as TranscriptEntry } : { problem };
}

export function parseHeader(bytes: Buffer): StoredHeader | undefined {
  const value = parseObject(bytes);
  if (value?.["type"] !== "session" || value["version"] !== TRANSCRIPT_VERSION) return undefined;
  if (!text(value["id"]) || !text(value["timestamp"]) || !text(value["cwd"])) return undefined;
  return value as unknown as StoredHeader;
}

/** What a header of a version that this program does not know says; undefined for any other line. */
export function foreignHeader(bytes: Buffer): { version: number; key: string | undefined } | undefined {
  const value = parseObject(bytes);
  if (value?.["type"] !== "session" || typeof value["version"] !== "number") return undefined;
  const key = text(value["key"]) ? value["key"] : undefined;
  return value["version"] > TRANSCRIPT_VERSION ? { version: value["version"], key } : undefined;
}

/** An entry as it is written; what JSON has no word for is dropped. */
export function completeEntry(
  entry: NewEntry,
  given: { id: string; parentId: string | null; timestamp: string; epoch: number },
): TranscriptEntry {
  const { type, turnId, ...rest } = entry;
  if (entry.type === "message") {
    const { entryId: _, ...message } = entry.message;
    Object.assign(rest, { message });
  }
  const { id, parentId, timestamp, epoch } = given;
  const turn = turnId === undefined ? {} : { turnId };
  return { type, id, parentId, timestamp, ...turn, epoch, ...rest } as TranscriptEntry;
}

export function formatLine(value: StoredHeader | TranscriptEntry): Buffer {
  return Buffer.from(`${JSON.stringify(value)}\n`, "utf8");
}

/** Short fingerprint of a line's bytes, to notice a file that was changed by another program. */
export function lineHash(bytes: Uint8Array): string {
  return hash("sha1", bytes, "hex").slice(0, 16);
}
