/**
 * Captures requests as they pass. Nothing here waits for the disk or throws: the calls take note, files are written behind
 * them, and what the disk cannot follow is left out with a note. The first failure ends the capturing, not the request.
 */
import type { Logger } from "../../../platform/log.ts";
import { writeReason } from "../../../platform/files.ts";
import { OpenRecord } from "./open-record.ts";
import type { CaptureFacts } from "./record.ts";
import type { CapturedRequest, CaptureRoom } from "./room.ts";
import type { CaptureSettings } from "./settings.ts";
import { Shelf } from "./shelf.ts";

export type { CaptureFacts } from "./record.ts";
export type { CapturedRequest } from "./room.ts";

export interface CaptureLogOptions extends CaptureSettings {
  home: string;
  logger: Pick<Logger, "warn">;
  /** Told once, when capturing has ended by a failure. */
  onStopped?(sentence: string): void;
}

/** Bytes that may wait for the disk, of all requests together. */
const MOST_WAITING = 64 * 1024 ** 2;

const NOTHING: CapturedRequest = {
  sent: () => undefined,
  answered: () => undefined,
  chunk: () => undefined,
  end: () => undefined,
};

export class CaptureLog {
  readonly #options: CaptureLogOptions;
  readonly #room: CaptureRoom;
  readonly #work = new Set<Promise<void>>();
  readonly #open = new Set<OpenRecord>();
  #waiting = 0;
  #isStopped = false;

  constructor(options: CaptureLogOptions) {
    this.#options = options;
    const isStopped = (): boolean => this.#isStopped;
    this.#room = {
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
      const record = new OpenRecord(this.#room, facts, (work) => this.#follow(work));
      this.#open.add(record);
      return guarded(record, this.#room, () => this.#open.delete(record));
    } catch (error) {
      this.#stop(error);
      return NOTHING;
    }
  }

  /** Resolves when all that was told so far is on the disk, or never will be. */
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
    // One body larger than the bound is let through when nothing else waits.
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
    try {
      const { code } = (error ?? {}) as { code?: unknown };
      this.#options.logger.warn(sentence, typeof code === "string" ? { code } : {});
      this.#options.onStopped?.(sentence);
    } catch {
      // Whoever is told has a fault of their own; the request must not hear of it.
    }
  }
}

/** A defect of ours must not reach the request either. */
function guarded(record: CapturedRequest, room: CaptureRoom, onEnd: () => void): CapturedRequest {
  const guard =
    <A extends unknown[]>(call: (...given: A) => void) =>
    (...given: A): void => {
      if (room.isStopped) return;
      try {
        call(...given);
      } catch (error) {
        room.stop(error);
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
