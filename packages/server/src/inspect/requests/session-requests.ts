/**
 * All model requests of a session, from its receipts and its captures. Reads what was added since the last call; keeps a few hundred
 * bytes of each request, and no parts or bodies.
 */
import { statSync } from "node:fs";
import type { Receipt } from "@pagurus/contract/session/receipt";
import type { SessionRecord } from "@pagurus/contract/session/writer";
import { captureFolder } from "@pagurus/core/config/captures";
import type { CaptureRecord } from "@pagurus/gateway/capture/capture-record";
import { captureNumbers, readCapture, type CaptureSession } from "@pagurus/gateway/capture/read-capture";
import { Pace } from "@pagurus/core/platform/pace";
import { receiptFile } from "@pagurus/host/stores/files/receipt-log";
import {
  receiptAt,
  receiptSteps,
  receiptStepsSince,
  type ReceiptStep,
} from "@pagurus/host/stores/files/receipt-steps";
import { inputTokens } from "@pagurus/core/tokens/add-usage";
import { OneReading } from "../one-reading.ts";
import type { InspectedRequest } from "@pagurus/api/types";
import { sameAsReceipt } from "./request-row.ts";
import { lostParts } from "@pagurus/core/data/lost-parts";
import { defined } from "@pagurus/core/data/defined";

type OwnReceipt = NonNullable<ReceiptStep["receipt"]> & { offset: number };

/** Difference between the time of a receipt and of its body's sending, ms. */
const EARLIER_MS = 50;
const LATER_MS = 5_000;
/** Files of a folder that was not changed for so long have other names only with another time of change, ms. */
const SETTLED_MS = 2_000;
/** Of what is read for the newest requests alone. */
const MOST_END_BYTES = 4 * 2 ** 20;
const MOST_END_CAPTURES = 500;

export class SessionRequests {
  readonly #session: CaptureSession;
  readonly #sessionId: string;
  readonly #file: string;
  #end = 0;
  readonly #receipts = new Map<string, OwnReceipt>();
  readonly #captures = new Map<number, CaptureRecord>();
  /** Numbers of the captures in the folder, and when that was changed and looked at, ms since the epoch. */
  #folder: { numbers: number[]; changed: number; seen: number } | undefined;
  readonly #reading = new OneReading(() => this.#read());
  #rows: InspectedRequest[] = [];
  #byId = new Map<string, InspectedRequest>();

  constructor(session: CaptureSession, record: SessionRecord) {
    this.#session = session;
    this.#sessionId = record.sessionId;
    this.#file = receiptFile(record);
  }

  /** The requests, oldest first. Throws `store_read_failed`. */
  async rows(): Promise<readonly InspectedRequest[]> {
    await this.#reading.fresh();
    return this.#rows;
  }

