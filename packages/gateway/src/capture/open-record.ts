/** A captured request while it is in progress: its files are written one after the other, in the background. */
import { createHash } from "node:crypto";
import { open, rename, stat, writeFile, type FileHandle } from "node:fs/promises";
import { performance } from "node:perf_hooks";
import { captureFolder } from "@pagurus/core/config/captures";
import {
  partFile,
  captureRecordFile,
  type CaptureFacts,
  type CaptureOutcome,
  type CaptureRecord,
  type SentNote,
  type SentRecord,
  type StoredBody,
} from "./capture-record.ts";
import { redactBytes, redactHeaders, Redactor, redactPath, redactText, messageSecrets } from "./redact.ts";
import type { CapturedRequest, CaptureState } from "./captured-request.ts";
import { defined } from "@pagurus/core/data/defined";

const RECORD_TOO_LARGE = "it is larger than all captures may be";
const TOO_SLOW = "the disk did not follow";

/** The answer's file while it is being written. */
interface Growing {
  handle: FileHandle;
  redactor: Redactor;
  hash: ReturnType<typeof createHash>;
  stored: number;
}

/** A queued write. */
interface Step {
  run(): Promise<void>;
  /** Bytes reserved for it; released when it is done or dropped. */
  bytes: number;
  /** The JSON file has to be written again after it. */
  changes: boolean;
}

export class OpenRecord implements CapturedRequest {
  readonly #state: CaptureState;
  readonly #follow: (work: Promise<void>) => void;
  readonly #folder: string;
  readonly #startedAt = performance.now();
  readonly #record: CaptureRecord;
  /** Kept until an answer comes, to detect whether the sent body is the same. */
  #body: Buffer | undefined;
  readonly #steps: Step[] = [];
  #secrets: string[];
  #isRunning = false;
  /** The JSON file is out of date. */
  #isStale = false;
  /** Another process has deleted the record. */
  #isGone = false;
  /** Bytes of this record on the disk. */
  #stored = 0;
  /** Pieces of the answer that wait for the disk. */
  #pieces: Buffer[] = [];
  #answer: Growing | undefined;
  #answerBytes = 0;
  #answerCut: string | undefined;

