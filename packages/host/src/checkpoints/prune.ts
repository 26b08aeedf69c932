/** Removes old checkpoints of a folder, by age and size. The newest ones stay, whatever they take. */
import type { CheckpointStore } from "./checkpoint-store.ts";

export interface PruneLimits {
  maxBytes: number;
  keepDays: number;
}

/** Checkpoints that always stay, so that the last turns can be undone. */
const LEAST_KEPT = 10;
const DAY_MS = 24 * 60 * 60 * 1000;
/** Free bytes in the file that return to the disk, when they are also a quarter of it. */
const LEAST_FREED = 4 * 1024 * 1024;

/** Throws the database's errors; then everything is as before. */
export function prune(store: CheckpointStore, { maxBytes, keepDays }: PruneLimits, now = Date.now()): void {
  const until = new Date(now - keepDays * DAY_MS).toISOString();
  const ids = (): number[] =>
    store.db.all<{ id: number }>("SELECT id FROM checkpoints ORDER BY id").map(({ id }) => id);
  let all = ids();
  const old = store.db.get<{ count: number }>(
    "SELECT count(*) AS count FROM checkpoints WHERE at < ?",
    until,
  );
  if (old && old.count > 0) all = dropBefore(store, all, old.count);
  while (all.length > LEAST_KEPT && usedBytes(store) > maxBytes) {
    const left = dropBefore(store, all, Math.ceil(all.length / 4));
    if (left.length === all.length) break;
    all = left;
  }
  const free = pragma(store, "freelist_count") * pragma(store, "page_size");
  if (free > LEAST_FREED && free > fileBytes(store) / 4) store.db.run("VACUUM");
}

/** Removes the first `count` checkpoints, except those that must stay; returns the ids that are left. */
function dropBefore(store: CheckpointStore, ids: readonly number[], count: number): number[] {
  const { db } = store;
  return db.transaction(() => {
    const open = db.get<{ id: number | null }>(
      "SELECT min(min(from_id, to_id)) AS id FROM restores WHERE state = 'running'",
    );
    const most = Math.max(0, ids.length - LEAST_KEPT);
    const wanted = ids[Math.min(count, most)] ?? 0;
    const first = Math.min(wanted, open?.id ?? Infinity);
    if (first <= (ids[0] ?? 0)) return [...ids];
    const leftOut = JSON.stringify(store.leftOutAt(first));
    db.run("UPDATE checkpoints SET left_out = ? WHERE id = ? AND left_out IS NULL", leftOut, first);
    const hashes = db.all<{ hash: string }>(
      "SELECT DISTINCT hash FROM entries WHERE died <= ? AND hash <> ''",
      first,
    );
    db.run("DELETE FROM entries WHERE died <= ?", first);
    for (const { hash } of hashes)
      db.run(
        "DELETE FROM objects WHERE hash = ?1 AND NOT EXISTS (SELECT 1 FROM entries WHERE hash = ?1)",
        hash,
      );
    db.run("DELETE FROM checkpoints WHERE id < ?", first);
    db.run("DELETE FROM turns WHERE begun < ?1 OR (begun IS NULL AND ended < ?1)", first);
    db.run("DELETE FROM restores WHERE min(from_id, to_id) < ?", first);
    return ids.filter((id) => id >= first);
  });
}

function usedBytes(store: CheckpointStore): number {
  return fileBytes(store) - pragma(store, "freelist_count") * pragma(store, "page_size");
}

function fileBytes(store: CheckpointStore): number {
  return pragma(store, "page_count") * pragma(store, "page_size");
}

function pragma(store: CheckpointStore, name: "freelist_count" | "page_count" | "page_size"): number {
  return store.db.get<Record<string, number>>(`PRAGMA ${name}`)?.[name] ?? 0;
}
