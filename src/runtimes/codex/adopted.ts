/**
 * The first turn on a thread that was taken over: it began without this host, so its binding says only through which
 * entry of the transcript it holds the conversation.
 */
import { PagurusError, toPagurusError } from "../../contract/errors.ts";
import type { HarnessBinding, HarnessTurn } from "../../contract/harness.ts";
import type { AppServer } from "./app-server.ts";
import type { ThreadForkParams, ThreadForkResponse } from "./protocol.ts";
import { resumeParams, type ThreadIdentity, type ThreadSettings } from "./thread.ts";
import { REQUEST_MS, type Threads } from "./threads.ts";

/** True until a turn has run on the thread. */
export function isAdopted(binding: HarnessBinding | undefined): binding is HarnessBinding {
  return binding?.state["adopted"] === true;
}

interface Taking {
  turn: HarnessTurn;
  identity: ThreadIdentity;
  settings: ThreadSettings;
  server: AppServer;
  threads: Threads;
}

/**
 * The binding as of a thread of the turn's kind; undefined where an engine governs, whose context goes into a new one, and
 * where Codex does not go on with the thread, which degrades the turn. Codex lets no thread change its provider (measured on
 * 0.169.0), so that a model of ours goes on in a fork, which holds the same native history.
 */
export async function takeOver(adopted: HarnessBinding, taking: Taking): Promise<HarnessBinding | undefined> {
  const { turn, identity } = taking;
  if (turn.engine.governs) return undefined;
  const { anchor } = adopted.state;
  try {
    const nativeId = await threadToGoOnIn(adopted.nativeId, taking);
    const isTheirs = nativeId === adopted.nativeId;
    return { nativeId, state: { ...identity, anchor, ...(isTheirs ? { isTheirs } : {}) } };
  } catch (error) {
    if (turn.signal.aborted) throw error;
    const why = toPagurusError(error).message;
    turn.degrade(
      "projection",
      `the thread that was taken over cannot be gone on with, a new one is told its words: ${why}`,
    );
    return undefined;
  }
}

async function threadToGoOnIn(nativeId: string, taking: Taking): Promise<string> {
  const { turn, settings, server, threads } = taking;
  const params = resumeParams(nativeId, turn.model.id, turn.cwd, settings);
  if (!settings.endpoint) {
    const thread = await threads.resume(server, params, turn.signal);
    if ("lost" in thread) throw new PagurusError("runtime_failed", `It ${thread.lost}.`);
    return nativeId;
  }
  const forked: ThreadForkParams = { ...params, developerInstructions: settings.developerInstructions };
  const options = { signal: turn.signal, deadlineMs: REQUEST_MS };
  const { thread } = await server.request<ThreadForkResponse>("thread/fork", forked, options);
  return thread.id;
}
