import type { HookContext } from "@pagurus/contract/host/hooks";
import { runHooks, type HookOptions } from "../guard/turn-hooks.ts";
import type { LaneFacts, LaneScope } from "./lane-scope.ts";
import { defined } from "@pagurus/core/data/defined";

/** Reports one compaction to events, hooks and the log, from its start to its end. */
export class Announcement {
  readonly #scope: LaneScope;
  readonly #facts: LaneFacts;
  readonly #tokensBefore: number;
  readonly #began = performance.now();

  private constructor(scope: LaneScope, facts: LaneFacts, tokensBefore: number) {
    this.#scope = scope;
    this.#facts = facts;
    this.#tokensBefore = tokensBefore;
  }

  static async begin(scope: LaneScope, facts: LaneFacts, tokensBefore: number): Promise<Announcement> {
    const announcement = new Announcement(scope, facts, tokensBefore);
    scope.emit({ type: "compaction.started", ...announcement.#common(), tokensBefore });
    const { lane, trigger } = facts;
    const { context, options } = hookCall(scope);
    await runHooks(scope.host.hooks, "before_compaction", { lane, trigger, tokensBefore }, context, options);
    return announcement;
  }

  /** For a compaction that was over before the host noticed it. */
  static afterwards(
    scope: LaneScope,
    facts: LaneFacts,
    done: { tokensBefore: number; tokensAfter: number; handledBy: string },
  ): Promise<void> {
    return new Announcement(scope, facts, done.tokensBefore).completed(done);
  }

  async completed(done: { tokensBefore: number; tokensAfter: number; handledBy: string }): Promise<void> {
    const { lane, trigger } = this.#facts;
    const { tokensBefore, tokensAfter, handledBy } = done;
    this.#scope.emit({ type: "compaction.completed", ...this.#common(), ...done });
    const { engineId, sessionId, turnId, ownsCompaction, durationMs } = this.#known();
    const { backend } = this.#facts;
    const { logger } = this.#scope.host;
    logger.debug("compaction completed", {
      lane,
      trigger,
      backend,
      engineId,
      sessionId,
      turnId,
      ownsCompaction,
      durationMs,
      tokensBefore,
      tokensAfter,
      handledBy,
    });
    const payload = { lane, trigger, tokensBefore, tokensAfter };
    const { context, options } = hookCall(this.#scope);
    await runHooks(this.#scope.host.hooks, "after_compaction", payload, context, options);
  }

  failed(reason: string, handledBy: string): void {
    const tokensBefore = this.#tokensBefore;
    this.#scope.emit({ type: "compaction.failed", ...this.#common(), tokensBefore, handledBy, reason });
    const { lane, trigger, backend } = this.#facts;
    const { engineId, sessionId, turnId, ownsCompaction, durationMs } = this.#known();
    const { logger } = this.#scope.host;
    logger.debug("compaction not made", {
      lane,
      trigger,
      backend,
      engineId,
      sessionId,
      turnId,
      ownsCompaction,
      durationMs,
      tokensBefore,
      handledBy,
    });
  }

  #common(): LaneFacts & { ownsCompaction: boolean } {
    return { ...this.#facts, ownsCompaction: this.#scope.engine.info.ownsCompaction === true };
  }

  #known(): {
    engineId: string;
    sessionId: string;
    turnId: string | undefined;
    ownsCompaction: boolean;
    durationMs: number;
  } {
    const { engine, session, turnId } = this.#scope;
    return {
      engineId: engine.info.id,
      sessionId: session.writer.record.sessionId,
      turnId,
      ownsCompaction: engine.info.ownsCompaction === true,
      durationMs: Math.round(performance.now() - this.#began),
    };
  }
}

/** Context and options of a hook that runs within a lane. */
export function hookCall(scope: LaneScope): { context: HookContext; options: HookOptions } {
  const { host, guard, session, turnId, signal } = scope;
  const { sessionKey, sessionId } = session.writer.record;
  return {
    context: { sessionKey, sessionId, agentId: host.agentId, ...defined({ turnId }) },
    options: { signal, logger: host.logger, onFailure: (reason) => guard.degrade("hook", reason) },
  };
}
