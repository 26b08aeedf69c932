/** Is a store whole, and does it hold what the transcripts hold, byte for byte. */
import { existsSync } from "node:fs";
import type { TranscriptEntry } from "../../../contract/transcript.ts";
import type { SessionRecord } from "../../../contract/writer.ts";
import { losslessSettings, sessionPolicy } from "../settings.ts";
import { connect, isDamage } from "../store/open.ts";
import { kept } from "../store/rows.ts";
import { openLosslessStore, type LosslessStore } from "../store/store.ts";
import type { VerifyReport } from "../store/types.ts";
import { databaseFile, type CarePlace } from "./place.ts";

export interface CheckReport {
  ok: boolean;
  file: string;
  /** False: there is nothing to check yet. */
  exists: boolean;
  /** One sentence each. */
  problems: string[];
  /** What is no problem and worth a word, one sentence each. */
  notes: string[];
  counts?: VerifyReport["counts"];
  /** Entries that were compared with their transcripts, and sessions of these. */
  compared: { sessions: number; entries: number };
}

export interface CheckOptions {
  signal?: AbortSignal;
  /** Called for each session before it is compared. */
  onSession?(sessionKey: string): void;
}

/** Throws `turn_aborted` when its signal fires, what the store throws, and what reading a transcript throws. */
export async function checkStore(place: CarePlace, options: CheckOptions = {}): Promise<CheckReport> {
  const file = databaseFile(place.agentDir);
  const report: CheckReport = {
    ok: true,
    file,
    exists: existsSync(file),
    problems: [],
    notes: [],
    compared: { sessions: 0, entries: 0 },
  };
  if (!report.exists) return report;
  // Opening the store would set a damaged file aside and answer for a new one.
  if (isDamaged(file)) return { ...report, ok: false, problems: [`${file} is damaged.`] };
  const store = openLosslessStore(place.agentDir);
  try {
    const own = await verified(store);
    report.counts = own.counts;
    report.problems.push(...own.problems);
    await compareAll(place, store, report, options);
  } finally {
    await store.close();
  }
  report.ok = report.problems.length === 0;
  return report;
}

/** A turn that is stored while the checks go from one table to the next looks like a fault, and not twice. */
async function verified(store: LosslessStore): Promise<VerifyReport> {
  const first = await store.verify();
  return first.ok ? first : store.verify();
}

function isDamaged(file: string): boolean {
  try {
    connect(file).close();
    return false;
  } catch (error) {
    if (isDamage(error)) return true;
    throw error;
  }
}

async function compareAll(
  place: CarePlace,
  store: LosslessStore,
  report: CheckReport,
  { signal, onSession }: CheckOptions,
): Promise<void> {
  const settings = losslessSettings(place.config);
  const records = place.transcripts.list();
  const left: string[] = [];
  for (const record of records) {
    const { sessionKey, sessionId } = record;
    if (!store.session(sessionId)) {
      if (record.current && sessionPolicy(settings, sessionKey) === "kept") left.push(sessionKey);
      continue;
    }
    onSession?.(sessionKey);
    let found = await compareSession(place, store, record, signal);
    // The conversation may have gone back to an earlier entry meanwhile.
    if (found.different.length + found.missing.length > 0)
      found = await compareSession(place, store, record, signal);
    report.compared.sessions += 1;
    report.compared.entries += found.compared;
    addFindings(report, sessionKey, found);
  }
  if (left.length > 0)
    report.notes.push(`Not taken in yet, at their next turn they are: ${left.toSorted().join(", ")}.`);
  const known = new Set(records.map(({ sessionId }) => sessionId));
  for (const { sessionId, sessionKey = "unknown" } of store.sessions())
    if (!known.has(sessionId))
      report.problems.push(`The session ${sessionId} (${sessionKey}) is stored and has no transcript.`);
}

/** What was found of one session. */
interface Comparison {
  compared: number;
  /** Entries that differ from the transcript's, or stand elsewhere. */
  different: string[];
  missing: string[];
  /** At the end of the path: written while another engine was in the slot, or just now. */
  behind: number;
}

async function compareSession(
  place: CarePlace,
  store: LosslessStore,
  record: SessionRecord,
  signal: AbortSignal | undefined,
): Promise<Comparison> {
  const { sessionId, sessionKey } = record;
  const reader = place.transcripts.openReader(sessionKey, sessionId);
  const found: Comparison = { compared: 0, different: [], missing: [], behind: 0 };
  let pending: string[] = [];
  try {
    let position = 0;
    for await (const entry of reader.cursor.forward()) {
      signal?.throwIfAborted();
      const json = store.getJson(entry.id, sessionId);
      if (json === undefined) pending.push(entry.id);
      else {
        found.missing.push(...pending);
        pending = [];
        found.compared += 1;
        if (!isSame(store, sessionId, { entry, json, position })) found.different.push(entry.id);
      }
      position += 1;
    }
  } finally {
    reader.close();
  }
  found.behind = pending.length;
  return found;
}

function isSame(
  store: LosslessStore,
  sessionId: string,
  at: { entry: TranscriptEntry; json: string; position: number },
): boolean {
  const { entry, json, position } = at;
  if (json !== JSON.stringify(kept(entry))) return false;
  const place = store.locate(sessionId, entry.id);
  const supersedes = entry.type === "message" ? entry.supersedes : undefined;
  return place?.position === position && place.turnId === entry.turnId && place.supersedes === supersedes;
}

function addFindings(report: CheckReport, sessionKey: string, found: Comparison): void {
  const { different, missing, behind } = found;
  const some = (ids: readonly string[]): string =>
    `${ids.slice(0, 3).join(", ")}${ids.length > 3 ? `, and ${ids.length - 3} more` : ""}`;
  if (different.length > 0)
    report.problems.push(
      `Of ${sessionKey} these entries are not what the transcript says: ${some(different)}.`,
    );
  if (missing.length > 0)
    report.problems.push(`Of ${sessionKey} these entries are missing: ${some(missing)}.`);
  if (behind > 0)
    report.notes.push(
      `Of ${sessionKey} the newest ${behind === 1 ? "entry is" : `${behind} entries are`} not taken in yet; its next turn does it.`,
    );
}
