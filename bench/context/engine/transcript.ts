/** A transcript in memory for a replayed session, and a file of the same lines. */
import { appendFileSync, writeFileSync } from "node:fs";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import type {
  CompactionEntry,
  TranscriptCursor,
  TranscriptEntry,
  TurnCommitEntry,
} from "../../../packages/contract/src/session/transcript.ts";
import { TRANSCRIPT_VERSION } from "../../../packages/contract/src/version.ts";

type Unplaced<T> = Omit<T, "id" | "parentId" | "timestamp">;

export class ReplayTranscript implements TranscriptCursor {
  readonly file: string;
  readonly #entries: TranscriptEntry[] = [];
  readonly #at = new Map<string, number>();
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
    const before = this.#entries.slice(0, at).filter((entry) => entry.type === "message");
    return { rawSeq: at + 1, parent: before.at(-1)?.id ?? null, position: before.length };
  }
}
