/**
 * A list of the workspace's folders, and of the places in them that programs start from. Folders are compared by their change time
 * (a name that appears or disappears changes it), places by their own. Paths are texts of single bytes (latin1), since a name
 * need not be valid UTF-8.
 */
import { lstatSync, readdirSync, readlinkSync, realpathSync, type Stats } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { setImmediate as nextRound } from "node:timers/promises";
import { isGitFolder, stepInto, type PlaceKind, type Zone } from "../places/start-places.ts";
import { ENVIRONMENT } from "../places/start-names.ts";
import { pathsInHook, pathsInSettings } from "../places/git-settings.ts";
import { systemCode } from "../tool-error.ts";
import { scriptsNamedIn } from "../places/started-scripts.ts";
import { readPlace } from "./place-content.ts";

/** An existing place: a file, a link or anything else but a folder. */
export interface Placed {
  kind: PlaceKind;
  type: "file" | "link" | "other";
  ino: number;
  ctimeMs: number;
  size: number;
  mode: number;
  uid: number;
  gid: number;
  /** Target of a link. */
  link?: string | undefined;
  /** Absent for a file that is too large to keep, or unreadable. */
  content?: Buffer | undefined;
  /** Paths that it names or links to. */
  leads: readonly { path: string; kind: PlaceKind }[];
  /** It is a place only since another place names this path: its own, or that of a folder above. */
  namedAs?: string | undefined;
}

export interface Folder {
  ino: number;
  /** NaN: so new that a later change may have the same time. */
  ctimeMs: number;
  zone: Zone;
  /** The zone by the rule of the folder above. */
  given: Zone;
  /** A git folder, whose own rules apply besides those of its zone. */
  isGit: boolean;
  names: readonly string[];
  /** Whole paths, since they are compared at each look. */
  folders: readonly { path: string; zone: Zone }[];
  places: readonly { path: string; kind: PlaceKind }[];
}

export interface Manifest {
  /** By path, outer ones first. */
  folders: Map<string, Folder>;
  placed: Map<string, Placed>;
  /** Paths that places name or link to, existing or not. */
  named: ReadonlySet<string>;
  gitFolders: readonly string[];
  /** Folders of programs that decided the zones. */
  programs: ReadonlySet<string>;
  /** Folders that cannot be listed. */
  unread: Map<string, { ino: number; ctimeMs: number }>;
  /** Set when there are more folders or places than the limits: the list is incomplete. */
  full: boolean;
}

export interface ManifestOptions {
  /** Absolute, without links. */
  root: string;
  /** Places that commands cannot reach, such as the home of Pagurus; absolute. */
  closed: readonly string[];
  /** Folders of `PATH`, absolute. */
  programs: readonly string[];
  /** Texts of settings of git outside of the workspace. */
  settings: readonly string[];
  /** Files in the workspace that settings of other programs outside of it name; absolute. */
  named?: readonly string[] | undefined;
  limits?: Limits | undefined;
}

export interface Limits {
  folders: number;
  places: number;
  /** Bytes of content that are kept. */
  bytes: number;
}

export const LIMITS: Limits = { folders: 200_000, places: 50_000, bytes: 64 * 1024 * 1024 };
/** Longest hook, in characters, whose words are read. */
const LONGEST_HOOK = 64 * 1024;
/** A change this long after the look may have the same time, ms. */
const COARSE_MS = 20;
/** Time before other work of the process gets its turn, ms. */
const SLICE_MS = 10;

export function toBytes(path: string): string {
  return Buffer.from(path, "utf8").toString("latin1");
}

export function onDisk(path: string): Buffer {
  return Buffer.from(path, "latin1");
}

export function forPerson(path: string): string {
  return Buffer.from(path, "latin1").toString("utf8");
}

/** As `onDisk`, but a path of ASCII as it is, which the system's calls take faster. */
function forSystem(path: string): string | Buffer {
  // eslint-disable-next-line no-control-regex
  return /^[\x00-\x7f]*$/.test(path) ? path : onDisk(path);
}

