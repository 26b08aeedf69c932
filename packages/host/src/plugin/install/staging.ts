/**
 * The install folder, `<home>/plugins`, and its lock. An installation is built in a staging folder and moved as a whole to
 * `<id>/<version>-<stamp>`; it counts once `installs.json` names it. So an interruption at any moment leaves the old one in
 * use, and leftovers are recognized by name and marker and swept by the next command.
 */
import {
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { PagurusError } from "@pagurus/contract/errors";
import { sleep } from "@pagurus/core/platform/deadline";
import { ensurePrivateDir, fsyncDir, writeReason } from "@pagurus/core/platform/atomic-files";
import { IdSource } from "@pagurus/core/platform/ids";
import { processStartTicks } from "@pagurus/core/platform/process-group";
import { INSTALL_MARKER as MARKER, pluginsFolder, type InstallRecord } from "../installs.ts";

const STAGING = ".staging";
const STAMPED = /-[0-9a-z]{16}$/;
const LOCK_WAIT_MS = 30_000;
const LOCK_RETRY_MS = 100;
const SQLITE_BUSY = 5;

/**
 * Runs `work` while no other process installs or removes plugins. The system releases the lock when a process ends, in any way.
 * Throws `plugin_install_failed` when another one holds it for 30 s, `turn_aborted`.
 */
export async function withPluginsLock<T>(
  home: string,
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T> {
  ensurePrivateDir(pluginsFolder(home));
  const lock = join(pluginsFolder(home), ".lock");
  closeSync(openSync(lock, "a", 0o600));
  const db = new DatabaseSync(lock, { timeout: 0 });
  try {
    const until = performance.now() + LOCK_WAIT_MS;
    while (!locked(db)) {
      if (performance.now() > until)
        throw new PagurusError(
          "plugin_install_failed",
          "Another process installs or removes plugins in this home; try again when it has ended.",
        );
      await sleep(LOCK_RETRY_MS, signal);
    }
    return await work();
  } finally {
    db.close();
  }
}

function locked(db: DatabaseSync): boolean {
  try {
    db.exec("BEGIN EXCLUSIVE");
    return true;
  } catch (error) {
    const { errcode } = error as { errcode?: unknown };
    if (typeof errcode === "number" && (errcode & 0xff) === SQLITE_BUSY) return false;
    throw new PagurusError(
      "plugin_install_failed",
      `The plugins folder cannot be locked: ${writeReason(error)}.`,
      { cause: error },
    );
  }
}

const ids = new IdSource();

/** A new staging folder. Throws `store_write_failed`. */
export function makeStaging(home: string): string {
  const folder = join(pluginsFolder(home), STAGING, ids.next());
  ensurePrivateDir(folder);
  writeFileSync(join(folder, MARKER), "{}\n", { mode: 0o600 });
  writeFileSync(join(folder, "package.json"), '{"private":true}\n', { mode: 0o600 });
  return folder;
}

/** Records the child that works in a staging folder, in case this process is killed and the child is not. */
export function noteChild(staging: string, pid: number): void {
  const started = processStartTicks(pid);
  writeFileSync(join(staging, MARKER), `${JSON.stringify({ pid, started })}\n`, { mode: 0o600 });
}

/** Moves a finished staging folder to its final place; returns that place, relative to `<home>/plugins`. */
export function placeStaging(home: string, staging: string, id: string, version: string): string {
  const root = pluginsFolder(home);
  const own = folderName(id);
  const folder = join(own, `${version.replaceAll(/[^\w.+-]/g, "_")}-${ids.next()}`);
  if (existsSync(join(root, own)) && !holdsInstalls(join(root, own)))
    throw new PagurusError(
      "plugin_install_failed",
      `${join(root, own)} is a folder of yours, so the plugin ${id} cannot be installed there; move it away, or link it with pagurus plugins install -l.`,
      { details: { plugin: id } },
    );
  mkdirSync(join(root, own), { recursive: true, mode: 0o700 });
  renameSync(staging, join(root, folder));
  fsyncDir(join(root, own));
  return folder;
}

/** Puts a scope and its name into one folder name; ids have no plus sign. */
function folderName(id: string): string {
  return id.replace("/", "+");
}

/** Whether a folder contains only installations, or nothing. */
function holdsInstalls(folder: string): boolean {
  if (!lstatSync(folder).isDirectory()) return false;
  return readdirSync(folder).every((name) => isInstall(join(folder, name)));
}

function isInstall(folder: string): boolean {
  return (
    STAMPED.test(folder) && lstatSync(join(folder, MARKER), { throwIfNoEntry: false })?.isFile() === true
  );
}

/** Removes leftovers of interrupted commands, and replaced installations. Call it under the lock. */
export function sweep(home: string, records: readonly InstallRecord[]): void {
  const root = pluginsFolder(home);
  const used = new Set(records.map(({ folder }) => folder));
  for (const name of subfolders(join(root, STAGING))) dropStaging(join(root, STAGING, name));
  for (const own of subfolders(root)) {
    if (own === STAGING) continue;
    const installs = subfolders(join(root, own)).filter((name) => isInstall(join(root, own, name)));
    for (const name of installs) if (!used.has(join(own, name))) remove(join(root, own, name));
    if (installs.length > 0) removeIfEmpty(join(root, own));
  }
}

/** Removes a staging folder and ends the process that still works in it. */
export function dropStaging(folder: string): void {
  endChild(folder);
  remove(folder);
}

function subfolders(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
}

/** Removes a folder, its marker last, so that an interrupted removal is swept again. */
function remove(folder: string): void {
  for (const name of readdirSync(folder)) {
    if (name !== MARKER) rmSync(join(folder, name), { recursive: true, force: true });
  }
  rmSync(folder, { recursive: true, force: true });
}

function removeIfEmpty(folder: string): void {
  if (readdirSync(folder).length === 0) rmdirSync(folder);
}

/** Ends the group of a child that outlived its parent; a reused pid is not mistaken for it. */
function endChild(folder: string): void {
  try {
    const { pid, started } = JSON.parse(readFileSync(join(folder, MARKER), "utf8")) as {
      pid?: unknown;
      started?: unknown;
    };
    if (typeof pid !== "number" || pid <= 1 || started === undefined) return;
    if (processStartTicks(pid) === started) process.kill(-pid, "SIGKILL");
  } catch {
    // No child, or one that has ended.
    return;
  }
}
