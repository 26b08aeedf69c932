/** A transcript in memory for a replayed session, and a file of the same lines. */
import { appendFileSync, writeFileSync } from "node:fs";
import type { AgentMessage } from "@pagurus/contract/message";
import type {
  CompactionEntry,
  TranscriptCursor,
  TranscriptEntry,
  TurnCommitEntry,
} from "@pagurus/contract/session/transcript";
import { TRANSCRIPT_VERSION } from "@pagurus/contract/version";

type Unplaced<T> = Omit<T, "id" | "parentId" | "timestamp">;

export class ReplayTranscript implements TranscriptCursor {
  readonly file: string;
  readonly #entries: TranscriptEntry[] = [];
  readonly #at = new Map<string, number>();
  /** By entry: the number of messages before it, and the newest of them. */
  readonly #before: { position: number; parent: string | null }[] = [];
  #messages = 0;
  #newest: string | null = null;
  #message = "";
  #others = 0;

  constructor(sessionId: string, file: string) {
    this.file = file;
    const timestamp = new Date(0).toISOString();
    const header = { type: "session", version: TRANSCRIPT_VERSION, id: sessionId, timestamp, cwd: "/" };
    writeFileSync(file, `${JSON.stringify(header)}\n`);
  }

  message(turnId: string, message: AgentMessage): void {
    this.#message = message.entryId ?? "";
    this.#append({ type: "message", turnId, message }, this.#message, message.timestamp);
  }

  commit(entry: Unplaced<TurnCommitEntry>): void {
    this.#append(entry, this.#nextId());
  }

  compaction(entry: Unplaced<CompactionEntry>): void {
    this.#append(entry, this.#nextId());
  }

  /** Entries between messages sort after the message before them. */
  #nextId(): string {
    return `${this.#message}x${String(++this.#others).padStart(5, "0")}`;
  }

  #append(entry: object, id: string, time = 0): void {
    const parentId = this.#entries.at(-1)?.id ?? null;
    const made = { ...entry, id, parentId, timestamp: new Date(time).toISOString() } as TranscriptEntry;
    this.#at.set(id, this.#entries.length);
    this.#before.push({ position: this.#messages, parent: this.#newest });
    if (made.type === "message") {
      this.#messages++;
      this.#newest = id;
    }
    this.#entries.push(made);
    appendFileSync(this.file, `${JSON.stringify(made)}\n`);
  }

  async *forward(afterId?: string): AsyncIterable<TranscriptEntry> {
    const start = afterId === undefined ? 0 : (this.#at.get(afterId) ?? this.#entries.length) + 1;
    for (const entry of this.#entries.slice(start)) yield entry;
  }

  async *backward(beforeId?: string): AsyncIterable<TranscriptEntry> {
    const end = beforeId === undefined ? this.#entries.length : (this.#at.get(beforeId) ?? 0);
    for (let index = end - 1; index >= 0; index--) {
      const entry = this.#entries[index];
      if (entry) yield entry;
    }
  }

  async get(id: string): Promise<TranscriptEntry | undefined> {
    return this.#entries[this.#at.get(id) ?? -1];
  }

  /** 1-based line among the entries, and the message before it. */
  place(id: string): { rawSeq: number; parent: string | null; position: number } {
    const at = this.#at.get(id) ?? 0;
    return { rawSeq: at + 1, ...(this.#before[at] ?? { position: 0, parent: null }) };
  }
}
