/** The successor of a rotating compaction: the session for the retry and all later turns, under the same key. */
import { readFileSync } from "node:fs";
import type { CompactResult } from "../../contract/engine-compaction.ts";
import { toPagurusError } from "../../contract/errors.ts";
import type { Successor } from "../../contract/store.ts";
import type { NewEntry, TranscriptEntry } from "../../contract/transcript.ts";
import { runHooks } from "../hooks.ts";
import { hookCall } from "./announce.ts";
import type { LaneScope, LiveTurnPort } from "./scope.ts";

/** Read inside the result and, as older engines give it, beside it; the present session is no successor. */
export function successorOf(answer: CompactResult, present: string): Successor | undefined {
  const inner = answer.result;
  const sessionId = inner?.sessionId ?? inner?.sessionTarget?.sessionId ?? answer.sessionId;
  if (sessionId === undefined || sessionId === "" || sessionId === present) return undefined;
  const file = inner?.sessionFile ?? answer.sessionFile;
  return { sessionId, ...(file === undefined ? {} : { file }) };
}

/** A target that names another agent, key or store than the session's own is nothing to move to. */
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

/** Why the session did not move; undefined when it did. What the live turn has said so far goes along. */
export async function rotate(scope: LaneScope, successor: Successor): Promise<string | undefined> {
  const { host, session, turn, emit } = scope;
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
  host.slot.bootstrapped.add(sessionId);
  // The conversation goes on, and what it has cost goes along.
  const unwritten = host.spend.carry(before.sessionId, sessionId);
  if (unwritten !== undefined) scope.guard.degrade("transcript", unwritten);
  host.started.delete(before.sessionId);
  host.started.set(sessionId, sessionKey);
  if (turn) await rebase(scope, turn, carried);
  host.logger.info("session rotated", { from: before.sessionId, to: sessionId });
  const detail = `The compaction moved the session to ${sessionId}; ${before.sessionId} stays readable as an earlier generation.`;
  emit({ type: "notice", kind: "session_rotated", detail });
  const payload = { reason: "rotated" as const, nextSessionId: sessionId };
  await runHooks(host.hooks, "session_end", payload, context, options);
  return undefined;
}

async function rebase(
  scope: LaneScope,
  turn: LiveTurnPort,
  carried: readonly TranscriptEntry[],
): Promise<void> {
  turn.moved(carried.length > 0 ? await newIds(scope, turn.turnId, carried) : new Map());
  const inputEntryId = turn.inputEntryId();
  if (inputEntryId === undefined) return;
  const input = await scope.session.writer.cursor.get(inputEntryId);
  turn.rebased(input?.parentId ?? null);
}

/**
 * Entries of the live turn, from its input on, that the successor's transcript does not hold. Others stand between
 * them (compactions), which are of the former generation alone.
 */
async function liveEntries(
  scope: LaneScope,
  successor: Successor,
): Promise<{ carried: TranscriptEntry[]; whole: boolean }> {
  const { session, turn } = scope;
  const inputEntryId = turn?.inputEntryId();
  if (!turn || inputEntryId === undefined) return { carried: [], whole: true };
  const entries: TranscriptEntry[] = [];
  for await (const entry of session.writer.cursor.backward()) {
    if (entry.turnId === turn.turnId && entry.type !== "compaction") entries.unshift(entry);
    if (entry.id === inputEntryId) break;
  }
  const held = successor.file === undefined ? undefined : heldIds(successor.file);
  const carried = entries.filter((entry) => held?.has(entry.id) !== true);
  const whole = held?.has(inputEntryId) === true || carried.some((entry) => entry.id === inputEntryId);
  return { carried, whole };
}

/** A file that cannot be read holds nothing here; the store says what is wrong with it. */
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
  scope: LaneScope,
  turnId: string,
  carried: readonly TranscriptEntry[],
): Promise<Map<string, string>> {
  const written: string[] = [];
  for await (const entry of scope.session.writer.cursor.backward()) {
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
