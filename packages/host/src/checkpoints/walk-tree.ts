/**
 * Lists a folder with one `lstat` for each entry and reads only files whose inode or change time differ from what is known. Starts no
 * program: git's own commands would run what a nested repository names.
 */
import { createHash } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
} from "node:fs";
import type { Stats } from "node:fs";
import { PagurusError } from "@pagurus/contract/errors";
import { onDisk, toBytes } from "../tool/changes/manifest.ts";
import { systemCode } from "../tool/tool-error.ts";
import { fileLeftOut, folderLeftOut, LARGEST_FILE } from "./left-out.ts";
import type { KnownEntry, LeftOut } from "./tree-entry.ts";

interface WalkOptions {
  /** Absolute, without links. */
  root: string;
  /** Folders that are never entered, such as the home of Pagurus; absolute. */
  closed: readonly string[];
  known(path: string): KnownEntry | undefined;
  /** Called with the bytes of each file that had to be read. */
  keep(hash: string, bytes: Buffer): void;
}

/** Most entries of a tree. A larger one would take seconds at each turn. */
const MOST_ENTRIES = 200_000;
const MOST_LEFT_OUT = 10_000;
/** Age from which change times of two changes differ on every kernel, ms. */
const DISTINCT_MS = 20;
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

interface Walked {
  entries: KnownEntry[];
  leftOut: LeftOut[];
}

export function hashOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

class Walk {
  readonly entries: KnownEntry[] = [];
  readonly leftOut: LeftOut[] = [];
  readonly #options: WalkOptions;
  readonly #root: string;
  readonly #closed: ReadonlySet<string>;
  readonly #device: number;
  readonly #started = Date.now();

  constructor(options: WalkOptions) {
    this.#options = options;
    this.#root = toBytes(options.root === "/" ? "" : options.root);
    this.#closed = new Set(options.closed.map(toBytes));
    this.#device = lstatSync(options.root).dev;
  }

  folder(below: string): void {
    const at = `${this.#root}/${below}`;
    const names = readdirSync(onDisk(below === "" ? this.#root || "/" : at), { encoding: "latin1" });
    for (const name of names) {
      const path = below === "" ? name : `${below}/${name}`;
      try {
        this.#entry(path, name);
      } catch (error) {
        const code = systemCode(error);
        if (code === undefined) throw error;
        // It was removed since the folder was listed.
        if (code !== "ENOENT") this.#omit(path, `unreadable (${code})`);
      }
    }
  }

  #omit(path: string, why: string): void {
    this.leftOut.push({ path, why });
    if (this.leftOut.length > MOST_LEFT_OUT) throw this.#tooLarge();
  }

  #entry(path: string, name: string): void {
    const absolute = `${this.#root}/${path}`;
    const stats = lstatSync(onDisk(absolute));
    if (stats.isDirectory()) return this.#inside(path, name, absolute, stats);
    const isFile = stats.isFile();
    if (!isFile && !stats.isSymbolicLink()) return this.#omit(path, "neither file, folder nor link");
    const why = fileLeftOut(name, stats.size);
    if (why !== undefined) return this.#omit(path, why);
    this.#add(isFile ? this.#file(path, absolute, stats) : this.#link(path, absolute, stats));
  }

  #inside(path: string, name: string, absolute: string, stats: Stats): void {
    if (this.#closed.has(absolute)) return this.#omit(path, "the home of Pagurus");
    const why = stats.dev === this.#device ? folderLeftOut(absolute, name) : "another file system";
    if (why !== undefined) return this.#omit(path, why);
    this.#add({ ...facts(path, "folder", stats), ctime: -1 });
    this.folder(path);
  }

  #add(entry: KnownEntry): void {
    this.entries.push(entry);
    if (this.entries.length > MOST_ENTRIES) throw this.#tooLarge();
  }

  #tooLarge(): PagurusError {
    return new PagurusError(
      "usage_invalid",
      `${this.#options.root} has too many files for checkpoints (over ${MOST_ENTRIES}, or ${MOST_LEFT_OUT} left out); work in a folder below it.`,
    );
  }

  #link(path: string, absolute: string, stats: Stats): KnownEntry {
    const target = readlinkSync(onDisk(absolute), { encoding: "latin1" });
    return { ...facts(path, "link", stats), mode: 0, target };
  }

  #file(path: string, absolute: string, stats: Stats): KnownEntry {
    const known = this.#options.known(path);
    const entry = facts(path, "file", stats);
    if (known?.type === "file" && known.ino === stats.ino && known.ctime === stats.ctimeMs)
      return { ...entry, hash: known.hash };
    const { bytes, after } = readRegular(absolute);
    const hash = hashOf(bytes);
    this.#options.keep(hash, bytes);
    const isDistinct = after.ctimeMs === stats.ctimeMs && after.ctimeMs < this.#started - DISTINCT_MS;
    return { ...entry, size: bytes.length, hash, ctime: isDistinct ? stats.ctimeMs : -1 };
  }
}

function facts(path: string, type: KnownEntry["type"], stats: Stats): KnownEntry {
  const { ino, size, ctimeMs } = stats;
  const isFile = type === "file";
  return {
    path,
    type,
    mode: stats.mode & 0o777,
    size: isFile ? size : 0,
    hash: "",
    target: "",
    ino,
    ctime: ctimeMs,
  };
}

/** Throws the system's errors; `EFBIG` for a file that has grown beyond the limit. */
function readRegular(absolute: string): { bytes: Buffer; after: Stats } {
  const fd = openSync(onDisk(absolute), READ);
  try {
    const before = fstatSync(fd);
    if (!before.isFile()) throw Object.assign(new Error("not a file"), { code: "ENOENT" });
    if (before.size > LARGEST_FILE) throw Object.assign(new Error("too large"), { code: "EFBIG" });
    const bytes = readFileSync(fd);
    return { bytes, after: fstatSync(fd) };
  } finally {
    closeSync(fd);
  }
}

/** Throws the system's errors when the root cannot be read, and `usage_invalid` for a tree that is too large. */
export function walkTree(options: WalkOptions): Walked {
  const walk = new Walk(options);
  walk.folder("");
  return { entries: walk.entries, leftOut: walk.leftOut };
}

/** Facts of a path of single bytes; undefined when nothing is there, or a part of the path is no folder. */
export function statsAt(absolute: string): Stats | undefined {
  try {
    return lstatSync(onDisk(absolute), { throwIfNoEntry: false });
  } catch (error) {
    // A link that leads to itself is no folder either.
    if (["ENOTDIR", "ELOOP"].includes(systemCode(error) ?? "")) return undefined;
    throw error;
  }
}

/** The entry at a path as it is now; undefined when nothing is there that checkpoints keep. */
export function entryAt(root: string, path: string, known?: KnownEntry): KnownEntry | undefined {
  const absolute = `${toBytes(root)}/${path}`;
  const stats = statsAt(absolute);
  if (!stats) return undefined;
  if (stats.isDirectory()) return facts(path, "folder", stats);
  if (stats.isSymbolicLink())
    return {
      ...facts(path, "link", stats),
      mode: 0,
      target: readlinkSync(onDisk(absolute), { encoding: "latin1" }),
    };
  if (known?.type === "file" && known.ino === stats.ino && known.ctime === stats.ctimeMs)
    return { ...facts(path, "file", stats), hash: known.hash };
  return { ...facts(path, "file", stats), hash: hashOf(readRegular(absolute).bytes) };
}
