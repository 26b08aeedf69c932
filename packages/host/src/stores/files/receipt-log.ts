/**
 * Receipts of a session's requests, in a file next to its transcript. A request mostly repeats the parts of the one before it, so a line
 * has only the differences; every 64th has all parts, which bounds how far a reader goes back.
 */
import { closeSync, fstatSync, ftruncateSync, openSync, statSync } from "node:fs";
import { basename, dirname } from "node:path";
import type { Usage } from "@pagurus/contract/message";
import type { Receipt, ReceiptPart } from "@pagurus/contract/session/receipt";
import type { SessionRecord } from "@pagurus/contract/session/writer";
import { writeAll } from "@pagurus/core/platform/atomic-files";
import { readFailure, systemCode, writeFailure } from "./failures.ts";
import { linesBackward, linesForward, type Line } from "./transcript/transcript-lines.ts";
import { sessionPaths, TRANSCRIPT_SUFFIX } from "./session-paths.ts";
import { defined } from "@pagurus/core/data/defined";

const SNAPSHOT_EVERY = 64;

/** A receipt whose first `keep` parts are those of the line before it; `sequence` counts from the last full one. */
export interface ReceiptLine {
  sequence: number;
  keep: number;
  receipt: Receipt;
}

export interface UsageLine {
  turnId: string;
  request: number;
  usage: Usage;
  cache?: Receipt["cache"];
}

interface LastReceipt {
  receipt: Receipt;
  sequence: number;
  /** Size of the file after it; another size means that another process wrote. */
  size: number;
}

/** The newest receipt of a turn's own request. */
interface LastOwn {
  receipt: Receipt | undefined;
  /** Ids of the turns, and of the work between turns, whose completions came after it, oldest first; none without it. */
  later: readonly string[];
  /** Size of the file when it was found. */
  size: number;
}

/**
 * Number of the next request of turns of this process, by file and turn: a completion may end after its turn, when requests of the next one
 * are written already.
 */
const NEXT = new Map<string, number>();
/** More turns than can still have something to write. */
const MOST_TURNS = 256;

/** Path of a session's receipts. */
export function receiptFile(record: Pick<SessionRecord, "file">): string {
  const id = basename(record.file, TRANSCRIPT_SUFFIX);
  return sessionPaths(dirname(record.file), id).receipts;
}

export interface ReceiptLogOptions {
  /** Need not exist yet. */
  file: string;
  /** Called after bytes were appended to the file at an offset, where several hosts share the session. May throw. */
  written?: ((offset: number, bytes: Uint8Array) => void) | undefined;
}

/** The receipts of one session. Opens nothing before the first call. */
export function openReceiptLog(options: ReceiptLogOptions): ReceiptLog {
  return new ReceiptLog(options);
}

export class ReceiptLog {
  readonly #file: string;
  readonly #written: ReceiptLogOptions["written"];
  #last: LastReceipt | undefined;
  #own: LastOwn | undefined;
  /** Size of the file after this log's last line. */
  #ownEnd: number | undefined;

  constructor({ file, written }: ReceiptLogOptions) {
    this.#file = file;
    this.#written = written;
  }

  /** Only the session's writer appends. Throws `store_write_failed`. */
  append(receipt: Receipt): void {
    const last = this.#tail();
    const shared = last
      ? Math.max(0, Math.min(receipt.sharedParts, receipt.parts.length, last.receipt.parts.length))
      : 0;
    const keep =
      last && last.sequence + 1 < SNAPSHOT_EVERY ? equalParts(last.receipt.parts, receipt.parts, shared) : 0;
    // A line that keeps nothing is complete by itself, so the count restarts.
    const sequence = keep === 0 || !last ? 0 : last.sequence + 1;
    const line: ReceiptLine = { sequence, keep, receipt: { ...receipt, parts: receipt.parts.slice(keep) } };
    const size = this.#write(line);
    this.#own = receipt.purpose === undefined ? undefined : this.#ownAfter(receipt.turnId, last, size);
    this.#last = { receipt, sequence, size };
    this.#numbered(receipt);
  }

  /** After a completion. Undefined if it has to be read. */
  #ownAfter(turnId: string, last: LastReceipt | undefined, size: number): LastOwn | undefined {
    if (last && last.receipt.purpose === undefined) return { receipt: last.receipt, later: [turnId], size };
    if (!this.#own || this.#own.size !== last?.size) return undefined;
    const { receipt, later } = this.#own;
    const isNoted = !receipt || later.at(-1) === turnId;
    return { receipt, later: isNoted ? later : [...later, turnId], size };
  }

  /** The number of a turn's next request. */
  next(turnId: string): number {
    const last = this.#tail()?.receipt;
    const afterLast = last?.turnId === turnId ? last.request + 1 : 0;
    return Math.max(afterLast, NEXT.get(`${this.#file} ${turnId}`) ?? 0);
  }

