/** Reads the context of a session from its path: from the newest compaction's first kept entry on. */
import type { AgentMessage } from "@pagurus/contract/message";
import { renderSummary } from "@pagurus/contract/engine/summary";
import type {
  CompactionEntry,
  TranscriptCursor,
  TranscriptEntry,
} from "@pagurus/contract/session/transcript";

interface PathContext {
  /** As from `SessionWriter.contextMessages`: a summary first, or right after a split turn's input. */
  messages: AgentMessage[];
  /** Index of the live turn's first message; `messages.length` when there is none. */
  liveStart: number;
  /** Entry ids of messages that no user wrote (fragments, notices). */
  fragments: Set<string>;
}

/** Whether an entry has the id, or supersedes the entry with that id. */
function is(entry: TranscriptEntry, id: string): boolean {
  return entry.id === id || (entry.type === "message" && entry.supersedes === id);
}

function messageOf(entry: TranscriptEntry): AgentMessage | undefined {
  if (entry.type === "message") return { ...entry.message, entryId: entry.id };
  if (entry.type !== "custom_message") return undefined;
  return { role: "user", content: entry.content, entryId: entry.id };
}

interface Tail {
  compaction?: CompactionEntry;
  /** Oldest first. */
  entries: TranscriptEntry[];
}

/** Reads backward, no further than the newest compaction needs. */
async function readTail(cursor: TranscriptCursor): Promise<Tail> {
  const entries: TranscriptEntry[] = [];
  let compaction: CompactionEntry | undefined;
  let sinceCompaction = 0;
  for await (const entry of cursor.backward()) {
    if (entry.type !== "compaction") entries.push(entry);
    else if (!compaction) {
      compaction = entry;
      sinceCompaction = entries.length;
    }
    if (!compaction || !is(entry, compaction.firstKeptEntryId)) continue;
    return { compaction, entries: entries.reverse() };
  }
  if (!compaction) return { entries: entries.reverse() };
  // The first kept entry is not on the path: the summary replaces everything before the compaction.
  return { compaction, entries: entries.slice(0, sinceCompaction).reverse() };
}

/** Messages of the active path that a model would see, each with `entryId`. Throws what the cursor throws. */
export async function contextFromPath(cursor: TranscriptCursor, liveTurnId?: string): Promise<PathContext> {
  const { compaction, entries } = await readTail(cursor);
  const context: PathContext = { messages: [], liveStart: -1, fragments: new Set() };
  const push = (entry: TranscriptEntry): void => {
    const message = messageOf(entry);
    if (!message) return;
    const live = entry.type === "message" && liveTurnId !== undefined && entry.turnId === liveTurnId;
    if (live && context.liveStart < 0) context.liveStart = context.messages.length;
    if (entry.type === "custom_message") context.fragments.add(entry.id);
    context.messages.push(message);
  };
  if (compaction) {
    const input =
      compaction.splitTurnInputId === undefined ? undefined : await cursor.get(compaction.splitTurnInputId);
    // An input that is kept anyway is not repeated.
    if (input && !entries.some((entry) => is(entry, input.id))) push(input);
    context.messages.push({
      role: "user",
      content: renderSummary(compaction.summary),
      entryId: compaction.id,
    });
  }
  for (const entry of entries) push(entry);
  if (context.liveStart < 0) context.liveStart = context.messages.length;
  return context;
}
