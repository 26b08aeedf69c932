/** The lines of a rewrite: the path from the first replaced message on, written again as one branch. */
import { isDeepStrictEqual } from "node:util";
import type { AgentMessage } from "@pagurus/contract/message";
import { callIds } from "@pagurus/core/compaction/message-text";
import type { RewriteRequest } from "@pagurus/contract/engine/runtime-context";
import type { MessageEntry, TranscriptEntry } from "@pagurus/contract/session/transcript";
import type { MarkedEntry } from "./branch.ts";
import { formatLine, parseEntry } from "./transcript-entry.ts";
import { supersedingPlaces } from "../index/index-rows.ts";
import { clip } from "./transcript-tree.ts";
import { leafAt, type Leaf, type Place, type PlacedEntry, type SessionView } from "./session-view.ts";

/**
 * Limit of what a rewrite may copy: lines of the path and their bytes, from the first replaced entry on. It blocks the process, about 0.3 s
 * for this much (measured).
 */
const MOST_BYTES = 4 * 1024 * 1024;
const MOST_ENTRIES = 4_000;

interface RewritePlan {
  /** Parent of the branch. */
  parent: Leaf;
  lines: { entry: TranscriptEntry; bytes: Buffer }[];
  /** Bytes by which the messages of the path get smaller. */
  bytesFreed: number;
}

interface RewriteScope {
  view: SessionView;
  epoch: number;
  nextId: () => string;
  isCommitted: (turnId: string) => boolean;
}

interface Replacement {
  place: Place;
  old: AgentMessage;
  message: AgentMessage;
}

/** The lines to append, or why nothing may be replaced. Reads the path from the first replaced message on. */
export function planRewrite(
  scope: RewriteScope,
  requests: readonly RewriteRequest[],
  allowed?: readonly string[],
): RewritePlan | { reason: string } {
  if (requests.length === 0) return { reason: "there is no replacement" };
  const replacements = new Map<string, Replacement>();
  for (const { entryId, message } of requests) {
    if (replacements.has(entryId)) return { reason: `the entry ${entryId} is replaced twice` };
    const checked = check(scope, entryId, message);
    if ("reason" in checked) return checked;
    replacements.set(entryId, checked);
  }
  const all = [...replacements.values()];
  if (all.every(({ old, message }) => isDeepStrictEqual(old, message)))
    return { reason: "no message differs from what is there" };
  const from = Math.min(...all.map(({ place }) => place.offset));
  const { view } = scope;
  const suffix = suffixFrom(view, from);
  if ("reason" in suffix) return suffix;
  const other = notAllowed(suffix.entries, allowed);
  if (other !== undefined)
    return { reason: `the entry ${other} would be written again and is not among the allowed entries` };
  const [before] = view.backward(clip(view.tree.path(), 0, from));
  const parent = leafAt(before?.entry.id ?? null, before && view.find(before.entry.id));
  const freed = all.reduce((sum, { old, message }) => sum + jsonBytes(old) - jsonBytes(message), 0);
  const lines = branch(scope, parent.id, suffix.entries, replacements);
  return { parent, lines, bytesFreed: Math.max(0, freed) };
}

/** The path from an offset on, unless it is longer than a rewrite may copy. */
function suffixFrom(view: SessionView, from: number): { entries: PlacedEntry[] } | { reason: string } {
  const ranges = clip(view.tree.path(), from);
  const bytes = ranges.reduce((sum, { start, end }) => sum + end - start, 0);
  if (bytes > MOST_BYTES) return tooLong(`${bytes} bytes`);
  const entries: PlacedEntry[] = [];
  for (const placed of view.forward(ranges)) {
    if (entries.length === MOST_ENTRIES) return tooLong(`more than ${MOST_ENTRIES} entries`);
    entries.push(placed);
  }
  return { entries };
}

/** The first message that a rewrite would copy and that is not allowed. Entries of other kinds are the host's own. */
function notAllowed(
  entries: readonly PlacedEntry[],
  allowed: readonly string[] | undefined,
): string | undefined {
  if (!allowed) return undefined;
  const named = new Set(allowed);
  return entries.find(({ entry }) => entry.type === "message" && !named.has(entry.id))?.entry.id;
}

function tooLong(found: string): { reason: string } {
  const bound = `${MOST_BYTES} bytes or ${MOST_ENTRIES} entries`;
  return {
    reason: `the transcript from the first replaced entry on has ${found}, and at most ${bound} are written again: replace newer entries only`,
  };
}

