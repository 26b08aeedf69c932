/** `runtime.subagent` of OpenClaw: an agent that a plugin starts in its own session, waits for and reads. */
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { PagurusError, toPagurusError } from "@pagurus/contract/errors";
import type { TurnEvent } from "@pagurus/contract/host/events";
import type { RunRequest } from "@pagurus/contract/host/run";
import type { ForeignMessage } from "./foreign-messages.ts";
import { isSessionThere, visibleMessages } from "./transcripts.ts";
import { defined } from "@pagurus/core/data/defined";

/** Host functions that a plugin's agents need. */
export interface AgentRuns {
  run(request: RunRequest): AsyncIterable<TurnEvent>;
  deleteSession(request: { sessionKey: string; agentId?: string }): Promise<unknown>;
}

export interface SubagentRun {
  sessionKey: string;
  message: string;
  /** Shown to the agent before the message, hidden from the user. */
  extraSystemPrompt?: string;
  provider?: string;
  model?: string;
  /** The same key returns the same run. */
  idempotencyKey?: string;
}

interface Ended {
  status: "ok" | "error";
  error?: string;
}

/** Number of runs whose end can still be queried; the oldest are dropped first. */
const KEPT_RUNS = 256;
const WAIT_MS = 30_000;

export class PluginSubagents {
  readonly #pluginId: string;
  readonly #runs: AgentRuns;
  readonly #ended = new Map<string, Promise<Ended>>();
  /** Sessions that this plugin's runs created. */
  readonly #made = new Set<string>();

  constructor(pluginId: string, runs: AgentRuns) {
    this.#pluginId = pluginId;
    this.#runs = runs;
  }

  /** Starts a turn without waiting for it. Permissions and cost limits are those of any turn. */
  readonly run = async (asked: SubagentRun): Promise<{ runId: string }> => {
    const runId = asked.idempotencyKey ?? randomUUID();
    if (!this.#ended.has(runId)) this.#ended.set(runId, this.#turn(asked).catch(failure));
    for (const oldest of this.#ended.keys()) {
      if (this.#ended.size <= KEPT_RUNS) break;
      this.#ended.delete(oldest);
    }
    return { runId };
  };

  readonly waitForRun = async (asked: {
    runId: string;
    timeoutMs?: number;
  }): Promise<{ status: "ok" | "error" | "timeout"; error?: string }> => {
    const ended = this.#ended.get(asked.runId);
    if (!ended) return { status: "error", error: `The plugin ${this.#pluginId} has no run ${asked.runId}.` };
    const timer = new AbortController();
    const late = pause(asked.timeoutMs ?? WAIT_MS, { status: "timeout" } as const, { signal: timer.signal });
    try {
      return await Promise.race([ended, late]);
    } finally {
      // The losing wait is ended and must not become an unhandled rejection.
      late.catch(() => undefined);
      timer.abort();
    }
  };

  /** The newest messages of a session, oldest first; none where there is no such session. */
  readonly getSessionMessages = async (asked: {
    sessionKey: string;
    limit?: number;
  }): Promise<{ messages: ForeignMessage[] }> => {
    const found = (await visibleMessages({ sessionKey: asked.sessionKey })) ?? [];
    return { messages: found.slice(-(asked.limit ?? found.length)).map(({ message }) => message) };
  };

  /** Deletes a session created by one of these runs. Throws `usage_invalid` for another, and the errors of the deletion. */
  readonly deleteSession = async (asked: {
    sessionKey: string;
    deleteTranscript?: boolean;
  }): Promise<void> => {
    if (!this.#made.has(asked.sessionKey)) {
      throw new PagurusError(
        "usage_invalid",
        `The plugin ${this.#pluginId} did not make the session ${JSON.stringify(asked.sessionKey)} and may not delete it.`,
      );
    }
    if (asked.deleteTranscript === false) return;
    await this.#runs.deleteSession(placeOf(asked.sessionKey));
    this.#made.delete(asked.sessionKey);
  };

  async #turn({ sessionKey, message, extraSystemPrompt, provider, model }: SubagentRun): Promise<Ended> {
    if (!isSessionThere({ sessionKey })) this.#made.add(sessionKey);
    const ref =
      model === undefined || provider === undefined || model.includes("/") ? model : `${provider}/${model}`;
    const instructions = extraSystemPrompt
      ? { additionalContext: { instructions: { value: extraSystemPrompt, kind: "application" as const } } }
      : {};
    const request = { prompt: message, ...placeOf(sessionKey), ...defined({ model: ref }), ...instructions };
    let last: TurnEvent | undefined;
    for await (const event of this.#runs.run(request)) last = event;
    if (last?.type === "turn.completed") return { status: "ok" };
    const error = last?.type === "turn.failed" ? last.error.message : "The turn ended without a result.";
    return { status: "error", error };
  }
}

function failure(error: unknown): Ended {
  return { status: "error", error: toPagurusError(error).message };
}

/** A session with the agent that its key names (`agent:<id>:…`), if it names one. */
function placeOf(sessionKey: string): { sessionKey: string; agentId?: string } {
  const agentId = /^agent:([^:]+):/.exec(sessionKey)?.[1];
  return agentId === undefined ? { sessionKey } : { sessionKey, agentId };
}
