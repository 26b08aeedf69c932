/** The suite's own transcript: entries in memory, read through a cursor, and kept as JSON lines in a file. */
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { AgentMessage } from "@pagurus/contract/message";
import { renderSummary } from "@pagurus/contract/engine/summary";
import type {
  CompactionEntry,
  NewEntry,
  TranscriptCursor,
  TranscriptEntry,
} from "@pagurus/contract/session/transcript";
import { TRANSCRIPT_VERSION } from "@pagurus/contract/version";

/** Entries have the same times in every run. */
const START_MS = Date.UTC(2026, 0, 1);
const ENTRY_STEP_MS = 1_000;

export class StageTranscript implements TranscriptCursor {
  readonly entries: TranscriptEntry[] = [];
  readonly sessionId: string;
  /** A classic transcript: a header, then one entry per line; current after every `append`. */
  readonly file: string;

  readonly #newId: () => string;

  /** Without `newId` the entries are numbered. */
  constructor(sessionId: string, file: string, newId?: () => string) {
    this.sessionId = sessionId;
    this.#newId = newId ?? (() => `entry${String(this.entries.length + 1).padStart(5, "0")}`);
    this.file = file;
    mkdirSync(dirname(file), { recursive: true });
    const timestamp = new Date(START_MS).toISOString();
    const header = {
      type: "session",
      version: TRANSCRIPT_VERSION,
      id: sessionId,
      timestamp,
      cwd: dirname(file),
    };
    writeFileSync(file, `${JSON.stringify(header)}\n`);
  }

  append(entry: NewEntry): TranscriptEntry {
    const count = this.entries.length + 1;
    const time = START_MS + count * ENTRY_STEP_MS;
    const made = {
      ...structuredClone(entry),
      id: this.#newId(),
      parentId: this.entries.at(-1)?.id ?? null,
      timestamp: new Date(time).toISOString(),
    } as TranscriptEntry;
    if (made.type === "message") made.message = { ...made.message, timestamp: time };
    this.entries.push(made);
    appendFileSync(this.file, `${JSON.stringify(made)}\n`);
    return made;
  }

  /** Adopts unchanged entries, for a session that continues from a successor's file. */
  adopt(entries: readonly TranscriptEntry[]): void {
    for (const entry of entries) {
      this.entries.push(structuredClone(entry));
      appendFileSync(this.file, `${JSON.stringify(entry)}\n`);
    }
  }

  async *forward(afterId?: string): AsyncIterable<TranscriptEntry> {
    const start = afterId === undefined ? 0 : this.entries.findIndex(({ id }) => id === afterId) + 1;
    for (const entry of this.entries.slice(start)) yield structuredClone(entry);
  }

  async *backward(beforeId?: string): AsyncIterable<TranscriptEntry> {
    const end =
      beforeId === undefined ? this.entries.length : this.entries.findIndex(({ id }) => id === beforeId);
    for (const entry of this.entries.slice(0, Math.max(0, end)).reverse()) yield structuredClone(entry);
  }

  async get(id: string): Promise<TranscriptEntry | undefined> {
    return structuredClone(this.entries.find((entry) => entry.id === id));
  }

  /** Messages of the turn, each with its entry's id. */
  turnMessages(turnId: string): AgentMessage[] {
    return this.entries.flatMap((entry) =>
      entry.type === "message" && entry.turnId === turnId ? [withId(entry.message, entry.id)] : [],
    );
  }

  /** Messages that a model would see of the path before the turn `liveTurnId`: from the newest compaction on. */
  context(liveTurnId?: string): AgentMessage[] {
    const at = this.entries.findLastIndex(({ type }) => type === "compaction");
    const compaction = this.entries[at] as CompactionEntry | undefined;
    const kept = compaction ? this.entries.findIndex(({ id }) => id === compaction.firstKeptEntryId) : 0;
    const messages = (kept < 0 ? [] : this.entries.slice(kept)).flatMap((entry) =>
      entry.type === "message" && (liveTurnId === undefined || entry.turnId !== liveTurnId)
        ? [withId(entry.message, entry.id)]
        : [],
    );
    if (!compaction) return messages;
    const content = renderSummary(compaction.summary);
    return [{ role: "user", content, entryId: compaction.id }, ...messages];
  }
}

function withId(message: AgentMessage, entryId: string): AgentMessage {
  return { ...structuredClone(message), entryId };
}
