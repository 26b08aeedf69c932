/**
 * The held area: a folder of Pagurus' home for what a command left in places that programs start from, until the user takes it over
 * or drops it. Each command has a record and the moved files, for example `held/20261129-7f3a/0`.
 */
import { errorText } from "@pagurus/core/data/error-text";
import { PagurusError } from "@pagurus/contract/errors";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { escapedUnseen } from "@pagurus/core/data/plain-text";
import { writeFileAtomic } from "@pagurus/core/platform/atomic-files";
import type { PlaceKind } from "../places/start-places.ts";
import { moveIn, moveOut, putBack, removePlace } from "./held-moves.ts";
import { forPerson } from "./manifest.ts";
import type { Finding } from "./change-check.ts";
import { systemCode } from "../tool-error.ts";

export interface HeldPlace {
  /** Below the workspace, readable for a person. */
  shown: string;
  /** Absolute, as base64 of its bytes. */
  path: string;
  kind: PlaceKind;
  /** Name in the record's folder; absent if it could not be moved. */
  file?: string;
  /** Whether the old content is back at the place. */
  restored: boolean;
  /** Why it could not be moved. It is removed instead, unless `remains`. */
  problem?: string;
  remains?: boolean;
}

export interface HeldRecord {
  id: string;
  /** ISO time. */
  at: string;
  /** The workspace. */
  root: string;
  command: string;
  places: HeldPlace[];
}

const LONGEST_SHOWN = 300;
const RECORD = "record.json";
const ID = /^\d{8}-[0-9a-f]{8}$/;

function folderOf(home: string, id: string): string {
  return join(home, "held", id);
}

function reasonOf(error: unknown): string {
  return systemCode(error) ?? errorText(error);
}

function save(home: string, record: HeldRecord): void {
  writeFileAtomic(join(folderOf(home, record.id), RECORD), `${JSON.stringify(record, null, 1)}\n`);
}

/** Moves the findings out of the workspace and restores what was there. Never throws: a failure is a `problem` of its place. */
export function holdBack(
  home: string,
  { root, command }: { root: string; command: string },
  findings: readonly Finding[],
): HeldRecord {
  const at = new Date().toISOString();
  const id = `${at.slice(0, 10).replaceAll("-", "")}-${randomBytes(4).toString("hex")}`;
  const places: HeldPlace[] = [];
  let problem: string | undefined;
  try {
    mkdirSync(folderOf(home, id), { recursive: true, mode: 0o700 });
  } catch (error) {
    problem = reasonOf(error);
  }
  for (const [index, { path, kind, before }] of findings.entries()) {
    const shown = escapedUnseen(forPerson(path).slice(root.length + 1)).slice(0, LONGEST_SHOWN);
    const place: HeldPlace = {
      shown,
      path: Buffer.from(path, "latin1").toString("base64"),
      kind,
      restored: false,
    };
    try {
      if (problem !== undefined) throw new PagurusError("store_write_failed", problem);
      moveOut(root, path, join(folderOf(home, id), String(index)));
      place.file = String(index);
    } catch (error) {
      place.problem = reasonOf(error);
      place.remains = !removePlace(root, path);
    }
    try {
      place.restored = before !== undefined && place.remains !== true && putBack(root, path, before);
    } catch (error) {
      // The place is out of the way; `restored` stays false for its old content.
      place.problem ??= reasonOf(error);
    }
    places.push(place);
  }
  const record: HeldRecord = { id, at, root, command, places };
  try {
    if (problem === undefined) save(home, record);
  } catch (error) {
    // Held files without a record: the folder stays for the user.
    for (const place of places) place.problem ??= reasonOf(error);
  }
  return record;
}

/** The records, oldest first; an unreadable one is left out. */
export function heldRecords(home: string): HeldRecord[] {
  const folder = join(home, "held");
  if (!existsSync(folder)) return [];
  const ids = readdirSync(folder).filter((name) => ID.test(name));
  return ids.flatMap((id) => heldRecord(home, id) ?? []).toSorted((a, b) => (a.at < b.at ? -1 : 1));
}

export function heldRecord(home: string, id: string): HeldRecord | undefined {
  if (!ID.test(id)) return undefined;
  try {
    return JSON.parse(readFileSync(join(folderOf(home, id), RECORD), "utf8")) as HeldRecord;
  } catch {
    // It was taken or dropped meanwhile.
    return undefined;
  }
}

/** Moves the places back into the workspace and forgets the record. Returns a sentence for each that could not be moved. */
export function takeHeld(home: string, record: HeldRecord): string[] {
  const problems: string[] = [];
  const left: HeldPlace[] = [];
  for (const place of record.places) {
    if (place.file === undefined) continue;
    try {
      const path = Buffer.from(place.path, "base64").toString("latin1");
      moveIn(record.root, join(folderOf(home, record.id), place.file), path);
    } catch (error) {
      left.push(place);
      problems.push(`"${place.shown}" could not be moved back: ${reasonOf(error)}.`);
    }
  }
  if (left.length === 0) dropHeld(home, record);
  else save(home, { ...record, places: left });
  return problems;
}

/** Deletes what is held. */
export function dropHeld(home: string, record: HeldRecord): void {
  rmSync(folderOf(home, record.id), { recursive: true, force: true });
}