  #numbered({ turnId, request }: Receipt): void {
    const key = `${this.#file} ${turnId}`;
    const next = Math.max(request + 1, NEXT.get(key) ?? 0);
    NEXT.delete(key);
    NEXT.set(key, next);
    const [oldest] = NEXT.keys();
    if (NEXT.size > MOST_TURNS && oldest !== undefined) NEXT.delete(oldest);
  }

  /** Adds a request's usage, when it is known after the receipt was written. Throws `store_write_failed`. */
  setUsage(turnId: string, request: number, usage: Usage, cache?: Receipt["cache"]): void {
    const last = this.#tail();
    const line: UsageLine = { turnId, request, usage, ...defined({ cache }) };
    const size = this.#write(line);
    if (!last) return;
    if (this.#own?.size === last.size)
      this.#own = { ...this.#own, size, receipt: used(this.#own.receipt, line) };
    this.#last = { ...last, size, receipt: used(last.receipt, line) };
  }

  /** Receipts in order, optionally of one turn. Leaves out torn lines, and lines that depend on them. */
  read(turnId?: string): Receipt[] {
    return this.#withFile([], (fd, size) => {
      const receipts = new Map<string, Receipt>();
      let previous: ReceiptLine | undefined;
      for (const line of linesForward(fd, 0, size)) {
        const value = parseLine(line);
        if (!value) previous = undefined;
        else if ("usage" in value) setUsage(receipts, value);
        else {
          previous = rebuild(value, previous);
          if (previous)
            receipts.set(requestKey(value.receipt.turnId, value.receipt.request), previous.receipt);
        }
      }
      const all = [...receipts.values()];
      return turnId === undefined ? all : all.filter((receipt) => receipt.turnId === turnId);
    });
  }

  /** The newest receipt, from the file's tail. */
  last(): Receipt | undefined {
    return this.#tail()?.receipt;
  }

  /** The newest receipt of a turn's own request: without those of completions. */
  lastOwn(): Receipt | undefined {
    const last = this.#tail();
    return last && last.receipt.purpose !== undefined ? this.#ownAt(last.size).receipt : last?.receipt;
  }

  /**
   * Ids of the turns, and of the work between turns, that began after `lastOwn` and made completions, oldest first. Without earlier turns,
   * which may still make some in the background.
   */
  laterThanOwn(): readonly string[] {
    const last = this.#tail();
    if (!last || last.receipt.purpose === undefined) return [];
    const { receipt, later } = this.#ownAt(last.size);
    const others = later.filter((id) => id !== receipt?.turnId);
    if (others.length === 0) return others;
    const earlier = new Set(
      this.read().flatMap(({ turnId, purpose }) => (purpose === undefined ? [turnId] : [])),
    );
    return others.filter((id) => !earlier.has(id));
  }

  #ownAt(known: number): LastOwn {
    if (this.#own?.size === known) return this.#own;
    this.#own = this.#withFile({ receipt: undefined, later: [], size: 0 }, (fd, size) => ({
      receipt: undefined,
      later: [],
      ...readBack(fd, size, true),
      size,
    }));
    return this.#own;
  }

  #tail(): LastReceipt | undefined {
    if (this.#last && sizeOf(this.#file) === this.#last.size) return this.#last;
    return this.#withFile(undefined, (fd, size) => {
      this.#last = readBack(fd, size, false);
      return this.#last;
    });
  }

  #withFile<T>(absent: T, work: (fd: number, size: number) => T): T {
    let fd: number;
    try {
      fd = openSync(this.#file, "r");
    } catch (error) {
      if (systemCode(error) === "ENOENT") return absent;
      throw readFailure(error, this.#file);
    }
    try {
      return work(fd, fstatSync(fd).size);
    } finally {
      closeSync(fd);
    }
  }

  /** Returns the file's size after the line. */
  #write(line: ReceiptLine | UsageLine): number {
    try {
      const fd = openSync(this.#file, "a+", 0o600);
      try {
        const { size } = fstatSync(fd);
        const text = `${JSON.stringify(line)}\n`;
        const isWhole = size === this.#ownEnd || endsWithNewline(fd, size);
        const bytes = Buffer.from(isWhole ? text : `\n${text}`);
        try {
          writeAll(fd, bytes);
        } catch (error) {
          ftruncateSync(fd, size);
          throw error;
        }
        this.#written?.(size, bytes);
        return (this.#ownEnd = size + bytes.length);
      } finally {
        closeSync(fd);
      }
    } catch (error) {
      throw writeFailure(error, this.#file);
    }
  }
}

type AnyLine = ReceiptLine | UsageLine | undefined;

/** Reads back to the newest receipt, optionally of a turn's own request, and to the full line that it depends on. */
function readBack(fd: number, size: number, isOwn: boolean): (LastReceipt & LastOwn) | undefined {
  const lines: AnyLine[] = [];
  let isFound = false;
  for (const line of linesBackward(fd, 0, size)) {
    const value = parseLine(line);
    lines.push(value);
    if (!value || "usage" in value) continue;
    isFound ||= !isOwn || value.receipt.purpose === undefined;
    if (!isFound || value.keep > 0) continue;
    // It may depend on a line that is lost: then an older one is the newest that can be read.
    const newest = newestOf(lines, size, isOwn);
    if (newest) return newest;
    isFound = false;
  }
  return newestOf(lines, size, isOwn);
}

/** `lines`: the newest first. */
function newestOf(
  lines: readonly AnyLine[],
  size: number,
  isOwn: boolean,
): (LastReceipt & LastOwn) | undefined {
  let previous: ReceiptLine | undefined;
  let newest: ReceiptLine | undefined;
  let later: string[] = [];
  const receipts = new Map<string, Receipt>();
  for (const value of lines.toReversed()) {
    if (!value) previous = undefined;
    else if ("usage" in value) setUsage(receipts, value);
    else {
      const { turnId, request, purpose } = value.receipt;
      previous = rebuild(value, previous);
      if (isOwn && purpose !== undefined) later.push(turnId);
      else if (previous) [newest, later] = [previous, []];
      if (previous) receipts.set(requestKey(turnId, request), previous.receipt);
    }
  }
  if (!newest) return undefined;
  const key = requestKey(newest.receipt.turnId, newest.receipt.request);
  // After a torn line no later line may depend on this one: a full count makes the next one complete.
  const sequence = previous === newest ? newest.sequence : SNAPSHOT_EVERY;
  return { receipt: receipts.get(key) ?? newest.receipt, sequence, later, size };
}

/** Undefined without a file, and where it cannot be looked at, which opening it reports. */
function sizeOf(file: string): number | undefined {
  try {
    return statSync(file, { throwIfNoEntry: false })?.size;
  } catch {
    return undefined;
  }
}

function endsWithNewline(fd: number, size: number): boolean {
  if (size === 0) return true;
  const [last] = linesForward(fd, size - 1, size);
  return last?.terminated ?? true;
}

function requestKey(turnId: string, request: number): string {
  return `${request} ${turnId}`;
}

function setUsage(receipts: Map<string, Receipt>, line: UsageLine): void {
  const key = requestKey(line.turnId, line.request);
  const receipt = receipts.get(key);
  if (receipt) receipts.set(key, withUsage(receipt, line));
}

/** With a usage line's values, where they are of its request. */
function used<T extends Receipt | undefined>(receipt: T, line: UsageLine): T | Receipt {
  return receipt?.turnId === line.turnId && receipt.request === line.request
    ? withUsage(receipt, line)
    : receipt;
}

function withUsage(receipt: Receipt, { usage, cache }: UsageLine): Receipt {
  return { ...receipt, usage, ...(cache ? { cache: { ...receipt.cache, ...cache } } : {}) };
}

/** The line with all its parts; undefined when the line that it depends on is lost. */
export function rebuild(line: ReceiptLine, previous: ReceiptLine | undefined): ReceiptLine | undefined {
  if (line.keep === 0) return line;
  if (!previous || previous.sequence + 1 !== line.sequence) return undefined;
  const parts = [...previous.receipt.parts.slice(0, line.keep), ...line.receipt.parts];
  return { ...line, receipt: { ...line.receipt, parts } };
}

export function parseLine(line: Line): ReceiptLine | UsageLine | undefined {
  if (!line.terminated) return undefined;
  try {
    const value = JSON.parse(line.bytes.toString("utf8")) as Partial<ReceiptLine & UsageLine> | null;
    if (value?.usage && typeof value.turnId === "string") return value as UsageLine;
    if (!value?.receipt || !Array.isArray(value.receipt.parts)) return undefined;
    return value as ReceiptLine;
  } catch {
    // A torn line; the reader continues after it.
    return undefined;
  }
}

/** How many of the first `limit` parts are the same in both lists. */
function equalParts(before: readonly ReceiptPart[], now: readonly ReceiptPart[], limit: number): number {
  for (let at = 0; at < limit; at += 1) {
    const a = before[at];
    const b = now[at];
    if (!a || !b || !equalPart(a, b)) return at;
  }
  return limit;
}

function equalPart(a: ReceiptPart, b: ReceiptPart): boolean {
  return (
    a.hash === b.hash &&
    a.source === b.source &&
    a.role === b.role &&
    a.entryId === b.entryId &&
    a.path === b.path &&
    a.tokens === b.tokens &&
    a.bytes === b.bytes &&
    a.trimmed?.fromBytes === b.trimmed?.fromBytes &&
    a.trimmed?.toBytes === b.trimmed?.toBytes
  );
}
