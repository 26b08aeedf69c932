/**
 * Captures requests as they pass. Calls never wait for the disk and never throw: files are written in the background, and what the
 * disk cannot keep up with is left out with a note. The first failure ends the capturing, not the request.
 */
import { attempt } from "@pagurus/core/data/attempt";
import type { Logger } from "@pagurus/core/platform/log";
import { writeReason } from "@pagurus/core/platform/atomic-files";
import { OpenRecord } from "./open-record.ts";
import type { CaptureFacts } from "./capture-record.ts";
import type { CapturedRequest, CaptureState } from "./captured-request.ts";
import type { CaptureSettings } from "./capture-settings.ts";
import { Shelf } from "./capture-shelf.ts";

export type { CaptureFacts } from "./capture-record.ts";
export type { CapturedRequest } from "./captured-request.ts";

export interface CaptureLogOptions extends CaptureSettings {
  home: string;
  logger: Pick<Logger, "warn">;
  /** Called once, when a failure has ended the capturing. */
  onStopped?(sentence: string): void;
}

/** Maximum bytes that wait for the disk, of all requests together. */
const MOST_WAITING = 64 * 1024 ** 2;

const NOTHING: CapturedRequest = {
  sent: () => undefined,
  answered: () => undefined,
  chunk: () => undefined,
  end: () => undefined,
};

export class CaptureLog {
  readonly #options: CaptureLogOptions;
  readonly #state: CaptureState;
  readonly #work = new Set<Promise<void>>();
  readonly #open = new Set<OpenRecord>();
  #waiting = 0;
  #isStopped = false;

  constructor(options: CaptureLogOptions) {
    this.#options = options;
    const isStopped = (): boolean => this.#isStopped;
    this.#state = {
      home: options.home,
      maxBytes: options.maxBytes,
      shelf: new Shelf(options.home, options),
      get isStopped() {
        return isStopped();
      },
      reserve: (bytes) => this.#reserve(bytes),
      written: (bytes) => void (this.#waiting -= bytes),
      stop: (error) => this.#stop(error),
    };
  }

  begin(facts: CaptureFacts): CapturedRequest {
    if (this.#isStopped) return NOTHING;
    try {
      const record = new OpenRecord(this.#state, facts, (work) => this.#follow(work));
      this.#open.add(record);
      return guardedRecord(record, this.#state, () => this.#open.delete(record));
    } catch (error) {
      this.#stop(error);
      return NOTHING;
    }
  }

  /** Resolves when everything captured so far is on the disk, or never will be. */
  async settled(): Promise<void> {
    while (this.#work.size > 0) await Promise.all(this.#work);
  }

  #follow(work: Promise<void>): void {
    const followed = work
      .catch((error: unknown) => this.#stop(error))
      .finally(() => void this.#work.delete(followed));
    this.#work.add(followed);
  }

  #reserve(bytes: number): boolean {
    // A single body larger than the limit is accepted when nothing else waits.
    if (this.#waiting > 0 && this.#waiting + bytes > MOST_WAITING) return false;
    this.#waiting += bytes;
    return true;
  }

  #stop(error: unknown): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    for (const record of this.#open) record.abandon();
    this.#open.clear();
    const sentence = `Model requests are no longer captured: ${writeReason(error)}.`;
    const { code } = (error ?? {}) as { code?: unknown };
    // A fault of the log or the callback must not reach the request.
    attempt(() => {
      this.#options.logger.warn(sentence, typeof code === "string" ? { code } : {});
      this.#options.onStopped?.(sentence);
    });
  }
}

/** Wraps a record so that a defect of ours does not reach the request either. */
function guardedRecord(record: CapturedRequest, state: CaptureState, onEnd: () => void): CapturedRequest {
  const guard =
    <A extends unknown[]>(call: (...args: A) => void) =>
    (...args: A): void => {
      if (state.isStopped) return;
      try {
        call(...args);
      } catch (error) {
        state.stop(error);
      }
    };
  return {
    sent: guard((upstream, body, note) => record.sent(upstream, body, note)),
    answered: guard((head) => record.answered(head)),
    chunk: guard((bytes) => record.chunk(bytes)),
    end: guard((outcome) => {
      onEnd();
      record.end(outcome);
    }),
  };
}
