/**
 * All model requests of a session, from its receipts and its captures. Reads what was added since the last call; keeps a few hundred
 * bytes of each request, and no parts or bodies.
 */
import { setImmediate } from "node:timers/promises";
import type { Receipt } from "../../contract/session/receipt.ts";
import type { SessionRecord } from "../../contract/session/writer.ts";
import type { CaptureRecord } from "../../gateway/capture/capture-record.ts";
import { captureNumbers, readCapture, type CaptureSession } from "../../gateway/capture/read-capture.ts";
import { receiptFile } from "../../session/receipt-log.ts";
import { receiptAt, receiptSteps, receiptStepsSince, type ReceiptStep } from "../../session/receipt-steps.ts";
import type { CapturedFacts, RequestRow } from "./request-row.ts";

type OwnReceipt = NonNullable<ReceiptStep["receipt"]> & { offset: number };

/** Difference between the time of a receipt and of its body's sending, ms. */
const EARLIER_MS = 50;
const LATER_MS = 5_000;
/** Records read before other work of the process has its turn. */
const AT_ONCE = 64;
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
  #rows: RequestRow[] = [];
  #byId = new Map<string, RequestRow>();

  constructor(session: CaptureSession, record: SessionRecord) {
    this.#session = session;
    this.#sessionId = record.sessionId;
    this.#file = receiptFile(record);
  }

  /** The requests, oldest first. Throws `store_read_failed`. */
  async rows(): Promise<readonly RequestRow[]> {
    const steps = receiptSteps(this.#file, this.#end);
    for (const step of steps) {
      this.#end = step.end;
      take(this.#receipts, step);
    }
    const changed = await this.#readCaptures();
    if (steps.length > 0 || changed) this.#join();
    return this.#rows;
  }

  /**
   * The requests from a time on (ISO 8601), oldest first, without reading those before it; undefined where they are too many. Throws
   * `store_read_failed`.
   */
  newest(since: string): RequestRow[] | undefined {
    const steps = receiptStepsSince(this.#file, since, MOST_END_BYTES);
    if (!steps) return undefined;
    const receipts = new Map<string, OwnReceipt>();
    for (const step of steps) take(receipts, step);
    const records: CaptureRecord[] = [];
    for (const number of captureNumbers(this.#session).toReversed()) {
      if (records.length >= MOST_END_CAPTURES) return undefined;
      const record = this.#record(number);
      if (!record) continue;
      if (record.time < since) break;
      records.push(record);
    }
    return joined(receipts.values(), records.toReversed());
  }

  /** The requests of the last reading. */
  get read(): readonly RequestRow[] {
    return this.#rows;
  }

  /** Undefined for an id without a request. Throws `store_read_failed`. */
  async row(id: string): Promise<RequestRow | undefined> {
    await this.rows();
    return this.#byId.get(id);
  }

  /** The receipt of a request with its parts and usage; undefined where it has none. Throws `store_read_failed`. */
  receipt({ id }: RequestRow): Receipt | undefined {
    const own = this.#receipts.get(id);
    const found = own && receiptAt(this.#file, own.offset);
    if (!found) return undefined;
    return {
      ...found,
      ...(own.usage ? { usage: own.usage } : {}),
      ...(own.cache ? { cache: own.cache } : {}),
    };
  }

  capture({ captured }: RequestRow): CaptureRecord | undefined {
    return captured && this.#captures.get(captured.number);
  }

  /** Reads captures that are new or had no end; forgets those that were deleted. */
  async #readCaptures(): Promise<boolean> {
    const numbers = captureNumbers(this.#session);
    const present = new Set(numbers);
    let changed = false;
    for (const number of this.#captures.keys())
      if (!present.has(number)) changed = this.#captures.delete(number) || changed;
    let read = 0;
    for (const number of numbers) {
      if (this.#captures.get(number)?.outcome) continue;
      read += 1;
      if (read % AT_ONCE === 0) await setImmediate();
      const record = this.#record(number);
      if (!record) continue;
      this.#captures.set(number, record);
      changed = true;
    }
    return changed;
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

function take(receipts: Map<string, OwnReceipt>, { offset, receipt, usage }: ReceiptStep): void {
  if (receipt) receipts.set(idOf(receipt), { ...receipt, offset });
  const known = usage && receipts.get(idOf(usage));
  if (!known) return;
  known.usage = usage.usage;
  if (usage.cache) known.cache = { ...known.cache, ...usage.cache };
}

/** Oldest first. */
function joined(receipts: Iterable<OwnReceipt>, records: readonly CaptureRecord[]): RequestRow[] {
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

function idOf({ turnId, request }: Pick<Receipt, "turnId" | "request">): string {
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

function factsOf({ record, number }: Pick<Attempt, "record" | "number">): CapturedFacts {
  const sent = record.sent[number - 1];
  const bytes = sent && (sent.body === "same" ? record.harness.bytes : sent.body.bytes);
  return {
    number: record.number,
    attempt: number,
    kind: record.kind,
    ...(bytes === undefined ? {} : { bytes }),
    ...(record.answer ? { status: record.answer.status } : {}),
    ...(record.outcome ? { answeredBy: record.outcome.answeredBy, totalMs: record.outcome.totalMs } : {}),
  };
}

function ofCapture(record: CaptureRecord): RequestRow {
  const { number, time, turnId, runtime, model, kind } = record;
  return {
    id: `c${number}`,
    at: time,
    ...(turnId === undefined ? {} : { turnId }),
    runtime,
    model,
    purpose: kind,
    captured: factsOf({ record, number: Math.max(1, record.sent.length) }),
  };
}

function ofReceipt(receipt: OwnReceipt, attempt: Attempt | undefined): RequestRow {
  const { turnId, timestamp, runtime, seam, engine, model, purpose, epoch, degraded, usage, cache } = receipt;
  const { parts, tokens, tokenBudget, sharedTokens } = receipt;
  const input = usage && usage.input + (usage.cacheRead ?? 0) + (usage.cacheWrite ?? 0);
  return {
    id: idOf(receipt),
    at: timestamp,
    turnId,
    runtime,
    seam,
    engine,
    model,
    ...(purpose === undefined ? {} : { purpose }),
    ...(epoch === undefined ? {} : { epoch }),
    parts,
    tokens,
    tokenBudget,
    sharedTokens,
    ...(degraded === undefined ? {} : { degraded }),
    ...(usage ? { usage } : {}),
    ...(usage?.cacheRead !== undefined && input ? { cacheShare: usage.cacheRead / input } : {}),
    ...(cache ? { cache } : {}),
    ...(attempt ? { captured: factsOf(attempt) } : {}),
  };
}
