/**
 * Reads a session by its name, for engines that query the host instead of a file. Hosts offer their sessions here; the helpers
 * of `sdk.ts` query every host of the process, since their calls name no host.
 */
import type { AgentMessage } from "@pagurus/contract/message";
import type { TranscriptEntry } from "@pagurus/contract/session/transcript";
import { foreignMessage, type ForeignMessage } from "./foreign-messages.ts";

/** A session, identified by what an engine knows of it; `sessionId` takes precedence over `sessionKey`. */
export interface TranscriptTarget {
  sessionId?: string | undefined;
  sessionKey?: string | undefined;
  agentId?: string | undefined;
  /** `SessionTarget.storePath`: distinguishes two hosts of one process. */
  storePath?: string | undefined;
}

/** Entries of the active path, root to leaf; undefined where the host has no such session. */
export type TranscriptSource = (target: TranscriptTarget) => AsyncIterable<TranscriptEntry> | undefined;

/** A message of the active path. Shape of OpenClaw's `SessionTranscriptMessageEntry`. */
export interface VisibleMessageEntry {
  entryId: string;
  /** The previous message on the path; null for the first. */
  parentId: string | null;
  /** 1 for the first message of the path. */
  seq: number;
  message: ForeignMessage;
  role: AgentMessage["role"];
  /** ISO 8601. */
  createdAt?: string;
}

// Stored on the process instead of this module: TypeScript plugins and their own copies of the package read it, too.
const KEY = Symbol.for("pagurus.transcripts/1");

function sources(): Set<TranscriptSource> {
  const holder = globalThis as { [KEY]?: Set<TranscriptSource> };
  return (holder[KEY] ??= new Set());
}

/** Offers a host's sessions until the returned function is called. */
export function offerTranscripts(source: TranscriptSource): () => void {
  sources().add(source);
  return () => sources().delete(source);
}

/** Whether a host of the process has the session. */
export function isSessionThere(target: TranscriptTarget): boolean {
  return [...sources()].some((source) => source(target) !== undefined);
}

/** The messages of a session's active path, oldest first; undefined where no host of the process has the session. */
export async function visibleMessages(target: TranscriptTarget): Promise<VisibleMessageEntry[] | undefined> {
  for (const source of sources()) {
    const entries = source(target);
    if (entries) return await visibleIn(entries);
  }
  return undefined;
}

/**
 * Counts of a session's active path; undefined where no host of the process has the session. `compactedCount`: messages that a summary
 * replaces; absent if the engine keeps its own summaries.
 */
export async function compactedMessages(
  target: TranscriptTarget,
): Promise<{ messageCount: number; compactedCount?: number } | undefined> {
  for (const source of sources()) {
    const entries = source(target);
    if (!entries) continue;
    const ids: string[] = [];
    let firstKept: string | undefined;
    for await (const entry of entries) {
      if (entry.type === "message") ids.push(entry.id);
      if (entry.type === "compaction") firstKept = entry.firstKeptEntryId;
    }
    const compactedCount = firstKept === undefined ? -1 : ids.indexOf(firstKept);
    return { messageCount: ids.length, ...(compactedCount < 0 ? {} : { compactedCount }) };
  }
  return undefined;
}

async function visibleIn(entries: AsyncIterable<TranscriptEntry>): Promise<VisibleMessageEntry[]> {
  const found: VisibleMessageEntry[] = [];
  for await (const entry of entries) {
    if (entry.type !== "message") continue;
    const { id, message, timestamp } = entry;
    found.push({
      entryId: id,
      parentId: found.at(-1)?.entryId ?? null,
      seq: found.length + 1,
      message: { ...foreignMessage(message), entryId: id },
      role: message.role,
      createdAt: timestamp,
    });
  }
  return found;
}
