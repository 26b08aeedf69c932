import type { SessionStore, Successor } from "@pagurus/contract/session/store";
import type { NewEntry } from "@pagurus/contract/session/transcript";
import type { SessionWriter } from "@pagurus/contract/session/writer";

/** The session that a turn or a compaction writes to: a rotating compaction replaces it meanwhile. */
export class LiveSession {
  #writer: SessionWriter;

  constructor(writer: SessionWriter) {
    this.#writer = writer;
  }

  /** The writer of the current generation. Read again after a compaction. */
  get writer(): SessionWriter {
    return this.#writer;
  }

  /** Moves to the successor; if the store throws, the session stays where it was. */
  rotate(store: SessionStore, successor: Successor, carry: readonly NewEntry[]): void {
    this.#writer = store.rotate(this.#writer, successor, carry);
  }

  close(): void {
    this.#writer.close();
  }
}
