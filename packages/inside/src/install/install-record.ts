/** Record of the changes of `pagurus install`, with copies of the original files. */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { attempt } from "@pagurus/core/data/attempt";
import { filledString, listOf, parseRecord, recordOf, recordsOf } from "@pagurus/core/data/record-fields";
import { ensurePrivateDir, writeFileAtomic } from "@pagurus/core/platform/atomic-files";
import type { FileChange, ProgramInstall } from "./program-install.ts";

export interface RecordedFile {
  path: string;
  /** Name of the copy of the file as it was; absent for a new file. */
  copy?: string;
  /** Permissions of the file as it was. */
  mode?: number;
  /** Digest of the text that the installation wrote. */
  written: string;
}

export interface RecordedProgram {
  /** ISO 8601. */
  installedAt: string;
  /** Version of Pagurus. */
  version: string;
  files: RecordedFile[];
  /** Folders that the installation made, the outermost first. */
  folders: string[];
}

function recordFile(home: string): string {
  return join(home, "inside", "installed.json");
}

function copyFile(home: string, copy: string): string {
  return join(home, "inside", "copies", copy);
}

function digestOf(bytes: Uint8Array | string): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** The installed programs by id. */
export function installedPrograms(home: string): Map<string, RecordedProgram> {
  const read = attempt(() => parseRecord(readFileSync(recordFile(home), "utf8")));
  return new Map(
    Object.entries(read ?? {}).map(([id, value]): [string, RecordedProgram] => {
      const program = recordOf(value);
      const files = recordsOf(program["files"]).map((file): RecordedFile => {
        const copy = filledString(file["copy"]);
        const mode = file["mode"];
        return {
          path: filledString(file["path"]) ?? "",
          written: filledString(file["written"]) ?? "",
          ...(copy === undefined ? {} : { copy }),
          ...(typeof mode === "number" ? { mode } : {}),
        };
      });
      const installedAt = filledString(program["installedAt"]) ?? "";
      const version = filledString(program["version"]) ?? "";
      return [id, { installedAt, version, files, folders: listOf(program["folders"]).map(String) }];
    }),
  );
}

function writeRecord(home: string, all: ReadonlyMap<string, RecordedProgram>): void {
  if (all.size === 0) return rmSync(recordFile(home), { force: true });
  ensurePrivateDir(join(home, "inside"));
  writeFileAtomic(recordFile(home), `${JSON.stringify(Object.fromEntries(all), undefined, 2)}\n`);
  return undefined;
}

/** Folders above a path that do not exist, the outermost first. */
function missingFolders(path: string): string[] {
  const missing: string[] = [];
  for (let folder = dirname(path); !existsSync(folder); folder = dirname(folder)) missing.unshift(folder);
  return missing;
}

/**
 * Writes the changes of one program. The copies and the record are on the disk before the first change, so that an interrupted
 * installation can be taken back too. Throws the system's errors.
 */
export function install(home: string, id: string, version: string, changes: readonly FileChange[]): void {
  const all = installedPrograms(home);
  const former = all.get(id);
  const folders = new Set(former?.folders);
  const files = changes.map(({ path, text }): RecordedFile => {
    for (const folder of missingFolders(path)) folders.add(folder);
    const written = digestOf(text);
    const known = former?.files.find((file) => file.path === path);
    // An installation over an earlier one keeps the copy of the file as it was before both.
    if (known) return { ...known, written };
    if (!existsSync(path)) return { path, written };
    const bytes = readFileSync(path);
    const copy = `${id}-${digestOf(path).slice(0, 16)}`;
    ensurePrivateDir(join(home, "inside", "copies"));
    writeFileAtomic(copyFile(home, copy), bytes);
    return { path, copy, mode: statSync(path).mode & 0o7777, written };
  });
  const kept = new Set(files.map(({ path }) => path));
  const gone = former?.files.filter(({ path }) => !kept.has(path)) ?? [];
  const installedAt = new Date().toISOString();
  all.set(id, { installedAt, version, files: [...files, ...gone], folders: [...folders].toSorted() });
  writeRecord(home, all);
  for (const { path, text } of changes) {
    mkdirSync(dirname(path), { recursive: true });
    const mode = files.find((file) => file.path === path)?.mode;
    writeFileSync(path, text, mode === undefined ? {} : { mode });
  }
}

export interface TakenBack {
  path: string;
  /** `kept`: the user has changed it since, and it is left as it is. */
  how: "restored" | "removed" | "edited" | "kept" | "gone";
}

/** Takes an installation back: files as they were, byte for byte, except for what the user has changed since. */
export function uninstall(home: string, id: string, withdraw: ProgramInstall["withdraw"]): TakenBack[] {
  const all = installedPrograms(home);
  const program = all.get(id);
  if (!program) return [];
  const done = program.files.map((file) => ({ path: file.path, how: takeBack(home, file, withdraw) }));
  for (const folder of program.folders.toReversed())
    // A folder with files of the user stays.
    attempt(() => rmdirSync(folder));
  all.delete(id);
  writeRecord(home, all);
  for (const { copy } of program.files) if (copy !== undefined) rmSync(copyFile(home, copy), { force: true });
  return done;
}

function takeBack(
  home: string,
  { path, copy, mode, written }: RecordedFile,
  withdraw: ProgramInstall["withdraw"],
): TakenBack["how"] {
  const now = attempt(() => readFileSync(path));
  if (!now) return "gone";
  const isUnchanged = digestOf(now) === written;
  if (copy === undefined) {
    if (!isUnchanged) return "kept";
    rmSync(path);
    return "removed";
  }
  if (isUnchanged) {
    writeFileSync(path, readFileSync(copyFile(home, copy)), mode === undefined ? {} : { mode });
    return "restored";
  }
  const text = withdraw?.(path, now.toString("utf8"));
  if (text === undefined) return "kept";
  writeFileSync(path, text);
  return "edited";
}

/** Files of an installation that are not as it wrote them: another program's update, the user, a deletion. */
export function brokenFiles(home: string, id: string): string[] {
  const files = installedPrograms(home).get(id)?.files ?? [];
  return files.flatMap(({ path, written }) => {
    const now = attempt(() => readFileSync(path));
    return now && digestOf(now) === written ? [] : [path];
  });
}
