/**
 * How much of what a program writes is understood, by its versions: a new version whose format has changed has more lines with words in
 * places where this version of Pagurus finds no message. All of them are kept and searched all the same.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { attempt } from "@pagurus/core/data/attempt";
import type { Database } from "@pagurus/core/data/sqlite";
import { openWords } from "./words-database.ts";

/** Lines of one version, and how many of them have words and no message. */
export interface VersionLines {
  agent: string;
  version: string;
  lines: number;
  unread: number;
}

export interface Drift extends VersionLines {
  /** Share of lines that were not understood in the versions before, 0 to 1; absent for the first version. */
  before?: number;
}

/** Fewer lines say nothing. */
const LEAST_LINES = 20;
/** By how much the share has to be larger than before, and how large it has to be where nothing is known of versions before. */
const MORE = 0.25;
const ALONE = 0.9;

/** Versions whose format has changed, by program, the oldest first. */
export function driftOf(rows: readonly VersionLines[]): Drift[] {
  const enough = rows.filter(({ lines, version }) => lines >= LEAST_LINES && version !== "");
  return [...Map.groupBy(enough, ({ agent }) => agent).values()].flatMap((versions) => {
    const sorted = versions.toSorted((one, other) =>
      one.version.localeCompare(other.version, "en", { numeric: true }),
    );
    const drifts: Drift[] = [];
    let [lines, unread] = [0, 0];
    for (const each of sorted) {
      const share = each.unread / each.lines;
      const before = lines === 0 ? undefined : unread / lines;
      const isDrift = before === undefined ? share >= ALONE : share - before > MORE;
      if (isDrift) drifts.push({ ...each, ...(before !== undefined && { before }) });
      // Only versions that are understood count for the comparison.
      else [lines, unread] = [lines + each.lines, unread + each.unread];
    }
    return drifts;
  });
}

/** The counts of an archive; empty if there is no archive. */
export function versionLines(folder: string): VersionLines[] {
  if (!existsSync(join(folder, "words.db"))) return [];
  // Written by another version of Pagurus: it is made again by the next look.
  const db = attempt(() => openWords(folder, false));
  if (!db) return [];
  try {
    return db
      .all<VersionLines>("SELECT agent, version, lines, unread FROM understood ORDER BY agent, version")
      .map((row) => ({ ...row }));
  } finally {
    db.close();
  }
}

/** Counts lines between two commits. */
export class LineCounts {
  readonly #counts = new Map<string, VersionLines>();

  add(agent: string, version: string, isUnread: boolean): void {
    const key = `${agent} ${version}`;
    const known = this.#counts.get(key) ?? { agent, version, lines: 0, unread: 0 };
    this.#counts.set(key, known);
    known.lines += 1;
    if (isUnread) known.unread += 1;
  }

  save(db: Database): void {
    for (const { agent, version, lines, unread } of this.#counts.values())
      db.run(
        `INSERT INTO understood VALUES (?, ?, ?, ?)
         ON CONFLICT (agent, version) DO UPDATE SET lines = lines + excluded.lines, unread = unread + excluded.unread`,
        agent,
        version,
        lines,
        unread,
      );
    this.#counts.clear();
  }
}
