/** One file, folder or link of a tree, as a checkpoint keeps it. */
interface TreeEntry {
  /** Below the root, with `/`; a text of single bytes (latin1), since names on disk need not be UTF-8. */
  path: string;
  type: "file" | "folder" | "link";
  /** Permission bits; 0 for a link, which has none of its own. */
  mode: number;
  size: number;
  /** SHA-256 of a file's bytes as lower-case hexadecimal digits; empty for others. */
  hash: string;
  /** Target of a link, as single bytes; empty for others. */
  target: string;
}

/** An entry with the facts that show later whether it changed, without reading it. */
export interface KnownEntry extends TreeEntry {
  ino: number;
  /** Time of the last change of the inode, ms; -1 when the entry changed too recently to be recognized by it. */
  ctime: number;
}

/** A path that checkpoints leave out, and why, for example `{ path: "node_modules", why: "dependencies" }`. */
export interface LeftOut {
  /** As `TreeEntry.path`. */
  path: string;
  why: string;
}

export function isSameEntry(a: TreeEntry | undefined, b: TreeEntry | undefined): boolean {
  if (!a || !b) return a === b;
  return a.type === b.type && a.mode === b.mode && a.hash === b.hash && a.target === b.target;
}
