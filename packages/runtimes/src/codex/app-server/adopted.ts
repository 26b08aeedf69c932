/** First turn on an adopted thread: it began without this host, so its binding only names the newest transcript entry in it. */
import { PagurusError, toPagurusError } from "@pagurus/contract/errors";
import type { HarnessBinding, HarnessTurn } from "@pagurus/contract/harness/harness";
import type { AppServer } from "./app-server.ts";
import type { ThreadForkParams, ThreadForkResponse } from "../protocol.ts";
import { resumeParams, type ThreadIdentity, type ThreadSettings } from "../codex-thread.ts";
import { REQUEST_MS, type Threads } from "../codex-threads.ts";

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
 * Converts the binding to one of the turn's kind. Undefined when an engine governs, whose context goes into a new thread, and
 * when Codex refuses the thread, which degrades the turn. Codex cannot change a thread's provider (measured on 0.169.0), so a
 * model of ours continues in a fork with the same native history.
 */
export async function takeOver(adopted: HarnessBinding, taking: Taking): Promise<HarnessBinding | undefined> {
  const { turn, identity } = taking;
  if (turn.engine.governs) return undefined;
  const { anchor } = adopted.state;
  try {
    const nativeId = await threadToContinue(adopted.nativeId, taking);
    const isTheirs = nativeId === adopted.nativeId;
    return { nativeId, state: { ...identity, anchor, ...(isTheirs ? { isTheirs } : {}) } };
  } catch (error) {
    if (turn.signal.aborted) throw error;
    const why = toPagurusError(error).message;
    turn.io.degrade(
      "projection",
      `the adopted thread cannot be continued; a new one gets its messages: ${why}`,
    );
    return undefined;
  }
}

async function threadToContinue(nativeId: string, taking: Taking): Promise<string> {
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
