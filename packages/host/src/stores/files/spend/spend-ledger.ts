/**
 * Ledger of an agent's costs: `<agentDir>/spend/<YYYY-MM-DD>.jsonl` for the sum of a day over all sessions and processes, and
 * `<agentDir>/sessions/<sessionId>.spend.jsonl` for the sum of a session of any age. A line is one paid request, in both. Deleting a
 * session deletes its own file; the day keeps the amounts, without the key.
 */
import { closeSync, constants, fstatSync, openSync, readSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { PagurusError, toPagurusError } from "@pagurus/contract/errors";
import type { SharedSpend } from "@pagurus/contract/session/shared-records";
import { ensurePrivateDir } from "@pagurus/core/platform/atomic-files";
import { readFailure, systemCode, writeFailure } from "../failures.ts";
import { SharedSums, sumOf, type Sums } from "./shared-sums.ts";
import { DAY, days, ledgerSource, SESSION, sessionSpendFile } from "./spend-scopes.ts";
import { linesForward } from "../transcript/transcript-lines.ts";

export interface SpendRecord {
  /** Absent for a request that belongs to no session. */
  sessionId?: string | undefined;
  turnId: string;
  /** US dollars, over 0. */
  cost: number;
  /** Purpose of the request, when it was not the turn's own. */
  purpose?: string;
  /** Model ref that was paid, for example `anthropic/claude-sonnet-5`. */
  model?: string;
  /** Id of the runtime whose request it was, for example `codex` or `wire-claude`; `api` for a direct surface. */
  program?: string;
}

/** Cached sum of a file: of its lines up to `offset`, which is the start of a line. */
interface Summed {
  inode: number;
  offset: number;
  paid: number;
  /** Amounts carried over from earlier generations, by session id. */
  carried: Map<string, number>;
}

const NEWLINE = 10;

export interface SpendOptions {
  now?: () => number;
  /** Sums of all hosts, where several share the sessions. */
  shared?: SharedSpend | undefined;
}

export class SpendLedger {
  readonly #agentDir: string;
  readonly #now: () => number;
  readonly #files = new Map<string, Summed>();
  /** Costs that could not be written, by file: this process includes them all the same. */
  readonly #unwritten = new Map<string, number>();
  /** Sums of all hosts, where several share the sessions. */
  readonly #all: SharedSums | undefined;
  #source: string | undefined;

  constructor(agentDir: string, options: SpendOptions = {}) {
    this.#agentDir = agentDir;
    this.#now = options.now ?? Date.now;
    this.#all = options.shared && new SharedSums(options.shared, this.#now);
  }

  /** The local date, `YYYY-MM-DD`. */
  today(): string {
    const date = new Date(this.#now());
    const two = (value: number): string => String(value).padStart(2, "0");
    return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  }

  /**
   * Records a paid request. Returns why it could not be written, as a sentence, if so: its cost then counts in this process only; or why
   * costs of other hosts are not known. Not synced: a power cut may lose the last seconds, as a kill between the two files loses one line.
   */
  record(record: SpendRecord, day = this.today()): string | undefined {
    const line = { at: this.#now(), ...record };
    const { sessionId } = record;
    const files = [
      this.#dayFile(day),
      ...(sessionId === undefined ? [] : [sessionSpendFile(this.#agentDir, sessionId)]),
    ];
    const failed = files
      .map((file) => this.#append(file, line, record.cost))
      .find((reason) => reason !== undefined);
    if (!this.#all) return failed;
    const reported =
      this.#report(`${DAY}${day}`) ??
      (sessionId === undefined ? undefined : this.#report(`${SESSION}${sessionId}`)) ??
      this.#all.takeProblem();
    return failed ?? reported;
  }

  /**
   * Carries the cost of one session over to another: a rotating compaction continues the same conversation under a new id. Idempotent.
   * Throws `store_read_failed`.
   */
  carry(fromSessionId: string, toSessionId: string): string | undefined {
    const amount = this.sessionTotal(fromSessionId);
    if (amount === 0) return undefined;
    const line = { at: this.#now(), carriedFrom: fromSessionId, amount };
    const failed = this.#append(sessionSpendFile(this.#agentDir, toSessionId), line, amount);
    return failed ?? this.#report(`${SESSION}${toSessionId}`);
  }

  /** US dollars of all sessions, processes and hosts on a day (default: today). Throws `store_read_failed`. */
  dayTotal(day = this.today()): number {
    return this.#total(`${DAY}${day}`, this.#dayFile(day));
  }

  /** US dollars of a session, from its first request on. Throws `store_read_failed`. */
  sessionTotal(sessionId: string): number {
    const file = sessionSpendFile(this.#agentDir, sessionId);
    return this.#total(`${SESSION}${sessionId}`, file);
  }

  /** This ledger's sums by source, by scope: of every day, and of these sessions. Throws `store_read_failed`, `store_write_failed`. */
  sums(sessionIds: readonly string[]): Map<string, Sums> {
    const scopes = [
      ...days(this.#agentDir).map((day) => `${DAY}${day}`),
      ...sessionIds.map((id) => `${SESSION}${id}`),
    ];
    const found = scopes.map((scope): [string, Sums] => {
      const summed = this.#sum(this.#fileOf(scope));
      return [scope, summed.paid > 0 ? sources(ledgerSource(this.#agentDir), summed) : summed.carried];
    });
    return new Map(found.filter(([, sums]) => sums.size > 0));
  }

  /** Counts what another source has spent in a scope. Idempotent. Throws `store_read_failed`, `store_write_failed`. */
  take(scope: string, source: string, amount: number): void {
    if (source === ledgerSource(this.#agentDir)) return;
    const file = this.#fileOf(scope);
    if (amount <= (this.#sum(file).carried.get(source) ?? 0)) return;
    const failed = append(file, { at: this.#now(), carriedFrom: source, amount });
    if (failed !== undefined) throw new PagurusError("store_write_failed", failed);
  }

  #dayFile(day: string): string {
    return join(this.#agentDir, "spend", `${day}.jsonl`);
  }

  #append(file: string, line: Record<string, unknown>, amount: number): string | undefined {
    const reason = append(file, line);
    if (reason !== undefined) this.#unwritten.set(file, (this.#unwritten.get(file) ?? 0) + amount);
    return reason;
  }

  #total(scope: string, file: string): number {
    const { paid, carried } = this.#sum(file);
    const unwritten = this.#unwritten.get(file) ?? 0;
    const source = this.#all && this.#sourceName();
    if (!this.#all || source === undefined) {
      const before = [...carried.values()].reduce((sum, amount) => sum + amount, 0);
      return paid + before + unwritten;
    }
    return sumOf(this.#all.merged(scope, sources(source, { paid, carried }))) + unwritten;
  }

  #fileOf(scope: string): string {
    const name = scope.slice(scope.indexOf(" ") + 1);
    return scope.startsWith(DAY) ? this.#dayFile(name) : sessionSpendFile(this.#agentDir, name);
  }

  /** Reports the sums of a scope to the other hosts, without what could not be written: a later process would not know of it. */
  #report(scope: string): string | undefined {
    const source = this.#all && this.#sourceName();
    if (!this.#all || source === undefined) return undefined;
    try {
      this.#all.report(scope, sources(source, this.#sum(this.#fileOf(scope))));
      return undefined;
    } catch (error) {
      return toPagurusError(error).message;
    }
  }

  /** Undefined if it cannot be written, as on a full disk: this host's sums are its own then. */
  #sourceName(): string | undefined {
    try {
      return (this.#source ??= ledgerSource(this.#agentDir));
    } catch {
      // A record reports that nothing can be written.
      return undefined;
    }
  }

  /** Reads what any process has added since the last time. */
  #sum(file: string): Summed {
    let fd: number;
    try {
      fd = openSync(file, "r");
    } catch (error) {
      if (systemCode(error) !== "ENOENT") throw readFailure(error, file);
      this.#files.delete(file);
      return { inode: 0, offset: 0, paid: 0, carried: new Map() };
    }
    try {
      const { ino, size } = fstatSync(fd);
      const known = this.#files.get(file);
      // Shorter, or another file: it was replaced.
      const from =
        known?.inode === ino && known.offset <= size
          ? known
          : { inode: ino, offset: 0, paid: 0, carried: new Map<string, number>() };
      if (from.offset < size) readLines(fd, from, size);
      this.#files.set(file, from);
      return from;
    } catch (error) {
      throw readFailure(error, file);
    } finally {
      closeSync(fd);
    }
  }
}

function sources(source: string, { paid, carried }: Pick<Summed, "paid" | "carried">): Map<string, number> {
  return paid > 0 ? new Map([...carried, [source, paid]]) : carried;
}

/** A torn or foreign line is no amount; a last line without its newline is read once it is complete. */
function readLines(fd: number, summed: Summed, size: number): void {
  for (const { length, bytes, terminated } of linesForward(fd, summed.offset, size)) {
    if (!terminated) return;
    summed.offset += length;
    const line = parseSpendLine(bytes);
    if (isAmount(line?.cost)) summed.paid += line.cost;
    if (isAmount(line?.amount) && typeof line.carriedFrom === "string") {
      summed.carried.set(line.carriedFrom, line.amount);
    }
  }
}

function isAmount(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}

interface ParsedLine {
  cost?: unknown;
  carriedFrom?: unknown;
  amount?: unknown;
}

function parseSpendLine(bytes: Buffer): ParsedLine | undefined {
  try {
    const value: unknown = JSON.parse(bytes.toString("utf8"));
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    // Torn by a crash or a full disk.
    return undefined;
  }
}

/** Adds one line with one write, so that lines of two processes never mix. */
function append(file: string, line: Record<string, unknown>): string | undefined {
  try {
    const fd = openForAppend(file);
    try {
      const start = endsOpen(fd) ? "\n" : "";
      const data = Buffer.from(`${start}${JSON.stringify(line)}\n`);
      const written = writeSync(fd, data);
      // A partial write happens only on a full disk.
      if (written < data.length) throw Object.assign(new Error("A part was written."), { code: "ENOSPC" });
      return undefined;
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    return writeFailure(error, file).message;
  }
}

function openForAppend(file: string): number {
  const open = (): number => openSync(file, constants.O_RDWR | constants.O_APPEND | constants.O_CREAT, 0o600);
  try {
    return open();
  } catch (error) {
    if (systemCode(error) !== "ENOENT") throw error;
    ensurePrivateDir(dirname(file));
    return open();
  }
}

/** True when a crash left a line without its newline, to which nothing may be appended. */
function endsOpen(fd: number): boolean {
  const { size } = fstatSync(fd);
  if (size === 0) return false;
  const last = Buffer.alloc(1);
  readSync(fd, last, 0, 1, size - 1);
  return last[0] !== NEWLINE;
}
