/** Jobs of the checkpoint thread on one folder. Requests and replies can be structured-cloned. */
import type { FileRewind } from "@pagurus/contract/host/checkpoints";
import type { CheckpointStore } from "./checkpoint-store.ts";
import { restoreText } from "./checkpoint-text.ts";
import { prune, type PruneLimits } from "./prune.ts";
import { finishInterrupted } from "./restore.ts";
import { rewindFiles, type RewindOrder } from "./rewind-files.ts";
import { beginTurn, endTurn, type TurnStart } from "./turn-marks.ts";

export type CheckpointWork =
  | ({ name: "begin" } & Omit<TurnStart, "onRead">)
  | { name: "end"; turnId: string; isLate: boolean; limits: PruneLimits }
  | ({ name: "rewind" } & RewindOrder);

export interface CheckpointResult {
  /** Sentences about a restore that was interrupted and is finished now. */
  finished?: string;
  rewind?: FileRewind;
}

/** A walk that has read more than this takes long. */
const MANY_FILES = 2_000;
const MANY_BYTES = 64 * 1024 * 1024;

/** `onLong`: called once when it will take long. Throws as `CheckpointStore`. */
export function doWork(store: CheckpointStore, work: CheckpointWork, onLong: () => void): CheckpointResult {
  const texts = finishInterrupted(store).map(restoreText);
  const finished = texts.length === 0 ? {} : { finished: texts.join("\n") };
  if (work.name === "rewind") return { ...finished, rewind: rewindFiles(store, work) };
  if (work.name === "end") {
    endTurn(store, work);
    prune(store, work.limits);
  } else {
    let [files, bytes, isLong] = [0, 0, false];
    const onRead = (size: number): void => {
      files += 1;
      bytes += size;
      if (isLong || (files < MANY_FILES && bytes < MANY_BYTES)) return;
      isLong = true;
      onLong();
    };
    beginTurn(store, { ...work, onRead });
  }
  return finished;
}
