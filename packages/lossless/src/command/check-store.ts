/** Checks that a store is intact and equals the transcripts, byte for byte. */
import { existsSync } from "node:fs";
import type { TranscriptEntry } from "@pagurus/contract/session/transcript";
import type { SessionRecord } from "@pagurus/contract/session/writer";
import { losslessSettings, sessionPolicy } from "../lossless-settings.ts";
import { isDamage } from "../store/damage.ts";
import { connect } from "../store/open-database.ts";
import { templatePart } from "../store/entries/entry-rows.ts";
import { openLosslessStore, type LosslessStore } from "../store/lossless-store.ts";
import type { VerifyReport } from "../store/store-types.ts";
import { databaseFile, type CarePlace } from "./store-files.ts";

export interface CheckReport {
  ok: boolean;
  file: string;
  /** False when there is no database yet. */
  exists: boolean;
  /** One sentence each. */
  problems: string[];
  /** Remarks that are not problems, one sentence each. */
  notes: string[];
  counts?: VerifyReport["counts"];
  /** Entries that were compared with their transcripts, and their sessions. */
  compared: { sessions: number; entries: number };
}

export interface CheckOptions {
  signal?: AbortSignal;
  /** Called for each session before it is compared. */
  onSession?(sessionKey: string): void;
}

/** Checks a store. Throws `turn_aborted` when its signal fires, and the errors of the store and of reading transcripts. */
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
  // Opening the store would set a damaged file aside and report on a new one.
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

/** Verifies twice before it reports: a turn that is stored while the checks run looks like a fault once. */
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
    if (!store.has(sessionId)) {
      if (record.current && sessionPolicy(settings, sessionKey) === "kept") left.push(sessionKey);
      continue;
    }
    onSession?.(sessionKey);
    let found = await compareSession(place, store, record, signal);
    // The conversation may have been rewound to an earlier entry meanwhile.
    if (found.different.length + found.missing.length > 0)
      found = await compareSession(place, store, record, signal);
    report.compared.sessions += 1;
    report.compared.entries += found.compared;
    addFindings(report, sessionKey, found);
  }
  if (left.length > 0)
    report.notes.push(`Not indexed yet, the next turn of each will do it: ${left.toSorted().join(", ")}.`);
  const known = new Set(records.map(({ sessionId }) => sessionId));
  for (const { sessionId, sessionKey = "unknown" } of store.sessions())
    if (!known.has(sessionId))
      report.problems.push(`The session ${sessionId} (${sessionKey}) is stored and has no transcript.`);
}

/** Findings for one session. */
interface Comparison {
  compared: number;
  /** Entries that differ from the transcript's, or are at another place. */
  different: string[];
  missing: string[];
  /** Entries at the end of the path: written while another engine was in the slot, or just now. */
  unindexed: number;
}

async function compareSession(
  place: CarePlace,
  store: LosslessStore,
  record: SessionRecord,
  signal: AbortSignal | undefined,
): Promise<Comparison> {
  const { sessionId, sessionKey } = record;
  const reader = place.transcripts.openReader(sessionKey, sessionId);
  const found: Comparison = { compared: 0, different: [], missing: [], unindexed: 0 };
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
  found.unindexed = pending.length;
  return found;
}

function isSame(
  store: LosslessStore,
  sessionId: string,
  at: { entry: TranscriptEntry; json: string; position: number },
): boolean {
  const { entry, json, position } = at;
  if (json !== JSON.stringify(templatePart(entry))) return false;
  const place = store.locate(sessionId, entry.id);
  const supersedes = entry.type === "message" ? entry.supersedes : undefined;
  return place?.position === position && place.turnId === entry.turnId && place.supersedes === supersedes;
}

function addFindings(report: CheckReport, sessionKey: string, found: Comparison): void {
  const { different, missing, unindexed } = found;
  const some = (ids: readonly string[]): string =>
    `${ids.slice(0, 3).join(", ")}${ids.length > 3 ? `, and ${ids.length - 3} more` : ""}`;
  if (different.length > 0)
    report.problems.push(
      `Of ${sessionKey} these entries are not what the transcript says: ${some(different)}.`,
    );
  if (missing.length > 0)
    report.problems.push(`Of ${sessionKey} these entries are missing: ${some(missing)}.`);
  if (unindexed > 0)
    report.notes.push(
      `${sessionKey}: the newest ${unindexed === 1 ? "entry is" : `${unindexed} entries are`} not indexed yet; the next turn will index ${unindexed === 1 ? "it" : "them"}.`,
    );
}
