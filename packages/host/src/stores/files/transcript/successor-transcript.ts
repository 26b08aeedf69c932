/** The transcript of a successor: existing lines, the turn markers that they lack, and the live turn's messages. */
import { openSync } from "node:fs";
import { PagurusError } from "@pagurus/contract/errors";
import type { NewEntry, TranscriptEntry } from "@pagurus/contract/session/transcript";
import { IdSource } from "@pagurus/core/platform/ids";
import { idBound, type Catalog } from "../index/session-catalog.ts";
import { completeEntry, foreignHeader, formatLine, parseEntry, withoutStaleSum } from "./transcript-entry.ts";
import { readFailure } from "../failures.ts";
import { checkLines, copy, invalid } from "./checked-lines.ts";
import {
  isCommitted,
  isUnfinalized,
  lastEntryId,
  openTurns,
  spansOf,
  type SessionRow,
} from "../index/index-rows.ts";
import { FINALIZED_TYPE, finalizedTurn, ROTATED_CODE } from "../index/indexer.ts";
import { isOwnId } from "../keys.ts";
import { linesForward, type Line } from "./transcript-lines.ts";
import type { SessionView } from "./session-view.ts";
import { defined } from "@pagurus/core/data/defined";

/** Data on a turn from the lines. */
interface TurnFacts {
  committed: boolean;
  unfinalized: boolean;
}

export interface SuccessorSource {
  fd: number;
  /** The lines after the header, without a newline at the end when `cut`. */
  from: number;
  to: number;
  cut: boolean;
  /** Some lines have our checksums and other text: the engine changed them. */
  stale: boolean;
  header: { timestamp?: string; cwd?: string };
  leafId: string | null;
  turns: Map<string, TurnFacts>;
  /** True when the lines have the session's name. */
  named: boolean;
  /** Greatest epoch, and greatest id that was made here. */
  epoch: number;
  lastId: string | null;
}

/** A file that an engine wrote; every line is checked. Throws `import_invalid`. */
export function writtenSource(fd: number, size: number, file: string, sessionId: string): SuccessorSource {
  const turns = new Map<string, TurnFacts>();
  const source: SuccessorSource = {
    fd,
    from: 0,
    to: size,
    cut: false,
    stale: false,
    header: {},
    leafId: null,
    turns,
    named: false,
    epoch: 0,
    lastId: null,
  };
  const readHeader = ({ bytes, length, terminated }: Line): { id: string } | undefined => {
    source.from = length;
    // A file with only a header has no line that could lack a newline.
    if (!terminated) source.from = source.to = size;
    const newer = foreignHeader(bytes);
    if (newer) throw invalid(file, 1, `its version ${newer.version} is not known here`);
    const fields = headerFields(bytes);
    if (fields) source.header = fields;
    return fields && { id: sessionId };
  };
  const lines = checkLines(fd, size, file, readHeader, (bytes) => {
    const other = withoutStaleSum(bytes);
    source.stale ||= other !== undefined;
    return other ?? bytes;
  });
  for (const { line, entry } of lines) {
    source.cut = !line.terminated;
    source.leafId = entry.type === "rewind" ? entry.targetId : entry.id;
    source.epoch = Math.max(source.epoch, typeof entry.epoch === "number" ? entry.epoch : 0);
    if (isOwnId(entry.id) && (source.lastId === null || entry.id > source.lastId)) source.lastId = entry.id;
    source.named ||= entry.type === "session_info" && entry.name !== undefined;
    takeFacts(turns, entry);
  }
  return source;
}

function headerFields(bytes: Buffer): { timestamp?: string; cwd?: string } | undefined {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString("utf8"));
  } catch {
    // The caller reports that it is no header.
    return undefined;
  }
  const { type, timestamp, cwd } = (value ?? {}) as { type?: unknown; timestamp?: unknown; cwd?: unknown };
  if (type !== "session") return undefined;
  const dated = typeof timestamp === "string" && Number.isFinite(Date.parse(timestamp));
  return {
    ...(dated ? { timestamp: new Date(timestamp).toISOString() } : {}),
    ...(typeof cwd === "string" ? { cwd } : {}),
  };
}

function takeFacts(turns: Map<string, TurnFacts>, entry: TranscriptEntry): void {
  const { turnId } = entry;
  const known = turnId === undefined ? undefined : turns.get(turnId);
  if (entry.type === "turn_commit") {
    if (!known?.committed)
      turns.set(entry.turnId, { committed: true, unfinalized: entry.finalized === false });
  } else if (turnId !== undefined && !known) turns.set(turnId, { committed: false, unfinalized: false });
  const finalized = finalizedTurn(entry);
  const taken = finalized === undefined ? undefined : turns.get(finalized);
  if (taken) taken.unfinalized = false;
}

