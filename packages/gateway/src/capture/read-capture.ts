/** Reads captures back. Records that a crash or a full disk left incomplete are reported, and are no error. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from "node:zlib";
import { attempt } from "@pagurus/core/data/attempt";
import { captureFolder, capturesDir, deleteCaptures } from "@pagurus/core/config/captures";
import {
  numberOfRecord,
  partFile,
  captureRecordFile,
  type CapturePart,
  type CaptureRecord,
  type StoredBody,
} from "./capture-record.ts";

export interface CaptureSession {
  home: string;
  agentId: string;
  sessionKey: string;
}

/** Bytes of a part, as they were on the wire. */
export interface PartBytes {
  bytes: Buffer;
  /** Why bytes are missing or differ. */
  notes: string[];
}

function folderOf({ home, agentId, sessionKey }: CaptureSession): string {
  return captureFolder(home, agentId, sessionKey);
}

function isNotThere(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ENOENT" || code === "ENOTDIR";
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (isNotThere(error)) return [];
    throw error;
  }
}

/** Numbers of the session's records, oldest first. */
export function captureNumbers(session: CaptureSession): number[] {
  return namesIn(folderOf(session))
    .map(numberOfRecord)
    .filter((number) => number !== undefined)
    .toSorted((a, b) => a - b);
}

/** Undefined if there is no such record, or the process ended while writing it. */
export function readCapture(session: CaptureSession, number: number): CaptureRecord | undefined {
  try {
    return readRecord(captureRecordFile(folderOf(session), number));
  } catch (error) {
    if (isNotThere(error) || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function readRecord(file: string): CaptureRecord {
  return JSON.parse(readFileSync(file, "utf8")) as CaptureRecord;
}

/** The newest records, oldest first; `unreadable` counts those that cannot be read. */
export function listCaptures(
  session: CaptureSession,
  limit: number,
): { records: CaptureRecord[]; unreadable: number } {
  const numbers = captureNumbers(session).slice(-limit);
  const records = numbers
    .map((number) => readCapture(session, number))
    .filter((record) => record !== undefined);
  return { records, unreadable: numbers.length - records.length };
}

/** Keys of an agent's sessions that have captures. */
export function capturedSessions(home: string, agentId: string): string[] {
  const keys = namesIn(capturesDir(home)).flatMap((folder) => {
    const path = join(capturesDir(home), folder);
    const newest = namesIn(path)
      .filter((name) => numberOfRecord(name) !== undefined)
      .toSorted()
      .at(-1);
    if (newest === undefined) return [];
    // A record that was cut by a crash cannot be read; its session is not listed.
    return attempt(() => keysOf(readRecord(join(path, newest)), agentId)) ?? [];
  });
  return keys.toSorted();
}

function keysOf(record: CaptureRecord, agentId: string): string[] {
  return record.agentId.toLowerCase() === agentId.toLowerCase() ? [record.sessionKey] : [];
}

function bodyNotes(about: StoredBody, found: number): string[] {
  const notes: string[] = [];
  if (found < about.stored)
    notes.push(`${about.stored - found} of its bytes were not written before the process ended`);
  else if (about.stored < about.bytes)
    notes.push(`${about.bytes - about.stored} of its bytes are left out, since ${about.cut ?? "it was cut"}`);
  if (about.redacted !== undefined) notes.push(`secrets are covered by stars in ${about.redacted} places`);
  return notes;
}

/** Returns the bytes of a part; undefined if the request has none. `sent` is the body that was sent last. */
export function readPart(
  session: CaptureSession,
  record: CaptureRecord,
  part: CapturePart,
): PartBytes | undefined {
  const sent = record.sent.at(-1);
  if (part === "sent" && !sent) return undefined;
  if (part === "sent" && sent?.body === "same") return readPart(session, record, "harness");
  const file = partFile(folderOf(session), record.number, part, record.sent.length);
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    if (!isNotThere(error)) throw error;
    bytes = Buffer.alloc(0);
  }
  if (part === "harness") return { bytes, notes: bodyNotes(record.harness, bytes.length) };
  if (part === "sent")
    return { bytes, notes: typeof sent?.body === "object" ? bodyNotes(sent.body, bytes.length) : [] };
  const about = record.answer?.body;
  if (!about && bytes.length === 0) return undefined;
  return { bytes, notes: about ? bodyNotes(about, bytes.length) : ["it has not ended, or the process has"] };
}

type Headers = readonly (readonly [name: string, value: string])[];

export function headerOf(headers: Headers, wanted: string): string | undefined {
  return headers.find(([name]) => name.toLowerCase() === wanted)?.[1];
}

const DECODERS: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  gzip: gunzipSync,
  "x-gzip": gunzipSync,
  deflate: inflateSync,
  br: brotliDecompressSync,
  zstd: zstdDecompressSync,
};

/** Bytes without their content encoding; unchanged if they cannot be decoded. */
export function plainBytes(bytes: Buffer, headers: Headers): Buffer {
  const decode = DECODERS[headerOf(headers, "content-encoding")?.trim().toLowerCase() ?? ""];
  try {
    return decode ? decode(bytes) : bytes;
  } catch {
    // Truncated, or not encoded after all.
    return bytes;
  }
}

/** Deletes the captures of a session. */
export function clearCaptures(session: CaptureSession): { requests: number } {
  const requests = captureNumbers(session).length;
  deleteCaptures(session.home, session.agentId, session.sessionKey);
  return { requests };
}
