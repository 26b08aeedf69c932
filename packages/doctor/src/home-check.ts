import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  lstatSync,
  readdirSync,
  statfsSync,
  type Stats,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { writeReason } from "@pagurus/core/platform/atomic-files";
import type { Finding } from "./finding.ts";

/** Folder levels below the home folder that hold our files: agents/<id>/sessions. */
const DEPTH = 3;
const OTHERS = 0o077;

/** Free bytes below which a turn or two can fill the disk. */
const FREE_MIN_BYTES = 10_000_000;

/** Checks that the home folder is writable and private. With `fix`, makes it private. */
export function checkHome(home: string, fix: boolean): Finding[] {
  const stats = lstatSync(home, { throwIfNoEntry: false });
  const disk = checkDisk(home, measureDisk(home));
  if (!stats) {
    if (disk.length > 0) return disk;
    return [
      { level: "info", check: "home", detail: `${home} does not exist yet; the first run creates it.` },
    ];
  }
  return [...disk, ...checkPrivacy(home, fix)];
}

/** Write access and free space of a folder, or of its nearest existing parent. */
export interface DiskState {
  folder: string;
  /** Why it is not writable, if so. */
  refusal?: string;
  freeBytes: number;
}

function measureDisk(path: string): DiskState {
  let folder = resolve(path);
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder);
  const { bavail, bsize } = statfsSync(folder);
  const freeBytes = bavail * bsize;
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    return { folder, freeBytes };
  } catch (error) {
    return { folder, freeBytes, refusal: writeReason(error) };
  }
}

/** Findings about a file system; empty where all is well. */
export function checkDisk(home: string, { folder, refusal, freeBytes }: DiskState): Finding[] {
  const missing = folder === resolve(home) ? "" : ` (${home} does not exist yet)`;
  if (refusal !== undefined) {
    const detail = `${folder} cannot be written${missing}, so no session can continue: ${refusal}.`;
    return [{ level: "error", check: "home", detail, fix: "Make it writable, or set PAGURUS_HOME." }];
  }
  if (freeBytes >= FREE_MIN_BYTES) return [];
  const free = (freeBytes / 1_000_000).toFixed(1);
  const detail = `The disk of ${folder} has ${free} MB left${missing}; a turn that fills it is lost.`;
  return [{ level: "warn", check: "home", detail, fix: "Free some space, or set PAGURUS_HOME." }];
}

function checkPrivacy(home: string, fix: boolean): Finding[] {
  // Windows keeps access rights in lists that file modes do not show.
  if (process.platform === "win32") return [{ level: "ok", check: "home", detail: `${home} exists.` }];
  const files = [...walk(home, 0)];
  const open = files.filter((file) => (file.stats.mode & OTHERS) !== 0);
  const foreign = files.filter((file) => file.stats.uid !== process.getuid?.());
  const findings: Finding[] = [];
  const [first] = open;
  if (first) findings.push(openFinding(first.path, open, fix));
  const [stranger] = foreign;
  if (stranger) {
    findings.push({
      level: "warn",
      check: "home",
      detail: `In the home ${countedFiles(foreign.length)} ${foreign.length === 1 ? "belongs" : "belong"} to another user, ${stranger.path}${amongThem(foreign.length)}.`,
      fix: `Make them yours: chown -R "$(id -un)" ${home}`,
    });
  }
  if (findings.length > 0) return findings;
  return [{ level: "ok", check: "home", detail: `${home} and its files are private to you.` }];
}

interface Found {
  path: string;
  stats: Stats;
}

function openFinding(example: string, open: readonly Found[], fix: boolean): Finding {
  const detail = `Other users of this machine may reach ${countedFiles(open.length)}, ${example}${amongThem(open.length)}`;
  if (!fix) {
    return {
      level: "warn",
      check: "home",
      detail: `${detail}.`,
      fix: "Run pagurus doctor --fix to close them.",
    };
  }
  const failed = open.filter(({ path, stats }) => !close(path, stats));
  if (failed.length === 0) return { level: "ok", check: "home", detail: `${detail}; they are closed now.` };
  return {
    level: "warn",
    check: "home",
    detail: `${detail}; ${failed.length} of them could not be closed.`,
    fix: `Run chmod -R go-rwx on the folder as the owner of the files.`,
  };
}

function countedFiles(count: number): string {
  return count === 1 ? "one file or folder" : `${count} files or folders`;
}

function amongThem(count: number): string {
  return count === 1 ? "" : " among them";
}

function close(path: string, stats: Stats): boolean {
  try {
    chmodSync(path, stats.mode & 0o700);
    return true;
  } catch {
    // Another user's file: the finding reports that it stays open.
    return false;
  }
}

/** Our files and folders. Links are not followed: their targets are not checked. */
function* walk(path: string, depth: number): Generator<Found> {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (!stats || stats.isSymbolicLink()) return;
  yield { path, stats };
  // Plugins are packages with their own files.
  if (!stats.isDirectory() || depth > DEPTH || path.endsWith("/plugins")) return;
  for (const name of readdirSync(path).toSorted()) yield* walk(join(path, name), depth + 1);
}