/** A session of the store whose lock is held; the caller closes the file. Throws `store_read_failed`. */
export function storedSource(catalog: Catalog, row: SessionRow): SuccessorSource {
  const { transcript } = catalog.paths(row.id);
  const open = catalog.index.use(openTurns, row.num);
  const lastId = catalog.index.use(lastEntryId, row.num, idBound(catalog.now()));
  const turns = new Map(open.map(({ turn }) => [turn, { committed: false, unfinalized: false }]));
  let fd: number;
  try {
    fd = openSync(transcript, "r");
  } catch (error) {
    throw readFailure(error, transcript);
  }
  return {
    fd,
    from: row.header_length,
    to: row.bytes,
    cut: false,
    stale: false,
    header: {},
    leafId: row.leaf_id,
    turns,
    named: row.name !== null,
    epoch: row.epoch,
    lastId,
  };
}

interface SuccessorParts {
  source: SuccessorSource;
  /** The header's line. */
  header: Buffer;
  /** The generation before. */
  view: SessionView;
  carry: readonly NewEntry[];
  epoch: number;
  now: () => number;
}

/** The successor's bytes from the first to the last. */
export function* successorBytes(parts: SuccessorParts): Generator<Uint8Array> {
  const { source, view, epoch, now } = parts;
  yield parts.header;
  yield* source.stale ? withoutStaleSums(source) : copy(source.fd, source.from, source.to);
  if (source.cut) yield Buffer.from("\n");
  const ids = new IdSource({ now });
  const bound = idBound(now());
  const last = view.query(lastEntryId, bound);
  for (const floor of [last, source.lastId]) if (floor !== null && floor < bound) ids.raise(floor);
  let parentId = source.leafId;
  for (const entry of [...missingEntries(source, view), ...parts.carry]) {
    const timestamp = new Date(now()).toISOString();
    const line = formatLine(completeEntry(entry, { id: ids.next(), parentId, timestamp, epoch }));
    const parsed = parseEntry(line.subarray(0, -1));
    if ("problem" in parsed)
      throw new PagurusError(
        "internal",
        `An entry of type ${entry.type} cannot be carried: ${parsed.problem}.`,
      );
    parentId = parsed.entry.type === "rewind" ? parsed.entry.targetId : parsed.entry.id;
    yield line;
  }
}

function* withoutStaleSums({ fd, from, to }: SuccessorSource): Generator<Uint8Array> {
  for (const { bytes, terminated } of linesForward(fd, from, to)) {
    yield withoutStaleSum(bytes) ?? bytes;
    if (terminated) yield Buffer.from("\n");
  }
}

/**
 * Entries that the lines lack and the generation before has: its name, markers of turns that were left out, and turns that the engine has
 * taken. The live turn continues, and has no marker.
 */
function missingEntries({ turns, named }: SuccessorSource, view: SessionView): NewEntry[] {
  const live = new Set(view.query(openTurns).map(({ turn }) => turn));
  const { name } = view.record();
  const entries: NewEntry[] = named || name === undefined ? [] : [{ type: "session_info", name }];
  for (const [turnId, facts] of turns) {
    const due = view.query(isUnfinalized, turnId);
    const committed = view.query(isCommitted, turnId);
    if (!facts.committed && !live.has(turnId)) entries.push(markerOf(view, turnId) ?? rotatedMarker(turnId));
    else if (facts.unfinalized && committed && !due)
      entries.push({ type: "custom", customType: FINALIZED_TYPE, data: { turnId } });
  }
  return entries;
}

function rotatedMarker(turnId: string): NewEntry {
  return { type: "turn_commit", turnId, outcome: "interrupted", code: ROTATED_CODE };
}

/** The current marker of a turn in the generation before. */
function markerOf(view: SessionView, turnId: string): NewEntry | undefined {
  const spans = view.query(spansOf, turnId);
  for (const { start, end } of spans) {
    if (end === null) continue;
    const [last] = view.backward([{ start, end }]);
    if (last?.entry.type !== "turn_commit") continue;
    const { outcome, code } = last.entry;
    const due = view.query(isUnfinalized, turnId);
    return {
      type: "turn_commit",
      turnId,
      outcome,
      ...defined({ code }),
      ...(due ? { finalized: false } : {}),
    };
  }
  return undefined;
}
