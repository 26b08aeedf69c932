/** Transcript lines: parsing and formatting. */
import { defined } from "@pagurus/core/data/defined";
import { hash } from "node:crypto";
import type { AgentMessage } from "@pagurus/contract/message";
import type { NewEntry, SessionHeader, TranscriptEntry } from "@pagurus/contract/session/transcript";
import { withBoundedCalls } from "@pagurus/core/platform/call-arguments";
import { TRANSCRIPT_VERSION } from "@pagurus/contract/version";
import { wellFormedJson } from "@pagurus/core/data/well-formed";
import { isBrokenSum, readLine, summedLine } from "./line-sum.ts";

/** The header as written here: it has the session key, which so survives the loss of the index. */
export interface StoredHeader extends SessionHeader {
  key?: string;
  /** Ascending per key in the order of creation. */
  generation?: number;
  /** The generation with the greatest one is current; defaults to the header's `generation`. */
  precedence?: number;
  /**
   * The session's id again, when it was not made here: a file with our header and another id, which an engine wrote into the folder, is
   * therefore no session.
   */
  storedAs?: string;
  /** The workspace that the key was made for; absent when a caller chose the key. */
  folder?: string;
}

export type ParsedLine = { entry: TranscriptEntry } | { problem: string };

type Fields = Record<string, unknown>;

/** The fields of a line, and whether its checksum is right; undefined when it is no object. */
function parseObject(bytes: Buffer): { value: Fields; sound: boolean } | undefined {
  if (bytes[0] !== 0x7b) return undefined;
  const { json, sound } = readLine(bytes);
  return objectOf(json, sound);
}

function objectOf(json: string, sound: boolean): { value: Fields; sound: boolean } | undefined {
  try {
    const value: unknown = JSON.parse(json);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
    return { value: value as Fields, sound: sound && !isBrokenSum(value as Fields) };
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

/** The problem of an entry's fields; undefined when the store can use it. Unknown types are valid. */
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
  return lineOf(parseObject(bytes));
}

/** Bytes of a line of a plugin's data that is worth not to be parsed where the data is not needed. */
const LONG_DATA = 4_096;
/** The beginning of such a line, as this store writes it. */
const DATA_HEAD =
  /^\{"type":"custom","id":"([^"\\]+)","parentId":(null|"[^"\\]+"),"timestamp":"([^"\\]+)",(?:"turnId":"([^"\\]+)",)?(?:"epoch":\d+,)?"customType":"([^"\\]+)","data":/;
const DATA_HEAD_BYTES = 512;

/** The entry of a long line of a plugin, without its data, which is not checked; undefined for any other line. */
export function entryWithoutData(bytes: Buffer): (TranscriptEntry & { type: "custom" }) | undefined {
  if (bytes.length < LONG_DATA) return undefined;
  const head = DATA_HEAD.exec(bytes.toString("utf8", 0, DATA_HEAD_BYTES));
  const [, id, parent, timestamp, turnId, customType] = head ?? [];
  if (id === undefined || parent === undefined || timestamp === undefined || customType === undefined)
    return undefined;
  const parentId = parent === "null" ? null : parent.slice(1, -1);
  return {
    type: "custom",
    id,
    parentId,
    timestamp,
    ...defined({ turnId }),
    customType,
    data: undefined,
  };
}

/** The entry of a line that was made of this JSON, as `parseEntry` of its bytes. */
export function parseEntryJson(json: string): ParsedLine {
  return lineOf(objectOf(json, true));
}

function lineOf(parsed: { value: Fields; sound: boolean } | undefined): ParsedLine {
  if (!parsed) return { problem: "it is not a JSON object" };
  if (!parsed.sound) return { problem: "it is not what was written, its checksum does not fit" };
  const problem = entryProblem(parsed.value);
  if (problem !== undefined) return { problem };
  const entry = parsed.value as unknown as TranscriptEntry;
  if (entry.type === "message") entry.message = withBoundedCalls(entry.message);
  return { entry };
}

/**
 * The line without its checksum, when another program changed the text of one of our lines and left the checksum. Undefined for a line
 * whose checksum is right.
 */
export function withoutStaleSum(bytes: Buffer): Buffer | undefined {
  const parsed = parseObject(bytes);
  if (!parsed || parsed.sound) return undefined;
  const { crc32: _, ...value } = parsed.value;
  return Buffer.from(JSON.stringify(value));
}

export function parseHeader(bytes: Buffer): StoredHeader | undefined {
  const parsed = parseObject(bytes);
  const value = parsed?.sound === true ? parsed.value : undefined;
  if (value?.["type"] !== "session" || value["version"] !== TRANSCRIPT_VERSION) return undefined;
  if (!text(value["id"]) || !text(value["timestamp"]) || !text(value["cwd"])) return undefined;
  return value as unknown as StoredHeader;
}

/** Version and key of a header whose version this program does not know; undefined for any other line. */
export function foreignHeader(bytes: Buffer): { version: number; key: string | undefined } | undefined {
  const parsed = parseObject(bytes);
  const value = parsed?.sound === true ? parsed.value : undefined;
  if (value?.["type"] !== "session" || typeof value["version"] !== "number") return undefined;
  const key = text(value["key"]) ? value["key"] : undefined;
  return value["version"] > TRANSCRIPT_VERSION ? { version: value["version"], key } : undefined;
}

/** An entry as it is written; values that JSON cannot represent are dropped. */
export function completeEntry(
  entry: NewEntry,
  position: { id: string; parentId: string | null; timestamp: string; epoch: number },
): TranscriptEntry {
  const { type, turnId, ...rest } = entry;
  if (entry.type === "message") {
    const { entryId: _, ...message } = entry.message;
    Object.assign(rest, { message });
  }
  const { id, parentId, timestamp, epoch } = position;
  const turn = turnId === undefined ? {} : { turnId };
  return { type, id, parentId, timestamp, ...turn, epoch, ...rest } as TranscriptEntry;
}

/** The line of a header or an entry, with its checksum and newline, and U+FFFD for each half of a surrogate pair. */
export function formatLine(value: StoredHeader | TranscriptEntry): Buffer {
  return summedLine(wellFormedJson(value));
}

/** Short fingerprint of a line's bytes, to detect that another program changed the file. */
export function lineHash(bytes: Uint8Array): string {
  return hash("sha1", bytes, "hex").slice(0, 16);
}
