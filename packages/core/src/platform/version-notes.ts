/** Versions of other programs outside of the tried range: those that were reported once, and those that passed `pagurus runtimes test`. */
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { listOf, recordOf, stringOf } from "../data/record-fields.ts";
import { ensurePrivateDir, writeFileAtomic } from "./atomic-files.ts";
import { isOwnSuite, TRIED, untriedNote, type TriedProgram } from "../data/tried-programs.ts";

/** Version of a file, whose stamp is its path, time of change and length. */
interface FileVersion {
  stamp: string;
  version: string;
}

/**
 * `program-versions.json` of the home: `{"reported": ["codex 0.172.0"], "passed": ["codex 0.172.0"], "files": {"codex": {"stamp":
 * "/usr/bin/codex 1764.5 9000", "version": "0.172.0"}}}`.
 */
interface Versions {
  reported: readonly string[];
  passed: readonly string[];
  files: Readonly<Record<string, FileVersion>>;
}

const fileIn = (home: string): string => join(home, "program-versions.json");

/** A file that cannot be read holds nothing. */
function read(home: string): Versions {
  try {
    const { reported, passed, files } = recordOf(JSON.parse(readFileSync(fileIn(home), "utf8")));
    const versions = Object.entries(recordOf(files)).map(([id, value]): [string, FileVersion] => {
      const { stamp, version } = recordOf(value);
      return [id, { stamp: stringOf(stamp), version: stringOf(version) }];
    });
    const names = (value: unknown): string[] => listOf(value).map(String);
    return { reported: names(reported), passed: names(passed), files: Object.fromEntries(versions) };
  } catch {
    return { reported: [], passed: [], files: {} };
  }
}

/** Throws what writing a file throws. */
function write(home: string, versions: Versions): void {
  ensurePrivateDir(home);
  writeFileAtomic(fileIn(home), `${JSON.stringify(versions, undefined, 2)}\n`);
}

/** Throws what writing a file throws. */
function add(home: string, list: "reported" | "passed", name: string): void {
  const versions = read(home);
  if (!versions[list].includes(name)) write(home, { ...versions, [list]: [...versions[list], name] });
}

/** The version of a program's file; undefined where the program has another file, or a changed one. */
export function askedVersion(home: string, id: string, stamp: string): string | undefined {
  const file = read(home).files[id];
  return file?.stamp === stamp ? file.version : undefined;
}

/** Throws what writing a file throws. */
export function keepVersion(home: string, id: string, file: FileVersion): void {
  const versions = read(home);
  write(home, { ...versions, files: { ...versions.files, [id]: file } });
}

/** A sentence about a version that was neither tried nor passed here; undefined for every other. */
export function versionNote(home: string, id: string, version: string): string | undefined {
  const note = untriedNote(id, version);
  if (note === undefined || read(home).passed.includes(`${id} ${version}`)) return undefined;
  return note;
}

/** The same, once for each version. */
export function firstVersionNote(home: string, id: string, version: string): string | undefined {
  const note = versionNote(home, id, version);
  if (note === undefined || read(home).reported.includes(`${id} ${version}`)) return undefined;
  try {
    add(home, "reported", `${id} ${version}`);
  } catch (error) {
    // The turn reports a home that cannot be written; the note comes again.
    if (!(error instanceof Error)) throw error;
  }
  return note;
}

/**
 * A runtime passed its conformance suite with its program, or a program its own suite: the version is not reported again. Throws what
 * writing a file throws.
 */
export function versionPassed(
  home: string,
  tested: string,
  { program, version }: { program: string; version: string },
): void {
  const ids = Object.entries<TriedProgram>(TRIED).flatMap(([id, each]) =>
    each.runtime === tested ? [id] : [],
  );
  const name = basename(program.split(" ")[0] ?? "");
  const id = isOwnSuite(tested) ? tested : ids.length === 1 ? ids[0] : ids.find((each) => each === name);
  if (id !== undefined && untriedNote(id, version) !== undefined) add(home, "passed", `${id} ${version}`);
}
