import { PagurusError } from "@pagurus/contract/errors";
import { resolveHome } from "@pagurus/core/config/config-paths";
import { plural } from "@pagurus/core/data/plain-numbers";
import { bytes, oneLine, table, time } from "@pagurus/host/command/layout";
import {
  capturedSessions,
  clearCaptures,
  listCaptures,
  readCapture,
  type CaptureSession,
} from "@pagurus/gateway/capture/read-capture";
import type { CaptureRecord } from "@pagurus/gateway/capture/capture-record";
import { type Cli, printJson, printLine, sessionOf, type SessionOptions } from "../cli.ts";
import { EXIT_DONE } from "../cli-failure.ts";
import { keyAlone } from "../sessions/session-choice.ts";

export interface RequestsOptions extends SessionOptions {
  json?: boolean;
}
export interface ListRequestsOptions extends RequestsOptions {
  limit?: number;
}

const HOW_TO_CAPTURE =
  "requests are captured unless gateway.capture is false or PAGURUS_CAPTURE is 0, and the oldest are removed beyond gateway.capture.maxBytes";
const LISTED = 20;
/** Longest list of lost parts in a row, characters. */
const LOST_WIDTH = 80;

export async function capturesOf(cli: Cli, options: SessionOptions): Promise<CaptureSession> {
  const sessionKey = await keyAlone(cli, options);
  return { home: resolveHome(cli.env), ...sessionOf(options), sessionKey };
}

/** Hint for a session without captures: names sessions that have some, or how to enable them. */
function withoutCaptures({ home, agentId, sessionKey }: CaptureSession): string {
  const others = capturedSessions(home, agentId);
  const hint =
    others.length === 0
      ? HOW_TO_CAPTURE
      : `--session names another; there are captures of ${others.map((key) => `"${key}"`).join(", ")}`;
  return `No request of session "${sessionKey}" is captured; ${hint}.`;
}

/** A captured request by its number. Throws `entry_not_found` with a remedy. */
export function captured(session: CaptureSession, number: number): CaptureRecord {
  const record = readCapture(session, number);
  if (record) return record;
  const { records } = listCaptures(session, 1);
  const newest = records.at(-1);
  throw new PagurusError(
    "entry_not_found",
    newest === undefined
      ? withoutCaptures(session)
      : `Request ${number} of session "${session.sessionKey}" is not captured, or its capture was deleted; the newest is ${newest.number}, and pagurus requests list shows all.`,
  );
}

/** A duration; in seconds from 10 s on, for quick reading. */
export function duration(ms: number | undefined): string {
  if (ms === undefined) return "-";
  return ms < 10_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

/** `upstream`, with the error if any. */
function answeredBy({ outcome }: CaptureRecord): string {
  if (!outcome) return "not ended";
  const how = outcome.left ? " (harness left)" : outcome.cut ? " (cut)" : "";
  const lost = outcome.degraded
    ? ` (degraded: without ${oneLine(outcome.degraded.join(", "), LOST_WIDTH)})`
    : "";
  return `${outcome.answeredBy}${how}${lost}`;
}

/** How the gateway forwarded the request. */
function passing({ sent }: CaptureRecord): string {
  const last = sent.at(-1);
  if (!last) return "not sent";
  return `${last.replaced ? "replaced" : "passed"}${sent.length > 1 ? ` (${sent.length} times)` : ""}`;
}

function row(record: CaptureRecord): string[] {
  const { answer, outcome } = record;
  const sent = record.sent.at(-1)?.body;
  const size = typeof sent === "object" ? sent.bytes : record.harness.bytes;
  return [
    String(record.number),
    time(record.time),
    record.runtime,
    record.kind,
    record.model || "-",
    answer ? String(answer.status) : "-",
    bytes(size),
    answer?.body ? bytes(answer.body.bytes) : "-",
    passing(record),
    answeredBy(record),
    duration(answer?.firstByteMs),
    duration(outcome?.totalMs),
  ];
}

const HEAD = [
  "#",
  "TIME",
  "RUNTIME",
  "KIND",
  "MODEL",
  "STATUS",
  "IN",
  "OUT",
  "SENT",
  "ANSWERED BY",
  "FIRST BYTE",
  "TOTAL",
];

/** `requests list`. */
export async function listRequests(cli: Cli, options: ListRequestsOptions): Promise<number> {
  const session = await capturesOf(cli, options);
  const { records, unreadable } = listCaptures(session, options.limit ?? LISTED);
  if (options.json === true) printJson(cli, records);
  else if (records.length === 0) printLine(cli.stderr, withoutCaptures(session));
  else printLine(cli.stdout, table(HEAD, records.map(row), [0, 5, 6, 7, 10, 11]).join("\n"));
  if (unreadable > 0)
    printLine(
      cli.stderr,
      `note: ${plural(unreadable, "capture")} cannot be read: the process ended while writing.`,
    );
  return EXIT_DONE;
}

/** `requests clear`. */
export async function clearRequests(cli: Cli, options: RequestsOptions): Promise<number> {
  const session = await capturesOf(cli, options);
  const cleared = clearCaptures(session);
  if (options.json === true) printJson(cli, cleared);
  else
    printLine(
      cli.stdout,
      `Deleted ${plural(cleared.requests, "captured request")} of session "${session.sessionKey}".`,
    );
  return EXIT_DONE;
}
