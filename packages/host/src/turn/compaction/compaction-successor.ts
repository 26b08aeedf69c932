/** The successor session of a rotating compaction, under the same key: used for the retry and all later turns. */
import { readFileSync } from "node:fs";
import type { CompactResult } from "@pagurus/contract/engine/engine-compaction";
import { toPagurusError } from "@pagurus/contract/errors";
import type { Successor } from "@pagurus/contract/session/store";
import type { NewEntry, TranscriptEntry } from "@pagurus/contract/session/transcript";
import { runHooks } from "../guard/turn-hooks.ts";
import { hookCall } from "./announce.ts";
import type { LaneScope } from "./lane-scope.ts";
import { defined } from "@pagurus/core/data/defined";

/** Read from the result and, as older engines return it, from the top level; the present session is no successor. */
export function successorOf(answer: CompactResult, present: string): Successor | undefined {
  const inner = answer.result;
  const sessionId = inner?.sessionId ?? inner?.sessionTarget?.sessionId ?? answer.sessionId;
  if (sessionId === undefined || sessionId === "" || sessionId === present) return undefined;
  const file = inner?.sessionFile ?? answer.sessionFile;
  return { sessionId, ...defined({ file }) };
}

/** A target with another agent, key or store than the session's own is refused. */
export function targetProblem(scope: LaneScope, answer: CompactResult): string | undefined {
  const target = answer.result?.sessionTarget;
  if (!target) return undefined;
  const own = scope.context.target();
  const same =
    (target.agentId ?? own.agentId) === own.agentId &&
    (target.sessionKey ?? own.sessionKey) === own.sessionKey &&
    (target.storePath ?? own.storePath) === own.storePath;
  return same
    ? undefined
    : "the successor that compact() names is not of this session's agent, key and store";
}

/** Moves the session; returns why it did not move, or undefined. The live turn's messages so far are copied too. */
export async function rotate(scope: LaneScope, successor: Successor): Promise<string | undefined> {
  const { host, session } = scope;
  const before = session.writer.record;
  const [open] = [...session.writer.unfinalizedTurns()];
  if (open) return `the engine has not taken the turn ${open.turnId} yet, so the session stays where it is`;
  const { context, options } = hookCall(scope);
  const { carried, whole } = await liveEntries(scope, successor);
  if (!whole) return `the input of the running turn was not found, so the session stays where it is`;
  try {
    session.rotate(host.store, successor, carried.map(withoutPlace));
  } catch (error) {
    return `the successor ${successor.sessionId} that compact() names was not taken: ${toPagurusError(error).message}`;
  }
  const { sessionId, sessionKey } = session.writer.record;
  host.slot.bootstrapped.delete(before.sessionId);
  host.slot.bootstrapped.add(sessionId);
  // The conversation continues, and its costs are carried over.
  const unwritten = host.spend.carry(before.sessionId, sessionId);
  if (unwritten !== undefined) scope.guard.degrade("transcript", unwritten);
  host.started.delete(before.sessionId);
  host.started.set(sessionId, sessionKey);
  await rebase(scope, carried);
  host.logger.info("session rotated", { from: before.sessionId, to: sessionId });
  const detail = `The compaction moved the session to ${sessionId}; ${before.sessionId} stays readable as an earlier generation.`;
  scope.emit({ type: "notice", kind: "session_rotated", detail });
  const payload = { reason: "rotated" as const, nextSessionId: sessionId };
  await runHooks(host.hooks, "session_end", payload, context, options);
  return undefined;
}

/** The live turn continues with its new entry ids. */
async function rebase(scope: LaneScope, carried: readonly TranscriptEntry[]): Promise<void> {
  const { recorder, results, session } = scope;
  if (!recorder) return;
  const ids = await newIds(scope, carried);
  recorder.moved(ids);
  results?.moved(ids);
  if (recorder.inputEntryId === undefined) return;
  const input = await session.writer.cursor.get(recorder.inputEntryId);
  recorder.leafBefore = input?.parentId ?? null;
}

/**
 * Entries of the live turn, from its input on, that the successor's transcript lacks. Entries between them (compactions) belong to the
 * former generation alone.
 */
async function liveEntries(
  scope: LaneScope,
  successor: Successor,
): Promise<{ carried: TranscriptEntry[]; whole: boolean }> {
  const { session, turnId } = scope;
  const inputEntryId = scope.recorder?.inputEntryId;
  if (inputEntryId === undefined) return { carried: [], whole: true };
  const entries: TranscriptEntry[] = [];
  for await (const entry of session.writer.cursor.backward()) {
    if (entry.turnId === turnId && entry.type !== "compaction") entries.unshift(entry);
    if (entry.id === inputEntryId) break;
  }
  const held = successor.file === undefined ? undefined : heldIds(successor.file);
  const carried = entries.filter((entry) => held?.has(entry.id) !== true);
  const whole = held?.has(inputEntryId) === true || carried.some((entry) => entry.id === inputEntryId);
  return { carried, whole };
}

/** An unreadable file counts as empty here; the store reports the problem. */
function heldIds(file: string): Set<string> {
  const ids = new Set<string>();
  try {
    for (const [, id] of readFileSync(file, "utf8").matchAll(/"id":\s?"([^"]{1,128})"/g)) if (id) ids.add(id);
  } catch {
    return ids;
  }
  return ids;
}

function withoutPlace(entry: TranscriptEntry): NewEntry {
  const { id: _id, parentId: _parentId, timestamp: _timestamp, epoch: _epoch, ...rest } = entry;
  return rest as NewEntry;
}

async function newIds(
  { session, turnId }: LaneScope,
  carried: readonly TranscriptEntry[],
): Promise<Map<string, string>> {
  const written: string[] = [];
  for await (const entry of carried.length > 0 ? session.writer.cursor.backward() : []) {
    if (entry.turnId !== turnId || written.length === carried.length) break;
    written.unshift(entry.id);
  }
  const ids = new Map<string, string>();
  for (const [index, entry] of carried.entries()) {
    const id = written[index];
    if (id !== undefined) ids.set(entry.id, id);
  }
  return ids;
}
