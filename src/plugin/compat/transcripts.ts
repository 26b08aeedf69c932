/**
 * Reading a session by its name, for engines that ask the host instead of a file. A host offers its sessions here;
 * the helpers of `sdk.ts` ask every host of the process, since a call of theirs names no host.
 */
import type { AgentMessage } from "../../contract/message.ts";
import type { TranscriptEntry } from "../../contract/transcript.ts";

/** A session, by what an engine knows of it; `sessionId` says more than `sessionKey`. */
export interface TranscriptTarget {
  sessionId?: string | undefined;
  sessionKey?: string | undefined;
  agentId?: string | undefined;
  /** `SessionTarget.storePath`: tells two hosts of one process apart. */
  storePath?: string | undefined;
}

/** Entries of the active path, root to leaf; undefined where the host has no such session. */
export type TranscriptSource = (target: TranscriptTarget) => AsyncIterable<TranscriptEntry> | undefined;

/** A message of the active path. Shape of OpenClaw's `SessionTranscriptMessageEntry`. */
export interface VisibleMessageEntry {
  entryId: string;
  /** The message before it on the path; null for the first. */
  parentId: string | null;
  /** 1 for the first message of the path. */
  seq: number;
  message: AgentMessage;
  role: AgentMessage["role"];
  /** ISO 8601. */
  createdAt?: string;
}

// On the process and not in this module: TypeScript plugins and their own copies of the package ask here, too.
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
    if (entries) return await messagesOf(entries);
  }
  return undefined;
}

async function messagesOf(entries: AsyncIterable<TranscriptEntry>): Promise<VisibleMessageEntry[]> {
  const found: VisibleMessageEntry[] = [];
  for await (const entry of entries) {
    if (entry.type !== "message") continue;
    const { id, message, timestamp } = entry;
    found.push({
      entryId: id,
      parentId: found.at(-1)?.entryId ?? null,
      seq: found.length + 1,
      message: { ...message, entryId: id },
      role: message.role,
      createdAt: timestamp,
    });
  }
  return found;
}
