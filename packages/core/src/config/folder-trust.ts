/**
 * Which folders the user trusts. Until a folder is trusted, nothing in it decides an address, a program, a hook or a permission. One
 * record for each answer, in `<home>/trust/`, and the patterns of `trust.folders`.
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { PagurusError } from "@pagurus/contract/errors";
import { attempt } from "../data/attempt.ts";
import { recordOf } from "../data/record-fields.ts";
import { ensurePrivateDir, writeFileAtomic } from "../platform/atomic-files.ts";
import { isRepository, repositoryRoot } from "../platform/repository.ts";
import { expandPath } from "./config-paths.ts";
import { realPath } from "../platform/real-path.ts";

/** The user's answer about one folder. */
export interface TrustRecord {
  /** Real path of a repository's root, or of a folder outside of any repository. */
  folder: string;
  trusted: boolean;
  /** ISO 8601. */
  at: string;
}

export interface TrustOptions {
  home: string;
  /** `trust.folders` of the configuration, for example `~/work/*`. */
  folders?: readonly string[] | undefined;
  /** `--trust`: every folder of this run. */
  all?: boolean | undefined;
}

function recordFolder(home: string): string {
  return join(home, "trust");
}

function trustRecordFile(home: string, folder: string): string {
  return join(recordFolder(home), `${createHash("sha256").update(folder).digest("hex").slice(0, 32)}.json`);
}

/** The folder that a record is for: the root of the repository, else the folder itself. Throws the system's error for a missing one. */
export function trustKey(cwd: string): string {
  const real = realpathSync.native(cwd);
  return repositoryRoot(real) ?? real;
}

/** Undefined for a missing or damaged record: not trusted. */
function readTrustRecord(file: string): TrustRecord | undefined {
  const value = attempt(() => recordOf(JSON.parse(readFileSync(file, "utf8")) as unknown));
  if (!value) return undefined;
  const { folder, trusted, at } = value;
  if (typeof folder !== "string" || typeof trusted !== "boolean" || typeof at !== "string") return undefined;
  return { folder, trusted, at };
}

/** All records, by folder. */
export function trustRecords(home: string): TrustRecord[] {
  const names = attempt(() => readdirSync(recordFolder(home))) ?? [];
  return names
    .filter((name) => name.endsWith(".json"))
    .flatMap((name) => readTrustRecord(join(recordFolder(home), name)) ?? [])
    .toSorted((one, other) => (one.folder < other.folder ? -1 : 1));
}

/** Stores the answer about the folder that `cwd` is part of; returns that folder. Throws `store_write_failed`, `usage_invalid`. */
export function recordTrust(home: string, cwd: string, trusted: boolean): string {
  const folder = existingKey(cwd);
  ensurePrivateDir(recordFolder(home));
  const record: TrustRecord = { folder, trusted, at: new Date().toISOString() };
  writeFileAtomic(trustRecordFile(home, folder), `${JSON.stringify(record)}\n`);
  return folder;
}

/** Forgets the answer; returns the folder, or undefined if there was none. Also for a folder that is gone. */
export function forgetTrust(home: string, cwd: string): string | undefined {
  const folder = attempt(() => trustKey(cwd)) ?? cwd;
  const file = trustRecordFile(home, folder);
  if (readTrustRecord(file) === undefined) return undefined;
  rmSync(file, { force: true });
  return folder;
}

function existingKey(cwd: string): string {
  try {
    return trustKey(cwd);
  } catch (error) {
    throw new PagurusError("usage_invalid", `The folder "${cwd}" does not exist; name an existing one.`, {
      cause: error,
    });
  }
}

function slashed(path: string): string {
  return path.split(sep).join("/");
}

function literal(text: string): string {
  return text.replaceAll(/[^\w]/g, (character) => `\\u{${character.codePointAt(0)?.toString(16) ?? ""}}`);
}

/** `*` matches one name, `**` any number of them. The part before the first is resolved like a folder. */
function patternOf(pattern: string): RegExp {
  const expanded = expandPath(pattern, sep);
  const names = expanded.split(sep);
  const first = names.findIndex((name) => name.includes("*"));
  const fixed = first < 0 ? expanded : names.slice(0, first).join(sep) || sep;
  const real = realPath(fixed);
  const rest = first < 0 ? [] : names.slice(first);
  const all = [...real.split(sep).filter((name) => name !== ""), ...rest];
  const source = all.map((name) => {
    if (name === "**") return "(?:/[^/]+)*";
    return `/${name.split("*").map(literal).join("[^/]*")}`;
  });
  return new RegExp(`^${source.join("") || "/"}$`, "u");
}

/**
 * The trust of folders in one run of a command, or one host. Trust of a folder covers what is below it, but no repository in between:
 * a clone inside a trusted folder has a trust of its own.
 */
export class FolderTrust {
  readonly #options: TrustOptions;

  constructor(options: TrustOptions) {
    this.#options = options;
  }

  /** The answer for a folder: undefined if the user was never asked. Reads the records again. */
  answer(cwd: string): boolean | undefined {
    const { home, folders = [], all } = this.#options;
    if (all === true) return true;
    const key = attempt(() => trustKey(cwd));
    // A folder that cannot be resolved is not one that anybody has trusted.
    if (key === undefined) return false;
    const places = placesAbove(key);
    for (const place of places) {
      const record = readTrustRecord(trustRecordFile(home, place));
      if (record?.folder === place) return record.trusted;
    }
    const patterns = folders.map(patternOf);
    return patterns.some((pattern) => places.some((place) => pattern.test(slashed(place))))
      ? true
      : undefined;
  }

  isTrusted(cwd: string): boolean {
    return this.answer(cwd) === true;
  }
}

/** The folder, then those above it that may cover it: none for a repository, which only its own answer covers. */
function placesAbove(key: string): string[] {
  const places = [key];
  if (isRepository(key)) return places;
  for (let at = key; dirname(at) !== at; at = dirname(at)) places.push(dirname(at));
  return places;
}
