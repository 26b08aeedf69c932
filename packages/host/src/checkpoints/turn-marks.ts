/** Checkpoints at the start and the end of turns, and which conversation's turn made which changes. */
import { processIsAlive } from "@pagurus/core/platform/process-group";
import type { CheckpointStore } from "./checkpoint-store.ts";

export interface TurnStart {
  turnId: string;
  /** The conversation, the same for its subagents. */
  session: string;
  /** Another turn of the conversation runs in the folder, which started this one. */
  isInside: boolean;
  onRead?(bytes: number): void;
}

interface TurnRow {
  turn: string;
  session: string;
  pid: number;
  begun: number | null;
  ended: number | null;
}

const ROW = "turn, session, pid, begun, ended";

/** Keeps the folder as it is before the turn. */
export function beginTurn(store: CheckpointStore, { turnId, session, isInside, onRead }: TurnStart): void {
  // Changes that a subagent finds belong to the turn that started it.
  const { id } = store.take({
    ...(isInside ? { kind: "after", session } : { kind: "now" }),
    ...(onRead && { onRead }),
  });
  store.db.run(
    `INSERT INTO turns (${ROW}) VALUES (?, ?, ?, ?, NULL) ON CONFLICT (turn) DO UPDATE
       SET pid = excluded.pid, ended = NULL`,
    turnId,
    session,
    process.pid,
    id,
  );
}

/** Keeps what the turn changed. `isLate`: it began to change files before its first checkpoint was complete. */
export function endTurn(
  store: CheckpointStore,
  { turnId, isLate }: { turnId: string; isLate: boolean },
): void {
  const row = rowOf(store, turnId);
  if (!row) return;
  const { session, begun } = row;
  const isShared = begun === null || overlaps(store, row, begun);
  // Which of them changed what is unknown, so no restore takes it for one's own.
  const { id } = store.take(isShared ? { kind: "now" } : { kind: "after", session });
  store.db.run("UPDATE turns SET ended = ?, begun = ? WHERE turn = ?", id, isLate ? null : begun, turnId);
}

/** Whether a turn of another conversation ran in the folder since. */
function overlaps(store: CheckpointStore, { session }: TurnRow, begun: number): boolean {
  const others = store.db.all<TurnRow>(
    `SELECT ${ROW} FROM turns WHERE session <> ? AND (ended IS NULL OR ended > ?)`,
    session,
    begun,
  );
  return others.some(({ ended, pid }) => ended !== null || processIsAlive(pid));
}

function rowOf(store: CheckpointStore, turnId: string): TurnRow | undefined {
  return store.db.get<TurnRow>(`SELECT ${ROW} FROM turns WHERE turn = ?`, turnId);
}

/** The checkpoint before the turn; undefined for an unknown turn, null where that checkpoint came too late. */
export function checkpointBefore(store: CheckpointStore, turnId: string): number | null | undefined {
  return rowOf(store, turnId)?.begun;
}
