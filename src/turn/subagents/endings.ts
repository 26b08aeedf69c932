/**
 * The end of a child: recorded, then told to the engine, once. What cannot be recorded now is kept and recorded by a
 * later sweep; a crash in between leaves a record that the next process finds.
 */
import type { ContextEngine } from "../../contract/engine.ts";
import { toPagurusError } from "../../contract/errors.ts";
import type { ChildEnd, ChildEndReason, ChildRecord, SubagentLog } from "../../session/subagent-log.ts";
import type { Guard } from "../guard.ts";
import type { AgentHost } from "../scope.ts";
import { guardOutsideTurns } from "./plan.ts";
import { removeSession } from "./spawn.ts";

/** Longest that an engine may take to hear of an end, ms: the parent waits for it. */
const TELL_DEADLINE_MS = 5_000;

type Unrecorded = { failed: true } | { told: ChildEnd };

export class Endings {
  readonly #host: () => AgentHost;
  readonly #log: () => SubagentLog;
  /** What the registry does not say yet, because it could not be written. */
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

  /** A spawn failed before the child ran. Never throws. */
  failed(key: string): void {
    try {
      this.#log().setFailed(key);
    } catch (error) {
      this.#keep(key, { failed: true }, error);
    }
  }

  /** A child of this process has ended. Never rejects. */
  async ended(key: string, end: ChildEnd, by: { engine: ContextEngine; guard: Guard }): Promise<void> {
    try {
      if (!this.#log().end(key, end)) return;
    } catch (error) {
      this.#keep(key, { told: end }, error);
    }
    await this.#tell(key, end, by);
  }

  /** A child that nobody works on any more, taken over. Never rejects. */
  async orphan(record: ChildRecord): Promise<void> {
    const host = this.#host();
    const { childSessionKey: key, childSessionId: sessionId } = record;
    const kept = this.#unrecorded.get(key);
    this.#sweeping.add(key);
    try {
      if (!kept) await this.#end(host, record);
      else if ("failed" in kept) this.#log().setFailed(key);
      else {
        this.#log().end(key, kept.told);
        this.#log().setTold(key);
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
    // It was announced, and nothing of its own is in it: only its words would have to stay.
    if (state === "preparing") removeSession(host, record, guard);
    if (state !== "ended" && !this.#log().end(key, end)) return;
    await this.#tell(key, end, { engine, guard });
    host.logger.info("subagent swept", { sessionId: record.childSessionId, reason: end.reason });
  }

  async #tell(
    key: string,
    end: ChildEnd,
    { engine, guard }: { engine: ContextEngine; guard: Guard },
  ): Promise<void> {
    const reason: ChildEndReason = end.reason;
    const work = (): Promise<void> | undefined => engine.onSubagentEnded?.({ childSessionKey: key, reason });
    await guard.call("subagent", work, { deadlineMs: TELL_DEADLINE_MS });
    if (this.#unrecorded.has(key)) return;
    try {
      this.#log().setTold(key);
    } catch (error) {
      this.#keep(key, { told: end }, error);
    }
  }

  #keep(key: string, what: Unrecorded, error: unknown): void {
    this.#unrecorded.set(key, what);
    const { logger } = this.#host();
    logger.warn("end of a subagent not recorded", { code: toPagurusError(error).code });
  }
}
