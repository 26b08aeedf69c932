/** The records of a kept file. */
import { gunzipSync, zstdDecompressSync } from "node:zlib";
import { asString, isRecord, parseJson, type Fields } from "@pagurus/core/data/record-fields";
import type { FormatId } from "../programs/program.ts";
import { databaseRecords } from "./database-records.ts";
import { finished } from "./finished-record.ts";
import type { KeptRecord } from "./kept-record.ts";
import { LINE_FORMATS, timeOf } from "./line-formats.ts";

/** Bytes of a text that are one record. */
const TEXT_BYTES = 64 * 1024;

/** Whether each line of the file is a record by itself, so that only new ones are read. */
export function isByLine(path: string, format: FormatId): boolean {
  return format !== "database" && format !== "text" && path.endsWith(".jsonl");
}

/** The record of a line, or of an element of a document. */
function recordOfValue(value: Fields, format: FormatId): KeptRecord {
  const read = (LINE_FORMATS[format] ?? LINE_FORMATS["json"])?.(value) ?? {
    role: "data" as const,
    contents: [],
  };
  return finished(value, read);
}

/** The record of a line's bytes. A line that is no JSON object has its text. */
export function recordOfLine(line: Buffer, format: FormatId): KeptRecord {
  const text = line.toString("utf8");
  const value = parseJson(text);
  return isRecord(value) ? recordOfValue(value, format) : { ...plainRecord(text), isUnread: true };
}

function plainRecord(text: string): KeptRecord {
  return { role: "data", parts: text.trim() === "" ? [] : [{ kind: "text", text }], rest: "" };
}

/** All records of a file that is read as a whole. `copy`: a path where a database may be written to be read. */
export function recordsOfFile(path: string, bytes: Buffer, format: FormatId, copy: string): KeptRecord[] {
  if (format === "database") return databaseRecords(bytes, copy);
  const lines = compressedLines(path, bytes);
  if (lines) return lines.map((line) => recordOfLine(line, format));
  if (format === "aider") return aiderRecords(bytes.toString("utf8"));
  if (format === "text") return textRecords(bytes);
  return documentRecords(bytes.toString("utf8"), format);
}

/** Where the name of a compressed file ends, without which it is the name of the file that it replaced. */
export const COMPRESSED = /\.(?:zst|gz)$/;

/** The lines of a compressed file that are not empty; undefined for another one. Throws the errors of zlib. */
export function compressedLines(path: string, bytes: Buffer): Buffer[] | undefined {
  if (!COMPRESSED.test(path)) return undefined;
  const content = path.endsWith(".gz") ? gunzipSync(bytes) : zstdDecompressSync(bytes);
  const lines: Buffer[] = [];
  for (let start = 0; start < content.length;) {
    const newline = content.indexOf(10, start);
    const end = newline < 0 ? content.length : newline;
    if (end > start) lines.push(content.subarray(start, end));
    start = end + 1;
  }
  return lines;
}

/** Lists in which a document has its messages. */
const LISTS = ["messages", "history", "items", "chat", "turns", "timeline", "chatMessages"];

/** A document that is half written has no records yet. */
function documentRecords(text: string, format: FormatId): KeptRecord[] {
  const value = parseJson(text);
  if (Array.isArray(value)) return elements(value as unknown[], format, "");
  if (!isRecord(value)) return text.trim() === "" || value === undefined ? [] : [plainRecord(text)];
  const name = LISTS.find((each) => Array.isArray(value[each]));
  if (name === undefined) return [{ key: "0", ...recordOfValue(value, format) }];
  const { [name]: list, ...head } = value;
  return [
    { ...recordOfValue(head, format), role: "data", key: "head" },
    ...elements(list as unknown[], format, name),
  ];
}

function elements(list: readonly unknown[], format: FormatId, name: string): KeptRecord[] {
  return list.map((value, index) => {
    const record = isRecord(value)
      ? recordOfValue(value, format)
      : plainRecord(asString(value) ?? JSON.stringify(value));
    return { key: `${name}${index}`, ...record };
  });
}

/** Aider marks what the user wrote with `####`, and results with `>`. */
function aiderRecords(text: string): KeptRecord[] {
  const records: KeptRecord[] = [];
  let at: number | undefined;
  for (const block of text.split(/\n(?=#### |# aider chat started)|(?<=^####.*)\n(?!####)/mu)) {
    const started = /^# aider chat started at (.+)$/mu.exec(block)?.[1];
    if (started !== undefined) at = timeOf(started) ?? at;
    const isUser = block.startsWith("#### ");
    const words = isUser ? block.replace(/^#### /gmu, "") : block;
    if (words.trim() === "") continue;
    const role = isUser ? "user" : started === undefined ? "assistant" : "system";
    records.push({
      ...plainRecord(words),
      role,
      key: String(records.length),
      ...(at !== undefined && { at }),
    });
  }
  return records;
}

/** A text in pieces, cut at the ends of lines. */
function textRecords(bytes: Buffer): KeptRecord[] {
  const records: KeptRecord[] = [];
  for (let start = 0; start < bytes.length;) {
    const newline = bytes.indexOf(10, Math.min(start + TEXT_BYTES, bytes.length));
    const end = newline < 0 ? bytes.length : newline + 1;
    const text = bytes.subarray(start, end).toString("utf8");
    records.push({ ...plainRecord(text), role: "tool", key: String(start) });
    start = end;
  }
  return records;
}
