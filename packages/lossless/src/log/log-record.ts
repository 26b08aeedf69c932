/**
 * The engine's entries in a session's log: what cost a model call or was decided by a person, and what else decides the bytes of the next
 * context. One entry has all that was owed at its time; the newest of each kind counts, pins by their messages.
 */
import type { CompactionEntry, CustomEntry, TranscriptCursor } from "@pagurus/contract/session/transcript";
import { hashOf, type Volatile } from "../epoch.ts";
import { ENGINE_ID, isOfLog } from "./log-entry.ts";
import { readNodes, readRecord, type EpochRecord, type RecordEntry } from "../epoch-record.ts";
import type { NewNode } from "../store/store-types.ts";
import { defined } from "@pagurus/core/data/defined";

export const LOG_VERSION = 1;

/** A pin, or that a message has none any more. */
export interface PinRecord {
  entryId: string;
  /** Time of the pin, ms since the epoch; null for a message that is not pinned any more. */
  pinnedAt: number | null;
  note?: string;
}

/** Messages without an entry, and what else is kept beside them. */
export interface StateRecord {
  /** All of them by their ids, in order. */
  volatile: string[];
  /** Those that no earlier entry has. */
  added: Record<string, Volatile>;
  drops?: { epoch: string; count: number };
  declined?: string;
}

export interface LogRecord {
  version: typeof LOG_VERSION;
  /** As in a compaction; null where the whole path is shown again. */
  epoch?: RecordEntry | null;
  nodes?: Omit<NewNode, "sessionId">[];
  pins?: PinRecord[];
  state?: StateRecord;
}

/** What one entry says. `epoch` is null where it ends the last one without another. */
export interface ReadRecord {
  entryId: string;
  epoch?: EpochRecord | null;
  nodes: NewNode[];
  pins: readonly PinRecord[];
  state?: StateRecord;
}

export function volatileId(volatile: Volatile): string {
  return hashOf("volatile", JSON.stringify(volatile));
}

/** The records of a session, newest first; those of the path only where the host has no others. Throws as the cursor. */
export async function* logRecords(cursor: TranscriptCursor, sessionId: string): AsyncGenerator<ReadRecord> {
  for await (const entry of cursor.ofEngine?.(ENGINE_ID) ?? cursor.backward())
    if (isOfLog(entry)) yield read(entry as CustomEntry | CompactionEntry, sessionId);
}

function read(entry: CustomEntry | CompactionEntry, sessionId: string): ReadRecord {
  if (entry.type === "compaction") {
    const epoch = readRecord(entry, sessionId);
    return { entryId: entry.id, nodes: epoch?.nodes ?? [], pins: [], ...defined({ epoch }) };
  }
  const record = (entry.data ?? {}) as Partial<LogRecord>;
  // A later version's entry is not understood; what it says is made again.
  if (record.version !== LOG_VERSION) return { entryId: entry.id, nodes: [], pins: [] };
  const { epoch: written, nodes = [], pins = [], state } = record;
  const epoch = written ? readRecord(written, sessionId) : written;
  return {
    entryId: entry.id,
    ...defined({ epoch }),
    nodes: [...readNodes(nodes, sessionId), ...(epoch?.nodes ?? [])],
    pins: pins.filter(({ entryId }) => typeof entryId === "string"),
    ...defined({ state }),
  };
}
