/**
 * Places in the home that have words of sessions, and how each forgets a deleted one. The store of the sessions writes a record of the
 * deletion and removes transcripts and index by itself; what is declared here follows, and then the record is removed. A place that is
 * not declared here fails `test/deletions/places.test.ts`.
 */
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as turnOfLoop } from "node:timers/promises";
import { PagurusError, toPagurusError } from "@pagurus/contract/errors";
import type { AgentHarness } from "@pagurus/contract/harness/harness";
import type { SessionStore } from "@pagurus/contract/session/store";
import { deleteCaptures } from "@pagurus/core/config/captures";
import type { Database } from "@pagurus/core/data/sqlite";
import { withDeadline } from "@pagurus/core/platform/deadline";
import {
  finishDeletion,
  pendingDeletions,
  type Deletion,
  type PendingDeletion,
} from "@pagurus/core/platform/deletions";
import type { Logger } from "@pagurus/core/platform/log";
import { runHooks, type HookSource } from "@pagurus/host/turn/guard/turn-hooks";

/** Deadline of a runtime for leaving a thread, ms. */
const LEAVE_MS = 5_000;
const ALWAYS = Number.MAX_SAFE_INTEGER;

export interface DeletionParts {
  home: string;
  agentId: string;
  agentDir: string;
  store: SessionStore;
  hooks: HookSource;
  harnesses: readonly AgentHarness[];
  logger: Logger;
}

/** A deleted session key, for the places that know keys and no ids. */
interface DeletedKey {
  home: string;
  agentId: string;
  agentDir: string;
  key: string;
  /** Only what was stored up to this time, ms since the epoch: a later session has the key. */
  until: number;
}

export interface HomePlace {
  /** Name in messages. */
  name: string;
  /** The place's files, relative to the home, `/` between folders. */
  files: RegExp;
  /** Tables with words, where the file is a database. */
  tables?: readonly string[];
  /** Absent for a place whose words the session store removes itself, or that belongs to others: `by` says who. */
  forget?(key: DeletedKey): Promise<void>;
  /** Erases sessions by their ids. */
  forgetIds?(parts: DeletionParts, ids: readonly string[]): Promise<void>;
  by?: string;
}