  async #read(): Promise<void> {
    const pace = new Pace();
    let changed = false;
    for (const step of receiptSteps(this.#file, this.#end)) {
      this.#end = step.end;
      take(this.#receipts, step);
      changed = true;
      if (pace.due) await pace.rest();
    }
    if ((await this.#readCaptures(pace)) || changed) this.#join();
  }

  /**
   * The requests from a time on (ISO 8601), oldest first, without reading those before it; undefined where they are too many. Throws
   * `store_read_failed`.
   */
  newest(since: string): InspectedRequest[] | undefined {
    const steps = receiptStepsSince(this.#file, since, MOST_END_BYTES);
    if (!steps) return undefined;
    const receipts = new Map<string, OwnReceipt>();
    for (const step of steps) take(receipts, step);
    const records: CaptureRecord[] = [];
    for (const number of this.#numbers().toReversed()) {
      if (records.length >= MOST_END_CAPTURES) return undefined;
      const record = this.#record(number);
      if (!record) continue;
      if (record.time < since) break;
      records.push(record);
    }
    return joined(receipts.values(), records.toReversed());
  }

  /** The requests of the last reading. */
  get read(): readonly InspectedRequest[] {
    return this.#rows;
  }

  /** Undefined for an id without a request. Throws `store_read_failed`. */
  async row(id: string): Promise<InspectedRequest | undefined> {
    await this.rows();
    return this.#byId.get(id);
  }

  /** The receipt of a request with its parts and usage; undefined where it has none. Throws `store_read_failed`. */
  receipt({ id }: InspectedRequest): Receipt | undefined {
    const own = this.#receipts.get(id);
    const found = own && receiptAt(this.#file, own.offset);
    if (!found) return undefined;
    return { ...found, ...defined({ usage: own.usage, cache: own.cache }) };
  }

  capture({ captured }: InspectedRequest): CaptureRecord | undefined {
    return captured && this.#captures.get(captured.number);
  }

  /** Reads captures that are new or had no end; forgets those that were deleted. */
  async #readCaptures(pace: Pace): Promise<boolean> {
    const numbers = this.#numbers();
    const present = new Set(numbers);
    let changed = false;
    for (const number of this.#captures.keys())
      if (!present.has(number)) changed = this.#captures.delete(number) || changed;
    for (const number of numbers) {
      if (this.#captures.get(number)?.outcome) continue;
      if (pace.due) await pace.rest();
      const record = this.#record(number);
      if (!record) continue;
      this.#captures.set(number, record);
      changed = true;
    }
    return changed;
  }

  /** A page looks every few seconds, mostly at a folder with thousands of files in which nothing has happened. */
  #numbers(): readonly number[] {
    const seen = Date.now();
    const changed = changedAt(
      captureFolder(this.#session.home, this.#session.agentId, this.#session.sessionKey),
    );
    const known = this.#folder;
    if (known && known.changed === changed && known.seen - changed > SETTLED_MS) return known.numbers;
    const numbers = captureNumbers(this.#session);
    this.#folder = { numbers, changed, seen };
    return numbers;
  }

  /** Undefined for one that is cut, and for one of another session that had the key. */
  #record(number: number): CaptureRecord | undefined {
    const record = readCapture(this.#session, number);
    return record && (record.sessionId ?? this.#sessionId) === this.#sessionId ? record : undefined;
  }

  #join(): void {
    this.#rows = joined(this.#receipts.values(), [...this.#captures.values()]);
    this.#byId = new Map(this.#rows.map((row) => [row.id, row]));
  }
}

/** 0 where there is no folder. */
function changedAt(folder: string): number {
  return statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

function take(receipts: Map<string, OwnReceipt>, { offset, receipt, usage }: ReceiptStep): void {
  if (receipt) receipts.set(requestIdOf(receipt), { ...receipt, offset });
  const known = usage && receipts.get(requestIdOf(usage));
  if (!known) return;
  known.usage = usage.usage;
  if (usage.cache) known.cache = { ...known.cache, ...usage.cache };
}

/** Oldest first. */
function joined(receipts: Iterable<OwnReceipt>, records: readonly CaptureRecord[]): InspectedRequest[] {
  const attempts = records.flatMap(attemptsOf);
  const free = new Set(attempts);
  const byTurn = Map.groupBy(attempts, ({ record }) => record.turnId);
  const rows = Array.from(receipts, (receipt) => {
    // A wrapped program's requests name no turn.
    const likely = [...(byTurn.get(receipt.turnId) ?? []), ...(byTurn.get(undefined) ?? [])];
    const open = likely.filter((attempt) => free.has(attempt));
    const attempt = receipt.purpose === undefined ? attemptFor(receipt, open) : undefined;
    if (attempt) free.delete(attempt);
    return ofReceipt(receipt, attempt);
  });
  const used = new Set(attempts.filter((attempt) => !free.has(attempt)).map(({ record }) => record.number));
  for (const record of records) if (!used.has(record.number)) rows.push(ofCapture(record));
  return rows.toSorted((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
}

/** One sending of a captured request. */
interface Attempt {
  record: CaptureRecord;
  /** From 1. */
  number: number;
  sentAt: number;
}

function requestIdOf({ turnId, request }: Pick<Receipt, "turnId" | "request">): string {
  return `${turnId}.${request}`;
}

function attemptsOf(record: CaptureRecord): Attempt[] {
  if (record.kind !== "main" && record.kind !== "compaction") return [];
  const began = Date.parse(record.time);
  return record.sent.map(({ afterMs }, index) => ({ record, number: index + 1, sentAt: began + afterMs }));
}

/** The sending that a receipt is of: of the same turn, the first one after the receipt was written. */
function attemptFor(receipt: OwnReceipt, open: readonly Attempt[]): Attempt | undefined {
  const written = Date.parse(receipt.timestamp);
  let best: Attempt | undefined;
  for (const attempt of open) {
    const { record, sentAt } = attempt;
    if (record.runtime !== receipt.runtime) continue;
    if (sentAt < written - EARLIER_MS || sentAt > written + LATER_MS) continue;
    if (!best || sentAt < best.sentAt) best = attempt;
  }
  return best;
}

function factsOf({
  record,
  number,
}: Pick<Attempt, "record" | "number">): NonNullable<InspectedRequest["captured"]> {
  const sent = record.sent[number - 1];
  const bytes = sent && (sent.body === "same" ? record.harness.bytes : sent.body.bytes);
  return {
    number: record.number,
    attempt: number,
    kind: record.kind,
    ...defined({ bytes, status: record.answer?.status }),
    ...(record.outcome ? { answeredBy: record.outcome.answeredBy, totalMs: record.outcome.totalMs } : {}),
  };
}

/** Parts of the answer that the session does not have. */
function lostIn({ outcome }: CaptureRecord): Pick<InspectedRequest, "degraded"> {
  return outcome?.degraded ? { degraded: lostParts(outcome.degraded) } : {};
}

function ofCapture(record: CaptureRecord): InspectedRequest {
  const { number, time, turnId, runtime, model, kind } = record;
  return {
    id: `c${number}`,
    at: time,
    ...defined({ turnId }),
    runtime,
    model,
    purpose: kind,
    ...lostIn(record),
    captured: factsOf({ record, number: Math.max(1, record.sent.length) }),
  };
}

function ofReceipt(receipt: OwnReceipt, attempt: Attempt | undefined): InspectedRequest {
  const { timestamp, parts, usage } = receipt;
  const input = usage && inputTokens(usage);
  return {
    ...(attempt && lostIn(attempt.record)),
    ...sameAsReceipt(receipt),
    id: requestIdOf(receipt),
    at: timestamp,
    parts,
    ...defined({ inputTokens: input }),
    ...(usage?.cacheRead !== undefined && input ? { cacheShare: usage.cacheRead / input } : {}),
    ...(attempt ? { captured: factsOf(attempt) } : {}),
  };
}
