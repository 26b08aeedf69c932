/** Steps of a spawn outside the registry: the engine is notified, the session is created, or both are undone. */
import { dirname, join } from "node:path";
import { PagurusError, toPagurusError } from "@pagurus/contract/errors";
import { sessionPaths } from "../../stores/files/session-paths.ts";
import type { ChildRecord } from "../../stores/files/subagent-log.ts";
import { engineSessionFile, mirrorPath } from "../engine/engine-files.ts";
import type { Guard } from "../guard/guard.ts";
import type { AgentHost } from "../agent/agent-host.ts";
import type { Child } from "./subagent-child.ts";
import { currentFolder } from "@pagurus/core/platform/surroundings";

/** Deadline of an engine's rollback of a spawn, ms: the caller waits for it. */
const ROLLBACK_DEADLINE_MS = 5_000;

export type Rollback = () => Promise<void>;

/**
 * Announces a child to the engine, before the child exists. Throws `engine_failed` when the engine fails or its deadline passes,
 * `turn_aborted` when the child was stopped meanwhile; the engine then has nothing to keep: a rollback that it returns too late is still
 * called.
 */
export async function announce(host: AgentHost, child: Child): Promise<Rollback | undefined> {
  const { engine, guard } = child.plan;
  if (!engine.prepareSubagentSpawn) return undefined;
  let prepared: { rollback(): Promise<void> } | undefined;
  let failed = false;
  const undo = async (): Promise<void> => {
    const handed = prepared;
    if (typeof handed?.rollback === "function") await rollBack(guard, () => handed.rollback());
  };
  const work = async (): Promise<typeof prepared> => {
    prepared = await engine.prepareSubagentSpawn?.(spawnParams(host, child));
    if (failed) await undo();
    return prepared;
  };
  const outcome = await guard.call("subagent", work, { signal: child.signal, check: checkPrepared });
  if (outcome.ok) {
    const { value } = outcome;
    return value ? () => value.rollback() : undefined;
  }
  // The later of the two rolls back: this, or a preparation that is still running.
  failed = true;
  await undo();
  if (child.signal.aborted) throw stoppedError(child);
  throw new PagurusError(
    "engine_failed",
    `The engine "${engine.info.id}" could not prepare the subagent ${child.key}: ${outcome.reason} Nothing was started; try again, or fix the engine's plugin.`,
    { details: { engine: engine.info.id, childSessionKey: child.key } },
  );
}

export function stoppedError(child: Child): PagurusError {
  return new PagurusError("turn_aborted", `The subagent ${child.key} was stopped before it had started.`);
}

function checkPrepared(prepared: { rollback(): Promise<void> } | undefined): string | undefined {
  if (prepared === undefined || prepared === null || typeof prepared.rollback === "function")
    return undefined;
  return "prepareSubagentSpawn() answered something without a rollback()";
}

function spawnParams(
  host: AgentHost,
  { key, record, plan }: Child,
): Parameters<NonNullable<Child["plan"]["engine"]["prepareSubagentSpawn"]>>[0] {
  const { parent, parentSessionKey, contextMode, ttlMs, guard } = plan;
  // Beside the parent's: a store that several hosts share has a folder of its own for them.
  const folder = parent ? dirname(parent.file) : join(host.agentDir, "sessions");
  const { transcript } = sessionPaths(folder, record.childSessionId);
  return {
    parentSessionKey,
    childSessionKey: key,
    contextMode,
    ...(parent && {
      parentSessionId: parent.sessionId,
      parentSessionFile: engineSessionFile(host.slot, parent.file, (reason) =>
        guard.degrade("transcript", reason),
      ),
    }),
    childSessionId: record.childSessionId,
    // Its future path: there is nothing to copy yet.
    childSessionFile: host.slot.bundled ? transcript : mirrorPath(transcript),
    ttlMs,
  };
}

/** Rolls the engine's preparation back; a failure is a degradation. */
export async function rollBack(guard: Guard, rollback: Rollback): Promise<void> {
  await guard.call("subagent", rollback, { deadlineMs: ROLLBACK_DEADLINE_MS });
}

/** Creates the child's session under its reserved id. Throws `session_exists`, `entry_not_found`, `store_*`. */
export async function makeSession(host: AgentHost, { key, record, plan }: Child): Promise<void> {
  const { childSessionId: sessionId } = record;
  const { forkAt, parentSessionKey, run } = plan;
  if (forkAt !== null) await host.store.fork(parentSessionKey, key, { sessionId, entryId: forkAt });
  else host.store.create(key, { sessionId, cwd: run.cwd ?? currentFolder() });
}

/** Removes the session of a child that has never run. A failure is reported and leaves only the empty session. */
export function removeSession(host: AgentHost, record: ChildRecord, guard: Guard): void {
  const { childSessionKey, childSessionId } = record;
  try {
    if (host.store.find(childSessionKey)?.sessionId === childSessionId) host.store.delete(childSessionKey);
  } catch (error) {
    guard.degrade(
      "subagent",
      `the session of ${childSessionKey}, which never ran, was not removed: ${toPagurusError(error).message}`,
    );
  }
}