function check(scope: RewriteScope, entryId: string, message: unknown): Replacement | { reason: string } {
  const { view } = scope;
  const place = view.find(entryId);
  const entry = place && view.read(place);
  if (!place || entry?.id !== entryId) return { reason: `the session has no entry ${entryId}` };
  if (entry.type !== "message") return { reason: `the entry ${entryId} is no message` };
  if (!view.tree.onPath(place.offset)) return { reason: `the entry ${entryId} is not on the active path` };
  const newer = view.ask(supersedingPlaces, entryId).find((row) => view.tree.onPath(row.offset));
  if (newer) return { reason: `the entry ${newer.id} replaces the entry ${entryId}` };
  if (entry.turnId !== undefined && !scope.isCommitted(entry.turnId))
    return { reason: `the entry ${entryId} belongs to the turn ${entry.turnId}, which is not finished` };
  const value = asJson(message);
  if (value === undefined) return { reason: `the message for the entry ${entryId} is not JSON` };
  const stored = asMessage(entry, value);
  if (!stored) return { reason: `the message for the entry ${entryId} has no known shape` };
  const reason = mismatch(entryId, entry.message, stored);
  return reason === undefined ? { place, old: entry.message, message: stored } : { reason };
}

/** The message as a reader of the transcript will see it. */
function asMessage(entry: MessageEntry, value: unknown): AgentMessage | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { entryId: _, ...message } = value as AgentMessage;
  const parsed = parseEntry(formatLine({ ...entry, message: message as AgentMessage }).subarray(0, -1));
  return "entry" in parsed && parsed.entry.type === "message" ? parsed.entry.message : undefined;
}

/** Tool calls and their results are matched by id, and a conversation depends on its roles. */
function mismatch(entryId: string, old: AgentMessage, message: AgentMessage): string | undefined {
  if (old.role !== message.role)
    return `the entry ${entryId} has the role ${old.role}, its replacement ${message.role}`;
  const same = isDeepStrictEqual(callIds(old), callIds(message));
  return same ? undefined : `the replacement of the entry ${entryId} changes the ids of its tool calls`;
}

function jsonBytes(message: AgentMessage): number {
  return Buffer.byteLength(JSON.stringify(message));
}

function branch(
  scope: RewriteScope,
  parentId: string | null,
  suffix: readonly PlacedEntry[],
  replacements: ReadonlyMap<string, Replacement>,
): { entry: TranscriptEntry; bytes: Buffer }[] {
  const ids = new Map(suffix.map(({ entry }) => [entry.id, scope.nextId()]));
  const last = [...ids.values()].at(-1) ?? "";
  let parent = parentId;
  return suffix.map(({ entry }, index) => {
    const id = ids.get(entry.id) ?? "";
    const { branch: _, ...fields } = entry as MarkedEntry;
    const mark = { branch: { sessionId: scope.view.sessionId, entries: suffix.length, last } };
    const copy = {
      ...fields,
      id,
      parentId: parent,
      epoch: scope.epoch,
      ...references(scope.view, entry, ids),
      ...(entry.type === "message" ? { message: replacements.get(entry.id)?.message ?? entry.message } : {}),
      ...(index === 0 ? mark : {}),
    } as TranscriptEntry;
    parent = id;
    return { entry: copy, bytes: formatLine(copy) };
  });
}

/** References of an entry to others, with the ids of the branch. */
function references(view: SessionView, entry: TranscriptEntry, ids: ReadonlyMap<string, string>): object {
  if (entry.type === "compaction") {
    const { firstKeptEntryId: kept, splitTurnInputId: input } = entry;
    return {
      firstKeptEntryId: ids.get(kept) ?? kept,
      ...(input === undefined ? {} : { splitTurnInputId: ids.get(input) ?? input }),
    };
  }
  if (entry.type !== "message") return {};
  // An entry that replaces another on the path still replaces it.
  const { supersedes } = entry;
  const place = supersedes === undefined ? undefined : view.find(supersedes);
  const stays = supersedes !== undefined && place !== undefined && view.tree.onPath(place.offset);
  return { supersedes: stays ? (ids.get(supersedes) ?? supersedes) : entry.id };
}

/** A value as JSON represents it, or undefined when JSON would drop or change a part of it (a cycle, a date, NaN). */
function asJson(value: unknown): unknown {
  return isJson(value, new Set()) ? JSON.parse(JSON.stringify(value)) : undefined;
}

function isJson(value: unknown, above: Set<object>): boolean {
  if (value === null || typeof value === "string" || typeof value === "boolean") return true;
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || above.has(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (!Array.isArray(value) && prototype !== null && Object.getPrototypeOf(prototype) !== null) return false;
  above.add(value);
  // An undefined member counts as absent; in a list it would become null.
  const fine = Array.isArray(value)
    ? value.every((item) => isJson(item, above))
    : Object.entries(value).every(([, member]) => member === undefined || isJson(member, above));
  above.delete(value);
  return fine;
}
