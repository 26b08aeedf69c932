/** Layout of a captured request on the disk: a small JSON file with its metadata, and files with exact bytes. */
import { join } from "node:path";
import type { RequestKind, WireApi } from "../dialect/wire-dialect.ts";

/** Facts known when a request comes in. */
export interface CaptureFacts {
  /** Default `main`. */
  agentId?: string | undefined;
  sessionKey: string;
  sessionId?: string | undefined;
  turnId?: string | undefined;
  runtime: string;
  /** Name of the gateway route; contains no secret. */
  route: string;
  /** Number of the request on its route, from 0. */
  request: number;
  kind: RequestKind;
  api: WireApi;
  model: string;
  method: string;
  path: string;
  /** Alternating names and values. */
  rawHeaders: readonly string[];
  /** As the harness sent it. */
  body: Buffer;
}

/** What was done with the request. */
export interface SentNote {
  /** Whether elements of it were replaced; otherwise it was passed unchanged. */
  replaced: boolean;
  keptItems?: number;
  encodedMessages?: number;
  droppedItems?: number;
  /** The upstream's own credentials, which must not be in the capture. */
  secrets?: readonly string[];
}

export interface CaptureOutcome {
  /** The upstream cut the answer. */
  cut: boolean;
  /** The harness disconnected before the end. */
  left: boolean;
  answeredBy: "upstream" | "engine" | "gateway";
  error?: string;
  /** Parts of the answer that its message does not have; absent if it has all, and for an answer that was not read. */
  degraded?: readonly string[];
}

/** A body in a file next to the record. */
export interface StoredBody {
  /** Bytes in all. */
  bytes: number;
  /** Bytes in the file; fewer if the body was cut. */
  stored: number;
  /** Of the bytes in the file. */
  sha256: string;
  /** Number of places where a secret is masked with stars. */
  redacted?: number;
  /** Why bytes are missing. */
  cut?: string;
}

export interface SentRecord extends Omit<SentNote, "secrets"> {
  upstream: string;
  /** Time since the request came in. */
  afterMs: number;
  /** `same`: byte for byte what the harness sent. */
  body: StoredBody | "same";
}

export interface CaptureRecord extends Omit<CaptureFacts, "rawHeaders" | "body" | "agentId"> {
  version: 1;
  /** Counts all requests of the session, from 1. */
  number: number;
  agentId: string;
  pid: number;
  /** When the request came in. */
  time: string;
  /** In order; the value of a secret header is `[redacted]`. */
  headers: [name: string, value: string][];
  harness: StoredBody;
  /** Each time the request was sent upstream; a second time if the first was refused. */
  sent: SentRecord[];
  answer?: {
    status: number;
    headers: [name: string, value: string][];
    headMs: number;
    firstByteMs?: number;
    /** Absent while the answer is in progress. */
    body?: StoredBody;
  };
  /** Absent while the request is in progress, and if the process ended before the request did. */
  outcome?: CaptureOutcome & { totalMs: number };
}

export type CapturePart = "harness" | "sent" | "answer";

const SEQUENCE_DIGITS = 6;
const RECORD = /^(\d{6,15})\.json$/;
/** Also matches files that a crash left half written. */
const CAPTURE_FILE = /^(\d{6,15})\.(?:json(?:\.\d+\.tmp)?|[a-z0-9]+\.bin)$/;
/** File with the newest number of a folder whose records are all gone, so that numbers are not reused. */
export const LAST_FILE = "last";

function stem(number: number): string {
  return String(number).padStart(SEQUENCE_DIGITS, "0");
}

export function captureRecordFile(folder: string, number: number): string {
  return join(folder, `${stem(number)}.json`);
}

/** `attempt` counts from 1. */
export function partFile(folder: string, number: number, part: CapturePart, attempt = 1): string {
  const name = part === "sent" && attempt > 1 ? `sent${attempt}` : part;
  return join(folder, `${stem(number)}.${name}.bin`);
}

/** Returns the record number from the name of its JSON file. */
export function numberOfRecord(name: string): number | undefined {
  const digits = RECORD.exec(name)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** Returns the number of the record that a file belongs to. */
export function numberOfFile(name: string): number | undefined {
  const digits = CAPTURE_FILE.exec(name)?.[1];
  return digits === undefined ? undefined : Number(digits);
}
