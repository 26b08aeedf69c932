import type { TranscriptEntry } from "../../packages/contract/src/session/transcript.ts";

type Who = "user" | "assistant";

/** Entries of a session, each the child of the one before. */
export class Entries {
  readonly all: TranscriptEntry[] = [];
  #count = 0;

  #base(turnId: string | undefined): {
    id: string;
    parentId: string | null;
    timestamp: string;
    turnId?: string;
  } {
    const parentId = this.all.at(-1)?.id ?? null;
    return {
      id: `e${++this.#count}`,
      parentId,
      timestamp: "2026-01-02T03:04:05.000Z",
      ...(turnId === undefined ? {} : { turnId }),
    };
  }

  say(role: Who, text: string, turnId?: string): this {
    const message =
      role === "user" ? { role, content: text } : { role, content: [{ type: "text" as const, text }] };
    this.all.push({ ...this.#base(turnId), type: "message", message });
    return this;
  }
  fragment(text: string, turnId?: string): this {
    this.all.push({ ...this.#base(turnId), type: "custom_message", customType: "note", content: text });
    return this;
  }
  compaction(summary: string): this {
    this.all.push({
      ...this.#base(undefined),
      type: "compaction",
      summary,
      firstKeptEntryId: "e1",
      tokensBefore: 9000,
      tokensAfter: 1000,
      origin: "extractive",
    });
    return this;
  }
  commit(turnId: string, outcome: "completed" | "interrupted" | "failed" = "completed"): this {
    this.all.push({ ...this.#base(turnId), turnId, type: "turn_commit", outcome });
    return this;
  }
  rewind(targetId: string | null): this {
    this.all.push({ ...this.#base(undefined), type: "rewind", targetId });
    return this;
  }
}
