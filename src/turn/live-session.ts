import type { SessionStore, Successor } from "../contract/store.ts";
import type { NewEntry } from "../contract/transcript.ts";
import type { SessionWriter } from "../contract/writer.ts";

/** The session that a turn or a compaction writes to: a rotating compaction replaces it while they go on. */
export class LiveSession {
  #writer: SessionWriter;

  constructor(writer: SessionWriter) {
    this.#writer = writer;
  }

  /** The writer of the current generation. Ask anew after a compaction. */
  get writer(): SessionWriter {
    return this.#writer;
  }

  /** Moves to the successor; what the store throws leaves the session where it was. */
  rotate(store: SessionStore, successor: Successor, carry: readonly NewEntry[]): void {
    this.#writer = store.rotate(this.#writer, successor, carry);
  }

  close(): void {
    this.#writer.close();
  }
}
