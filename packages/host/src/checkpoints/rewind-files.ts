import { filesUnchanged, type FileRewind, type FileRewindRequest } from "@pagurus/contract/host/checkpoints";
import type { CheckpointStore } from "./checkpoint-store.ts";
import { changeLine, diffLines } from "./checkpoint-text.ts";
import { planRestore, restore } from "./restore.ts";
import { checkpointBefore } from "./turn-marks.ts";

export interface RewindOrder extends Pick<FileRewindRequest, "to" | "overwrite" | "preview"> {
  /** The conversation, as of `TurnStart`. */
  session: string;
}

/** Most files whose changed lines a preview has. */
const MOST_SHOWN = 50;

/** Brings the files back, or shows it. Throws `entry_not_found`, `store_*`. */
export function rewindFiles(store: CheckpointStore, order: RewindOrder): FileRewind {
  const { to, session, overwrite = false, preview = false } = order;
  const target = "checkpoint" in to ? to.checkpoint : checkpointBefore(store, to.turnId);
  if (target === undefined) return filesUnchanged("there is no checkpoint from before this turn");
  if (target === null)
    return filesUnchanged("the turn began to change files before the folder's first checkpoint was complete");
  const plan = planRestore(store, target, { overwrite, session });
  const changes = plan.changes.map(changeLine);
  if (preview) {
    const shown = plan.changes.slice(0, MOST_SHOWN).flatMap((change) => diffLines(store, change));
    const more = plan.changes.length - MOST_SHOWN;
    const diff = more > 0 ? [...shown, `… and ${more} more files`] : shown;
    return { changes, files: [], kept: plan.kept, diff };
  }
  const { restored, kept, from } = restore(store, plan);
  return { ...(restored.length > 0 && { undo: from }), changes, files: restored, kept };
}
