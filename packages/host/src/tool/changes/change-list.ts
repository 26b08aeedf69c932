/** What differs between two looks at a workspace, for an undo of files. */
import { forPerson, type Manifest } from "./manifest.ts";

export interface Change {
  /** Absolute. */
  path: string;
  /** `entries`: names in this folder were made, removed or replaced; `content`: a place has other bytes or another mode. */
  change: "added" | "removed" | "entries" | "content";
}

/**
 * The differences, sorted by path: names that appeared or disappeared, folders whose entries changed, places with other content. A
 * change of bytes in an existing ordinary file is not among them: an undo has to compare the files of a turn itself.
 */
export function changeList(before: Manifest, after: Manifest): Change[] {
  const found = new Map<string, Change["change"]>();
  for (const [path, now] of after.folders) {
    const old = before.folders.get(path);
    if (old === now) continue;
    const [had, has] = [new Set(old?.names), new Set(now.names)];
    if (old) found.set(path, "entries");
    for (const name of has) if (!had.has(name)) found.set(`${path}/${name}`, "added");
    for (const name of had) if (!has.has(name)) found.set(`${path}/${name}`, "removed");
  }
  for (const [path, now] of after.placed) {
    const old = before.placed.get(path);
    if (old && (old.ino !== now.ino || old.ctimeMs !== now.ctimeMs)) found.set(path, "content");
  }
  return [...found]
    .map(([path, change]) => ({ path: forPerson(path), change }))
    .toSorted((a, b) => (a.path < b.path ? -1 : 1));
}
