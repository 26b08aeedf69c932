/** How a captured request lies on the disk: a small JSON file about it, and files with exact bytes beside it. */
import { join } from "node:path";
import type { RequestKind, WireApi } from "../dialect/dialect.ts";

/** What is known when a request comes in. */
export interface CaptureFacts {
  /** Default `main`. */
  agentId?: string | undefined;
  sessionKey: string;
  sessionId?: string | undefined;
  turnId?: string | undefined;
  runtime: string;
  /** A name of the way through the gateway that is no secret. */
  route: string;
  /** Number of the request on its route, from 0. */
  request: number;
  kind: RequestKind;
  api: WireApi;
  model: string;
  method: string;
  path: string;
  /** Names and values by turns. */
  rawHeaders: readonly string[];
  /** As the harness sent it. */
  body: Buffer;
}

/** What was done with the request. */
export interface SentNote {
  /** Elements of it were replaced; otherwise it passed. */
  replaced: boolean;
  keptItems?: number;
  encodedMessages?: number;
  droppedItems?: number;
  /** Values of the upstream's own credentials, to be kept out of the capture. */
  secrets?: readonly string[];
}

export interface CaptureOutcome {
  /** The answer broke off. */
  cut: boolean;
  /** The harness left before its end. */
  left: boolean;
  answeredBy: "upstream" | "engine" | "gateway";
  error?: string;
}

/** Bytes in a file beside the record. */
export interface StoredBody {
  /** How many there were. */
  bytes: number;
  /** How many are in the file; fewer where they were cut. */
  stored: number;
  /** Of the bytes in the file. */
  sha256: string;
  /** Places where a secret is covered by stars. */
  redacted?: number;
  /** Why not all of them are there. */
  cut?: string;
}

export interface SentRecord extends Omit<SentNote, "secrets"> {
  upstream: string;
  /** Since the request came in. */
  afterMs: number;
  /** `same`: byte for byte what the harness sent. */
  body: StoredBody | "same";
}

export interface CaptureRecord extends Omit<CaptureFacts, "rawHeaders" | "body" | "agentId"> {
  version: 1;
  /** Of all requests of the session, from 1. */
  number: number;
  agentId: string;
  pid: number;
  /** When it came in. */
  time: string;
  /** In their order; of a secret one the value is `[redacted]`. */
  headers: [name: string, value: string][];
  harness: StoredBody;
  /** Each time that it was sent on: a second time where the first was refused. */
  sent: SentRecord[];
  answer?: {
    status: number;
    headers: [name: string, value: string][];
    headMs: number;
    firstByteMs?: number;
    /** Absent while it goes on. */
    body?: StoredBody;
  };
  /** Absent while it goes on, and where the process ended before it did. */
  outcome?: CaptureOutcome & { totalMs: number };
}

export type CapturePart = "harness" | "sent" | "answer";

const DIGITS = 6;
const RECORD = /^(\d{6,15})\.json$/;
/** Also what a crash left half written. */
const FILE = /^(\d{6,15})\.(?:json(?:\.\d+\.tmp)?|[a-z0-9]+\.bin)$/;
/** Holds the newest number of a folder whose records are all gone, so that numbers are not used twice. */
export const LAST_FILE = "last";

function stem(number: number): string {
  return String(number).padStart(DIGITS, "0");
}

export function recordFile(folder: string, number: number): string {
  return join(folder, `${stem(number)}.json`);
}

/** `attempt` counts from 1. */
export function partFile(folder: string, number: number, part: CapturePart, attempt = 1): string {
  const name = part === "sent" && attempt > 1 ? `sent${attempt}` : part;
  return join(folder, `${stem(number)}.${name}.bin`);
}

/** The number of a record by the name of its JSON file. */
export function numberOfRecord(name: string): number | undefined {
  const digits = RECORD.exec(name)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** The number of the record that a file belongs to. */
export function numberOfFile(name: string): number | undefined {
  const digits = FILE.exec(name)?.[1];
  return digits === undefined ? undefined : Number(digits);
}
