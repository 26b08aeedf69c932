/**
 * The end of a long session whose entries the store does not have: its newest epoch from the log, and the entries from the first kept one on.
 * A host that takes a session over answers from these, while the rest is stored in the background.
 */
import type { AgentMessage } from "@pagurus/contract/message";
import type { TranscriptCursor, TranscriptEntry } from "@pagurus/contract/session/transcript";
import type { Epoch, Volatile } from "../epoch.ts";
import { logRecords, type StateRecord } from "./log-record.ts";
import { defined } from "@pagurus/core/data/defined";

/** Entries of a path up to which all of it is stored first. */
const SHORT = 4_000;
/** Limit on the entries after the head that are read without a store. */
const MOST_TAIL = 20_000;

export interface Tail {
  epoch: Epoch;
  /** From the first kept entry on, oldest first. */
  entries: TranscriptEntry[];
  /** Input of the turn that the cut splits. */
  input: AgentMessage | undefined;
  state: Pick<StateRecord, "drops" | "declined"> & { keys: string[]; volatile: Volatile[] };
}

/** Undefined where the path is short, or where its end alone does not decide the context. Throws as the cursor. */
export async function tailOf(cursor: TranscriptCursor, sessionId: string): Promise<Tail | undefined> {
  const { epoch, state, added } = await newestRecord(cursor, sessionId);
  if (!epoch || epoch.madeAt < SHORT) return undefined;
  const entries = await entriesFrom(cursor, epoch);
  if (!entries) return undefined;
  const { splitInputId } = epoch;
  const isSplit = splitInputId !== undefined && !entries.some(({ id }) => id === splitInputId);
  const input = isSplit ? await cursor.get(splitInputId) : undefined;
  const { volatile = [], drops, declined } = state ?? {};
  return {
    epoch,
    entries,
    input: input?.type === "message" ? input.message : undefined,
    state: {
      keys: [],
      volatile: volatile.flatMap((id) => added.get(id) ?? []),
      ...defined({ drops, declined }),
    },
  };
}

/** The newest epoch, and the newest state with its messages. */
async function newestRecord(
  cursor: TranscriptCursor,
  sessionId: string,
): Promise<{ epoch: Epoch | undefined; state: StateRecord | undefined; added: Map<string, Volatile> }> {
  let epoch: Epoch | null | undefined;
  let state: StateRecord | undefined;
  const added = new Map<string, Volatile>();
  for await (const record of logRecords(cursor, sessionId)) {
    if (epoch === undefined && record.epoch !== undefined) epoch = record.epoch?.epoch ?? null;
    state ??= record.state;
    for (const [id, volatile] of Object.entries(record.state?.added ?? {})) added.set(id, volatile);
    if (epoch !== undefined && state?.volatile.every((id) => added.has(id)) === true) break;
  }
  return { epoch: epoch ?? undefined, state, added };
}

/** Undefined where the epoch's first kept entry is not on the path, or a rewrite or another program's compaction follows it. */
async function entriesFrom(cursor: TranscriptCursor, epoch: Epoch): Promise<TranscriptEntry[] | undefined> {
  const entries: TranscriptEntry[] = [];
  for await (const entry of cursor.backward()) {
    entries.push(entry);
    const isForeign = entry.type === "compaction" && entry.summary !== epoch.head;
    const isRewrite = entry.type === "message" && entry.supersedes !== undefined;
    if (isForeign || isRewrite || entries.length > MOST_TAIL) return undefined;
    if (entry.id === epoch.firstKeptEntryId) return entries.reverse();
  }
  return undefined;
}
