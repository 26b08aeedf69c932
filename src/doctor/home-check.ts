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
import { writeReason } from "../platform/files.ts";
import type { Finding } from "./finding.ts";

/** Levels of folders below the home folder that hold files of ours: agents/<id>/sessions. */
const DEPTH = 3;
const OTHERS = 0o077;

/** Below this a turn or two can fill the disk. */
const FREE_MIN_BYTES = 10_000_000;

/** Whether the home folder can be written, and is the user's alone. With `fix`, makes it private. */
export function checkHome(home: string, fix: boolean): Finding[] {
  const stats = lstatSync(home, { throwIfNoEntry: false });
  const room = checkRoom(home, measureRoom(home));
  if (!stats) {
    if (room.length > 0) return room;
    return [{ level: "info", check: "home", detail: `${home} does not exist yet; the first run makes it.` }];
  }
  return [...room, ...checkPrivacy(home, fix)];
}

/** What the file system under a folder allows, at the folder itself or the nearest one above it that is there. */
export interface Room {
  folder: string;
  /** Why it cannot be written, if so. */
  refusal?: string;
  freeBytes: number;
}

function measureRoom(path: string): Room {
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

/** Nothing when there is nothing to say. */
export function checkRoom(home: string, { folder, refusal, freeBytes }: Room): Finding[] {
  const missing = folder === resolve(home) ? "" : ` (${home} is not there yet)`;
  if (refusal !== undefined) {
    const detail = `${folder} cannot be written${missing}, so no session can go on: ${refusal}.`;
    return [{ level: "error", check: "home", detail, fix: "Make it writable, or set PAGURUS_HOME." }];
  }
  if (freeBytes >= FREE_MIN_BYTES) return [];
  const free = (freeBytes / 1_000_000).toFixed(1);
  const detail = `The disk of ${folder} has ${free} MB left${missing}; a turn that fills it is lost.`;
  return [{ level: "warn", check: "home", detail, fix: "Free some space, or set PAGURUS_HOME." }];
}

function checkPrivacy(home: string, fix: boolean): Finding[] {
  // Windows keeps access in lists that file modes do not show.
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
      detail: `${foreign.length} files or folders belong to another user, ${stranger.path} among them.`,
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
  const detail = `Other users of this machine may reach ${open.length} files or folders, ${example} among them`;
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

function close(path: string, stats: Stats): boolean {
  try {
    chmodSync(path, stats.mode & 0o700);
    return true;
  } catch {
    // Somebody else's file: the finding says that it stays open.
    return false;
  }
}

/** Files and folders of ours. Links are not followed: what they lead to is not ours to judge. */
function* walk(path: string, depth: number): Generator<Found> {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (!stats || stats.isSymbolicLink()) return;
  yield { path, stats };
  // Plugins are packages with files of their own.
  if (!stats.isDirectory() || depth > DEPTH || path.endsWith("/plugins")) return;
  for (const name of readdirSync(path).toSorted()) yield* walk(join(path, name), depth + 1);
}