const LISTING = { encoding: "latin1", withFileTypes: true } as const;
const QUIET = { throwIfNoEntry: false } as const;

/** `unreadable`: something may exist, for example with too long a path. */
function statOf(path: string): Stats | "absent" | "unreadable" {
  try {
    return lstatSync(forSystem(path), QUIET) ?? "absent";
  } catch (error) {
    return systemCode(error) === "ENOTDIR" ? "absent" : "unreadable";
  }
}

/** Names of the folders of programs, by the folder that they are in. */
function byFolder(programs: ReadonlySet<string>): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>();
  for (const path of programs) {
    const folder = dirname(path);
    found.set(folder, (found.get(folder) ?? new Set()).add(basename(path)));
  }
  return found;
}

function isEqual(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  return one.size === other.size && [...one].every((each) => other.has(each));
}

const NO_NAMES: ReadonlySet<string> = new Set();

function isWithin(root: string, path: string): boolean {
  return path === root || path.startsWith(root === "/" ? "/" : `${root}/`);
}

class Look {
  readonly #options: ManifestOptions;
  readonly #before: Manifest | undefined;
  readonly #limits: Limits;
  readonly #root: string;
  readonly #closed: ReadonlySet<string>;
  readonly #programs: ReadonlySet<string>;
  readonly #programNames: ReadonlyMap<string, ReadonlySet<string>>;
  readonly #started = Date.now();
  #bytes = 0;
  #gitFolders: string[] = [];
  /** Paths that settings, hooks or links name. */
  readonly #named = new Map<string, PlaceKind>();
  readonly #found: Manifest;