  constructor(state: CaptureState, facts: CaptureFacts, follow: (work: Promise<void>) => void) {
    this.#state = state;
    this.#follow = follow;
    const { rawHeaders, body, agentId = "main", ...plain } = facts;
    this.#body = body;
    this.#secrets = messageSecrets(rawHeaders, facts.path);
    this.#folder = captureFolder(state.home, agentId, facts.sessionKey);
    this.#record = {
      version: 1,
      number: 0,
      agentId,
      pid: process.pid,
      time: new Date().toISOString(),
      ...plain,
      route: redactText(facts.route, this.#secrets),
      path: redactPath(facts.path, this.#secrets),
      headers: redactHeaders(rawHeaders, this.#secrets),
      harness: { bytes: body.length, stored: 0, sha256: "" },
      sent: [],
    };
    this.#withBytes(body.length, false, (isTaken) => this.#begin(body, isTaken));
  }

  sent(upstream: string, body: readonly Buffer[], { secrets = [], ...note }: SentNote): void {
    if (secrets.length > 0) this.#secrets = [...new Set([...this.#secrets, ...secrets])];
    const isSame = this.#body !== undefined && sameBytes(this.#body, body);
    const sent: SentRecord = { upstream, afterMs: this.#ms(), ...note, body: "same" };
    this.#record.sent.push(sent);
    const attempt = this.#record.sent.length;
    if (isSame) return this.#changed();
    const bytes = body.reduce((sum, part) => sum + part.length, 0);
    this.#withBytes(bytes, true, async (isTaken) => {
      const file = partFile(this.#folder, this.#record.number, "sent", attempt);
      const whole = isTaken ? Buffer.concat(body) : undefined;
      const { stored, write } = this.#prepared(whole, bytes);
      await write(file);
      sent.body = stored;
    });
  }

  answered({ status, rawHeaders }: { status: number; rawHeaders: readonly string[] }): void {
    this.#secrets = [...new Set([...this.#secrets, ...messageSecrets(rawHeaders)])];
    const headers = redactHeaders(rawHeaders, this.#secrets);
    this.#body = undefined;
    this.#record.answer = { status, headers, headMs: this.#ms() };
    this.#changed();
  }

  chunk(bytes: Buffer): void {
    if (bytes.length === 0) return;
    const { answer } = this.#record;
    if (answer) answer.firstByteMs ??= this.#ms();
    this.#answerBytes += bytes.length;
    if (this.#answerCut !== undefined) return;
    if (!this.#state.reserve(bytes.length)) {
      // Nothing more is accepted from here on, so that the stored part has no gaps.
      this.#answerCut = TOO_SLOW;
      return;
    }
    this.#pieces.push(bytes);
    if (this.#pieces.length === 1) this.#next({ run: () => this.#writePieces(), bytes: 0, changes: false });
  }

  end(outcome: CaptureOutcome): void {
    const { error, ...rest } = outcome;
    const totalMs = this.#ms();
    const run = async (): Promise<void> => {
      await this.#endAnswer();
      // Only now: a record with an outcome is complete.
      const failure = error === undefined ? {} : { error: redactText(error, this.#secrets) };
      this.#record.outcome = { ...rest, ...failure, totalMs };
      await this.#save();
      await this.#state.shelf.release(this.#folder, this.#record.number);
    };
    this.#next({ run, bytes: 0, changes: false });
  }

  /** Closes what is open, after capturing has stopped. */
  abandon(): void {
    this.#changed();
  }

  #ms(): number {
    return Math.round((performance.now() - this.#startedAt) * 10) / 10;
  }

  /** Queues a step whose body counts as waiting until it is done. */
  #withBytes(bytes: number, changes: boolean, step: (isTaken: boolean) => Promise<void>): void {
    const isTaken = this.#state.reserve(bytes);
    this.#next({ run: () => step(isTaken), bytes: isTaken ? bytes : 0, changes });
  }

  #changed(): void {
    this.#next({ run: () => Promise.resolve(), bytes: 0, changes: true });
  }

  #next(step: Step): void {
    this.#steps.push(step);
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#follow(this.#run());
  }

  async #run(): Promise<void> {
    try {
      // Not in the caller's own tick: it has a request to answer.
      await new Promise((resolve) => setImmediate(resolve));
      while (this.#steps.length > 0 || this.#isStale) {
        const step = this.#steps.shift();
        if (this.#state.isStopped || this.#isGone) await this.#drop();
        else if (!step) await this.#save();
        else {
          await step.run().catch((error: unknown) => this.#leave(error));
          this.#isStale ||= step.changes;
        }
        this.#state.written(step?.bytes ?? 0);
      }
    } catch (error) {
      await this.#drop();
      throw error;
    } finally {
      this.#isRunning = false;
    }
  }

  /** Releases waiting bytes and closes the open file. */
  async #drop(): Promise<void> {
    this.#isStale = false;
    for (const piece of this.#pieces.splice(0)) this.#state.written(piece.length);
    const answer = this.#answer;
    this.#answer = undefined;
    await answer?.handle.close();
  }

  async #begin(body: Buffer, isTaken: boolean): Promise<void> {
    const { stored, write } = this.#prepared(isTaken ? body : undefined, body.length);
    this.#record.harness = stored;
    const text = (number: number): string => {
      this.#record.number = number;
      return this.#text();
    };
    await this.#state.shelf.claim(this.#folder, text);
    await write(partFile(this.#folder, this.#record.number, "harness"));
  }

  /** The part of a body that is written to the disk. */
  #prepared(
    body: Buffer | undefined,
    bytes: number,
  ): { stored: StoredBody; write(file: string): Promise<void> } {
    const clean = redactBytes(body ?? Buffer.alloc(0), this.#secrets);
    const kept = clean.bytes.subarray(0, Math.max(0, this.#state.maxBytes - this.#stored));
    this.#stored += kept.length;
    const cut = body === undefined ? TOO_SLOW : kept.length < bytes ? RECORD_TOO_LARGE : undefined;
    return {
      stored: {
        bytes,
        stored: kept.length,
        sha256: createHash("sha256").update(kept).digest("hex"),
        ...(clean.count === 0 ? {} : { redacted: clean.count }),
        ...defined({ cut }),
      },
      write: async (file) => {
        await writeFile(file, kept, { mode: 0o600 });
        await this.#state.shelf.added(kept.length);
      },
    };
  }

  async #writePieces(): Promise<void> {
    const pieces = this.#pieces;
    this.#pieces = [];
    const size = pieces.reduce((sum, piece) => sum + piece.length, 0);
    try {
      this.#answer ??= {
        handle: await open(partFile(this.#folder, this.#record.number, "answer"), "w", 0o600),
        redactor: new Redactor(this.#secrets),
        hash: createHash("sha256"),
        stored: 0,
      };
      await this.#append(this.#answer, this.#answer.redactor.take(Buffer.concat(pieces)));
    } finally {
      this.#state.written(size);
    }
  }

  async #append(answer: Growing, bytes: Buffer): Promise<void> {
    const kept = bytes.subarray(0, Math.max(0, this.#state.maxBytes - this.#stored));
    if (kept.length < bytes.length) this.#answerCut = RECORD_TOO_LARGE;
    if (kept.length === 0) return;
    answer.hash.update(kept);
    answer.stored += kept.length;
    this.#stored += kept.length;
    await answer.handle.writeFile(kept);
    await this.#state.shelf.added(kept.length);
  }

  async #endAnswer(): Promise<void> {
    const answer = this.#answer;
    if (answer) {
      await this.#append(answer, answer.redactor.end());
      await answer.handle.close();
      this.#answer = undefined;
    }
    const about = this.#record.answer;
    if (!about) return;
    about.body = {
      bytes: this.#answerBytes,
      stored: answer?.stored ?? 0,
      sha256: (answer?.hash ?? createHash("sha256")).digest("hex"),
      ...(answer && answer.redactor.count > 0 ? { redacted: answer.redactor.count } : {}),
      ...defined({ cut: this.#answerCut }),
    };
  }

  #text(): string {
    return `${JSON.stringify(this.#record, null, 1)}\n`;
  }

  /** Writes the JSON file again, as a whole. */
  async #save(): Promise<void> {
    this.#isStale = false;
    const file = captureRecordFile(this.#folder, this.#record.number);
    const text = this.#text();
    const temporary = `${file}.${process.pid}.tmp`;
    try {
      await stat(file);
      await writeFile(temporary, text, { mode: 0o600 });
      await rename(temporary, file);
    } catch (error) {
      await this.#leave(error);
    }
  }

  /** Ends the record if its session was deleted meanwhile, with its folder. Rethrows any other error. */
  async #leave(error: unknown): Promise<void> {
    if (!isMissing(error)) throw error;
    this.#isGone = true;
    await this.#state.shelf.release(this.#folder, this.#record.number);
  }
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "ENOENT";
}

/** Whether the parts together equal the whole. */
function sameBytes(whole: Buffer, parts: readonly Buffer[]): boolean {
  let at = 0;
  for (const part of parts) {
    if (at + part.length > whole.length) return false;
    if (part.length > 0 && whole.compare(part, 0, part.length, at, at + part.length) !== 0) return false;
    at += part.length;
  }
  return at === whole.length;
}