export const HOME_PLACES: readonly HomePlace[] = [
  {
    name: "the transcripts, and what is beside them",
    files: /^agents\/[^/]+\/(mirrors\/[^/]+\/)?sessions\//,
    by: "the session store",
  },
  {
    name: "the session index",
    files: /^agents\/[^/]+\/(mirrors\/[^/]+\/)?sessions\.db/,
    tables: ["sessions", "words"],
    by: "the session store",
  },
  {
    name: "the store of the engine lossless",
    files: /^agents\/[^/]+\/lossless\.(db|rebuild)/,
    tables: ["texts", "words", "entries", "nodes", "vectors", "sessions", "logs", "pins"],
    forgetIds: async ({ agentDir }, ids) => {
      if (!existsSync(join(agentDir, "lossless.db"))) return;
      // Whichever engine is in the slot.
      const { forgetSessions } = await import("@pagurus/lossless/command/forget");
      await forgetSessions(agentDir, ids);
    },
  },
  {
    name: "the captured requests",
    files: /^captures\//,
    forget: async ({ home, agentId, key, until }) =>
      deleteCaptures(home, agentId, key, until === ALWAYS ? Infinity : until),
  },
  {
    name: "the server's database",
    files: /^server\/server\.db/,
    tables: ["work", "events", "approvals", "channel_outgoing", "channel_files"],
    forget: forgetWork,
  },
  {
    name: "the database of the model API",
    files: /^model-api\.sqlite/,
    tables: ["responses", "conversations", "conversation_items"],
    forget: forgetResponses,
  },
  { name: "the states of plugins", files: /^plugin-state\//, by: "the plugins, at the hook session_end" },
  {
    name: "files of native programs",
    files: /^runtimes\//,
    by: "the runtimes, which leave the session's threads",
  },
];

async function forgetWork({ home, agentId, key, until }: DeletedKey): Promise<void> {
  const [{ openServerDatabase, serverDatabaseFile }, { erasedWork, removeWork }] = await Promise.all([
    import("@pagurus/inbox/server-database"),
    import("@pagurus/inbox/erase-work"),
  ]);
  if (!existsSync(serverDatabaseFile(home))) return;
  const { removeMessages } = await import("@pagurus/channels/erase-messages");
  const { runningServer } = await import("@pagurus/server/server-address");
  const isServing = runningServer(home) !== undefined;
  await erased(openServerDatabase(home), (db) => {
    const ids = erasedWork(db, { agentId, sessionKey: key, until, isServing });
    return removeMessages(db, ids, until) + removeWork(db, ids);
  });
}

async function forgetResponses({ home, key, until }: DeletedKey): Promise<void> {
  if (!existsSync(join(home, "model-api.sqlite"))) return;
  const { openModelApiDatabase } = await import("@pagurus/server/model-api/database");
  const { removeSessionRows } = await import("@pagurus/server/model-api/erase-session");
  await erased(openModelApiDatabase(home), (db) => removeSessionRows(db, key, until));
}

async function erased(db: Database, remove: (db: Database) => number): Promise<void> {
  const { eraseRows } = await import("@pagurus/core/data/erase");
  try {
    if (eraseRows(db, () => remove(db))) return;
    throw new PagurusError("store_write_failed", "Another program reads the database.");
  } finally {
    db.close();
  }
}

export interface FinishedDeletions {
  finished: PendingDeletion[];
  /** Why something is left, one sentence for each place. */
  problems: string[];
}

/** Finishes the deletions of an agent that the session store has begun, in every other place. */
export async function finishDeletions(parts: DeletionParts): Promise<FinishedDeletions> {
  const { agentDir, logger } = parts;
  const found: FinishedDeletions = { finished: [], problems: [] };
  await beginAgain(parts, found.problems);
  for (const left of pendingDeletions(agentDir)) {
    if (left.isBegun) continue;
    const problems = await finishOne(parts, left);
    found.problems.push(...problems);
    if (problems.length > 0) continue;
    finishDeletion(left);
    found.finished.push(left);
  }
  if (found.problems.length > 0)
    logger.warn("a deletion is not finished in every place", { places: found.problems.length });
  return found;
}

/** The stores of the sessions finish what they have begun as soon as they are used. */
async function beginAgain(
  { agentDir, agentId, store, logger }: DeletionParts,
  problems: string[],
): Promise<void> {
  const begun = pendingDeletions(agentDir).filter(({ isBegun }) => isBegun);
  if (begun.length === 0) return;
  const { openSessionStore } = await import("@pagurus/host/stores/files/session-store");
  const embedded = openSessionStore({ agentDir, agentId, logger });
  try {
    for (const { sessions } of begun)
      for (const each of [embedded, store]) each.find(sessions[0]?.key || "main");
  } catch (error) {
    problems.push(`the transcripts: ${toPagurusError(error).message}`);
  } finally {
    embedded.close();
  }
}

async function finishOne(parts: DeletionParts, deletion: Deletion): Promise<string[]> {
  const problems: string[] = [];
  await notifyParts(parts, deletion);
  for (const place of HOME_PLACES) {
    // Each rewrites a file of its own: between them the loop serves what else there is.
    await turnOfLoop();
    try {
      await place.forgetIds?.(
        parts,
        deletion.sessions.map(({ id }) => id),
      );
      if (place.forget) for (const key of keysOf(parts, deletion)) await place.forget(key);
    } catch (error) {
      problems.push(`${place.name}: ${toPagurusError(error).message}`);
    }
  }
  try {
    await forgetChildren(parts, deletion);
  } catch (error) {
    problems.push(`the record of subagents: ${toPagurusError(error).message}`);
  }
  return problems;
}

function keysOf({ home, agentId, agentDir, store }: DeletionParts, { at, sessions }: Deletion): DeletedKey[] {
  const keys = new Set(sessions.map(({ key }) => key).filter((key) => key !== ""));
  return [...keys].map((key) => {
    const until = store.find(key) === undefined ? ALWAYS : at;
    return { home, agentId, agentDir, key, until };
  });
}

async function forgetChildren({ agentDir, logger }: DeletionParts, { sessions }: Deletion): Promise<void> {
  const file = join(agentDir, "subagents.db");
  if (!existsSync(file)) return;
  const { SubagentLog } = await import("@pagurus/host/stores/files/subagent-log");
  const log = new SubagentLog({ file, instance: randomUUID(), holds: () => false, logger });
  try {
    for (const key of new Set(sessions.map((session) => session.key))) log.forget(key);
  } finally {
    log.close();
  }
}

/** Runtimes leave the threads, and plugins get the hook `session_end`. What fails there is a warning. */
async function notifyParts(
  { agentId, hooks, harnesses, logger }: DeletionParts,
  { sessions, threads }: Deletion,
): Promise<void> {
  for (const { runtime, nativeId, state } of threads) {
    const harness = harnesses.find(({ id }) => id === runtime);
    try {
      await withDeadline(() => harness?.reset?.({ nativeId, state: { ...state } }), {
        ms: LEAVE_MS,
        label: `Resetting ${runtime}`,
      });
    } catch (error) {
      logger.warn("native thread not left", { runtime, code: toPagurusError(error).code });
    }
  }
  // The current generation of each key; children end before their parents.
  const current = new Map(sessions.toReversed().map(({ key, id }) => [key, id]));
  for (const [key, id] of current) {
    const context = { sessionKey: key, sessionId: id, agentId };
    await runHooks(hooks, "session_end", { reason: "deleted" }, context, { logger });
  }
}