  constructor(options: ManifestOptions, before: Manifest | undefined) {
    this.#options = options;
    this.#limits = options.limits ?? LIMITS;
    this.#root = toBytes(options.root);
    this.#closed = new Set(options.closed.map(toBytes));
    this.#programs = new Set(options.programs.map(toBytes));
    this.#programNames = byFolder(this.#programs);
    this.#before = before && isEqual(before.programs, this.#programs) ? before : undefined;
    this.#found = {
      folders: new Map(),
      placed: new Map(),
      named: new Set(),
      gitFolders: [],
      programs: this.#programs,
      unread: new Map(),
      full: false,
    };
  }

  async all(): Promise<Manifest> {
    await this.#walk([{ path: this.#root, zone: "project" }]);
    for (const text of this.#options.settings)
      for (const { path, kind } of this.#insideOf(pathsInSettings(text), [this.#root]))
        this.#named.set(path, kind);
    for (const path of this.#options.named ?? []) this.#named.set(toBytes(path), "program");
    const seen = new Set<string>();
    // A named place may be a link that names another one.
    for (const [path, kind] of this.#named) {
      if (seen.has(path) || this.#found.full) continue;
      seen.add(path);
      this.#placeTree(path, kind, path);
    }
    return { ...this.#found, named: seen, gitFolders: this.#gitFolders };
  }

  /** Adds the folders below those of the queue to it. */
  async #walk(queue: { path: string; zone: Zone }[]): Promise<void> {
    let sliceEnds = performance.now() + SLICE_MS;
    for (let at = 0; at < queue.length; at += 1) {
      const next = queue[at];
      if (!next || this.#closed.has(next.path)) continue;
      if (
        this.#found.folders.size >= this.#limits.folders ||
        this.#found.placed.size >= this.#limits.places
      ) {
        this.#found.full = true;
        return;
      }
      const folder = this.#folder(next.path, next.zone);
      if (!folder) continue;
      for (const inner of folder.folders) queue.push(inner);
      if (performance.now() < sliceEnds) continue;
      await nextRound();
      sliceEnds = performance.now() + SLICE_MS;
    }
  }

  /** `programs`: names of the folders of programs in this one. */
  #step(
    folder: Pick<Folder, "zone" | "isGit" | "names">,
    name: string,
    programs: ReadonlySet<string>,
  ): { zone: Zone; kind?: PlaceKind | undefined } {
    if (programs.has(name) || this.#isEnvironmentBin(folder, name))
      return { zone: "programs", kind: "program" };
    const step = stepInto(folder.zone, name);
    if (!folder.isGit || folder.zone === "git" || step.kind !== undefined) return step;
    const inGit = stepInto("git", name);
    return inGit.kind === undefined ? step : { ...inGit, zone: name === "hooks" ? "hooks" : step.zone };
  }

  /** `bin` of a Python environment whose folder has an ordinary name. */
  #isEnvironmentBin({ zone, names }: Pick<Folder, "zone" | "names">, name: string): boolean {
    return zone === "project" && (name === "bin" || name === "Scripts") && names.includes("pyvenv.cfg");
  }

  #zoneOf(path: string, zone: Zone, names: readonly string[]): Zone {
    if (this.#programs.has(path)) return "programs";
    if (zone === "git-modules" && names.includes("HEAD")) return "git";
    const name = path.slice(path.lastIndexOf("/") + 1);
    return zone === "project" && names.includes("pyvenv.cfg") && ENVIRONMENT.test(name)
      ? "environment"
      : zone;
  }

  #folder(path: string, zone: Zone): Folder | undefined {
    if (zone === "closed") return undefined;
    const stat = statOf(path);
    if (stat === "unreadable") this.#unread(path, undefined);
    if (typeof stat === "string" || !stat.isDirectory()) return undefined;
    const old = this.#before?.folders.get(path);
    const folder =
      old && old.given === zone && old.ino === stat.ino && old.ctimeMs === stat.ctimeMs
        ? old
        : this.#list(path, zone, stat);
    if (!folder) return undefined;
    this.#found.folders.set(path, folder);
    if (folder.isGit) this.#gitFolders.push(path);
    for (const place of folder.places) this.#place(place.path, place.kind);
    return folder;
  }

  #unread(path: string, stat: Stats | undefined): void {
    this.#found.unread.set(path, { ino: stat?.ino ?? 0, ctimeMs: stat?.ctimeMs ?? 0 });
  }

  #list(path: string, given: Zone, stat: Stats): Folder | undefined {
    let entries;
    try {
      entries = readdirSync(forSystem(path), LISTING);
    } catch {
      this.#unread(path, stat);
      return undefined;
    }
    const names = entries.map(({ name }) => name);
    const zone = this.#zoneOf(path, given, names);
    const isRecent = stat.ctimeMs > this.#started - COARSE_MS;
    const isGit = zone === "git" || isGitFolder(names);
    const programs = this.#programNames.get(path) ?? NO_NAMES;
    const folders: { path: string; zone: Zone }[] = [];
    const places: { path: string; kind: PlaceKind }[] = [];
    const known = { zone, isGit, names };
    for (const entry of entries) {
      const step = this.#step(known, entry.name, programs);
      if (entry.isDirectory()) folders.push({ path: `${path}/${entry.name}`, zone: step.zone });
      else if (step.kind !== undefined) places.push({ path: `${path}/${entry.name}`, kind: step.kind });
    }
    const ctimeMs = isRecent ? Number.NaN : stat.ctimeMs;
    return { ino: stat.ino, ctimeMs, zone, given, isGit, names, folders, places };
  }

  #place(path: string, kind: PlaceKind, namedAs?: string): void {
    if (this.#found.placed.has(path) || this.#closed.has(path)) return;
    const stat = statOf(path);
    if (typeof stat === "string" || stat.isDirectory()) return;
    const known = this.#placedOf(path, kind, stat);
    const placed = known.namedAs === namedAs ? known : { ...known, namedAs };
    this.#found.placed.set(path, placed);
    for (const lead of placed.leads) if (!this.#named.has(lead.path)) this.#named.set(lead.path, lead.kind);
  }

  #placedOf(path: string, kind: PlaceKind, stat: Stats): Placed {
    const old = this.#before?.placed.get(path);
    const isSame =
      old &&
      old.kind === kind &&
      old.ino === stat.ino &&
      old.ctimeMs === stat.ctimeMs &&
      old.size === stat.size;
    if (isSame && stat.ctimeMs <= this.#started - COARSE_MS) {
      this.#bytes += old.content?.length ?? 0;
      return old;
    }
    const { ino, ctimeMs, size, mode, uid, gid } = stat;
    const type = stat.isFile() ? "file" : stat.isSymbolicLink() ? "link" : "other";
    const placed: Placed = { kind, type, ino, ctimeMs, size, mode, uid, gid, leads: [] };
    if (type === "link") placed.link = linkOf(path);
    if (type === "file" && this.#bytes + size <= this.#limits.bytes) placed.content = readPlace(path);
    this.#bytes += placed.content?.length ?? 0;
    return { ...placed, leads: this.#leadsOf(path, placed) };
  }

  /** The paths in the workspace that a place leads to. */
  #leadsOf(path: string, { kind, type, link, content }: Placed): { path: string; kind: PlaceKind }[] {
    const folder = dirname(path);
    if (type === "link" && link !== undefined) {
      const target = resolve(folder, link);
      return this.#inside([target, realOf(target)], kind === "git-entry" ? "git-hook" : kind);
    }
    // Settings name paths from the folder of the repository's files, hooks are run in it.
    const bases = [this.#root, folder, dirname(folder)];
    const text = content?.toString("latin1") ?? "";
    if (kind === "git-settings") return this.#insideOf(pathsInSettings(text), bases);
    if (kind === "settings" && text.length <= LONGEST_HOOK)
      return this.#scriptsOf(scriptsNamedIn(path, text), bases);
    return kind === "git-hook" && text.length <= LONGEST_HOOK
      ? this.#insideOf(pathsInHook(text), [this.#root, dirname(dirname(folder))])
      : [];
  }

  /** Files that settings start; a folder is named to work in it. */
  #scriptsOf(written: readonly string[], bases: readonly string[]): { path: string; kind: PlaceKind }[] {
    const paths = written.flatMap((path) => bases.map((base) => resolve(base, path)));
    return this.#inside(paths, "settings").filter(({ path }) => {
      const stat = statOf(path);
      return typeof stat === "string" || !stat.isDirectory();
    });
  }

  #insideOf(written: readonly string[], bases: readonly string[]): { path: string; kind: PlaceKind }[] {
    return this.#inside(
      written.flatMap((path) => bases.map((base) => resolve(base, path))),
      "git-hook",
    );
  }

  #inside(paths: readonly string[], kind: PlaceKind): { path: string; kind: PlaceKind }[] {
    return [...new Set(paths)]
      .filter((path) => path !== this.#root && isWithin(this.#root, path))
      .map((path) => ({ path, kind }));
  }

  #placeTree(path: string, kind: PlaceKind, namedAs: string): void {
    const stat = statOf(path);
    if (typeof stat === "string" || this.#closed.has(path) || this.#found.full) return;
    if (!stat.isDirectory()) return this.#place(path, kind, namedAs);
    const folder = this.#found.folders.get(path) ?? this.#list(path, "start", stat);
    // A git folder has rules of its own.
    if (!folder || folder.zone === "git") return;
    for (const name of folder.names) this.#place(`${path}/${name}`, kind, namedAs);
    for (const inner of folder.folders) this.#placeTree(inner.path, kind, namedAs);
    if (this.#found.placed.size >= this.#limits.places) this.#found.full = true;
  }
}

function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(onDisk(path), { encoding: "latin1" });
  } catch {
    // It has just been replaced.
    return undefined;
  }
}

function realOf(path: string): string {
  try {
    return realpathSync.native(onDisk(path), { encoding: "latin1" });
  } catch {
    // Its end does not exist.
    return path;
  }
}

/** Looks at the workspace; what has not changed since `before` is taken from it. Never throws. */
export function lookAt(options: ManifestOptions, before?: Manifest): Promise<Manifest> {
  return new Look(options, before).all();
}
