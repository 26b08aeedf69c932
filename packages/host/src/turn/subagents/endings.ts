/**
 * The end of a child: recorded, then reported to the engine, once. What cannot be recorded now is kept and recorded by a later sweep; after
 * a crash in between the next process finds the record.
 */
import type { ContextEngine } from "@pagurus/contract/engine/engine";
import { toPagurusError } from "@pagurus/contract/errors";
import type { ChildEnd, ChildEndReason, ChildRecord, SubagentLog } from "../../stores/files/subagent-log.ts";
import type { Guard } from "../guard/guard.ts";
import type { AgentHost } from "../agent/agent-host.ts";
import { runHooks } from "../guard/turn-hooks.ts";
import { guardOutsideTurns } from "./subagent-plan.ts";
import { removeSession } from "./spawn.ts";

/** Deadline of the engine's notification of an end, ms: the parent waits for it. */
const NOTIFY_DEADLINE_MS = 5_000;

type Unrecorded = { failed: true } | { end: ChildEnd };

export class Endings {
  readonly #host: () => AgentHost;
  readonly #log: () => SubagentLog;
  /** Ends that could not be written to the registry yet. */
  readonly #unrecorded = new Map<string, Unrecorded>();
  /** Children that a sweep is working on. */
  readonly #sweeping = new Set<string>();

  constructor(host: () => AgentHost, log: () => SubagentLog) {
    this.#host = host;
    this.#log = log;
  }

  /** Something is left for the next sweep. */
  get open(): boolean {
    return this.#unrecorded.size > 0;
  }

  holds(key: string): boolean {
    return this.#sweeping.has(key);
  }

  /** Ends a child whose spawn failed before it ran. Never throws. */
  failed(key: string): void {
    try {
      this.#log().setFailed(key);
    } catch (error) {
      this.#keep(key, { failed: true }, error);
    }
  }

  /** Ends a child of this process. Never rejects. */
  async ended(key: string, end: ChildEnd, by: { engine: ContextEngine; guard: Guard }): Promise<void> {
    try {
      if (!this.#log().end(key, end)) return;
    } catch (error) {
      this.#keep(key, { end }, error);
    }
    await this.#notifyEngine(key, end, by);
  }

  /** Takes over a child whose process has died. Never rejects. */
  async orphan(record: ChildRecord): Promise<void> {
    const host = this.#host();
    const { childSessionKey: key, childSessionId: sessionId } = record;
    const kept = this.#unrecorded.get(key);
    this.#sweeping.add(key);
    try {
      if (!kept) await this.#end(host, record);
      else if ("failed" in kept) this.#log().setFailed(key);
      else {
        this.#log().end(key, kept.end);
        this.#log().setNotified(key);
      }
      if (kept) this.#unrecorded.delete(key);
    } catch (error) {
      host.logger.warn("subagent not swept", { sessionId, code: toPagurusError(error).code });
    } finally {
      this.#sweeping.delete(key);
    }
  }

  async #end(host: AgentHost, record: ChildRecord): Promise<void> {
    const { childSessionKey: key, state, reason, stop } = record;
    const engine = await host.slot.get();
    const guard = guardOutsideTurns(host, engine);
    const end: ChildEnd = { reason: reason ?? stop ?? "swept", outcome: "aborted" };
    // It was announced and has no content of its own; otherwise its text would have to stay.
    if (state === "preparing") removeSession(host, record, guard);
    if (state !== "ended" && !this.#log().end(key, end)) return;
    await this.#notifyEngine(key, end, { engine, guard });
    host.logger.info("subagent swept", { sessionId: record.childSessionId, reason: end.reason });
  }

  async #notifyEngine(
    key: string,
    end: ChildEnd,
    { engine, guard }: { engine: ContextEngine; guard: Guard },
  ): Promise<void> {
    const reason: ChildEndReason = end.reason;
    const work = (): Promise<void> | undefined => engine.onSubagentEnded?.({ childSessionKey: key, reason });
    await guard.call("subagent", work, { deadlineMs: NOTIFY_DEADLINE_MS });
    const host = this.#host();
    await runHooks(
      host.hooks,
      "subagent_ended",
      { childSessionKey: key, reason, outcome: end.outcome },
      { sessionKey: key, sessionId: host.store.find(key)?.sessionId ?? "", agentId: host.agentId },
      { logger: host.logger },
    );
    if (this.#unrecorded.has(key)) return;
    try {
      this.#log().setNotified(key);
    } catch (error) {
      this.#keep(key, { end }, error);
    }
  }

  #keep(key: string, what: Unrecorded, error: unknown): void {
    this.#unrecorded.set(key, what);
    const { logger } = this.#host();
    logger.warn("end of a subagent not recorded", { code: toPagurusError(error).code });
  }
}
