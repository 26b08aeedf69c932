/** The children that run in this process: start, time-to-live checks, end. */
import { PagurusError } from "@pagurus/contract/errors";
import type { ChildEnd, SubagentLog } from "../../stores/files/subagent-log.ts";
import { closedError } from "../agent/open-work.ts";
import type { AgentHost } from "../agent/agent-host.ts";
import { childKey } from "./child-key.ts";
import { Child, type RunTurn } from "./subagent-child.ts";
import { Endings } from "./endings.ts";
import { subagentLimits, type SpawnPlan } from "./subagent-plan.ts";
import { OVERDUE } from "./subagent-result.ts";
import { runHooks } from "../guard/turn-hooks.ts";
import { announce, makeSession, removeSession, rollBack, stoppedError, type Rollback } from "./spawn.ts";

/** Interval of the checks, ms; a time-to-live that ends earlier is met when it ends. */
const LOOK_MS = 2_000;
const TOUCH_MS = 30_000;
/** Grace period of stopped children, ms. */
const END_GRACE_MS = 10_000;

export class RunningChildren {
  readonly #host: () => AgentHost;
  readonly #runTurn: RunTurn;
  readonly #log: () => SubagentLog;
  readonly #children = new Map<string, Child>();
  readonly #endings: Endings;
  #timer: NodeJS.Timeout | undefined;
  #touched = 0;
  #sweeping: Promise<void> | undefined;
  #closed = false;

  constructor(options: { host: () => AgentHost; runTurn: RunTurn; log: () => SubagentLog }) {
    this.#host = options.host;
    this.#runTurn = options.runTurn;
    this.#log = options.log;
    this.#endings = new Endings(options.host, options.log);
  }

  /** Whether this process still works on a child. */
  holds(key: string): boolean {
    return this.#children.has(key) || this.#endings.holds(key);
  }

  list(): Child[] {
    return [...this.#children.values()];
  }

  /** Throws `usage_invalid` on a closed host. */
  assertOpen(): void {
    if (this.#closed) throw closedError();
  }

  /**
   * Starts a child below a session of `parentDepth`; resolves once it runs. Throws `subagent_limit`, and what makes
   * the spawn fail; then nothing is left of it.
   */
  async start(plan: SpawnPlan, parentDepth: number): Promise<Child> {
    this.assertOpen();
    if (plan.signals.some(({ aborted }) => aborted)) {
      throw new PagurusError("turn_aborted", "The subagent was not started: its caller was aborted.");
    }
    const host = this.#host();
    const child = this.#reserve(host, plan, parentDepth);
    this.#children.set(child.key, child);
    let rollback: Rollback | undefined;
    try {
      rollback = await announce(host, child);
      if (child.stopped) throw stoppedError(child);
      await makeSession(host, child);
      if (!this.#log().setRunning(child.key)) throw stoppedError(child);
    } catch (error) {
      await this.#undo(child, rollback);
      throw error;
    }
    const { key, record } = child;
    const { contextMode, depth, childSessionId: sessionId } = record;
    host.logger.info("subagent started", { sessionId, contextMode, depth });
    plan.emit({ type: "subagent.started", childSessionKey: key, contextMode, depth });
    await runHooks(
      host.hooks,
      "subagent_spawned",
      { childSessionKey: key, parentSessionKey: plan.parentSessionKey },
      { sessionKey: plan.parentSessionKey, sessionId: plan.parent?.sessionId ?? "", agentId: host.agentId },
      { logger: host.logger },
    );
    void child.run(host, this.#runTurn).then((end) => this.#finish(child, end));
    this.#schedule();
    return child;
  }

  /** Waits for stopped children; one that does not end in time is given up and ended here. */
  async ended(children: readonly Child[]): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const grace = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, END_GRACE_MS);
    });
    await Promise.race([Promise.all(children.map(({ ended }) => ended)), grace]);
    clearTimeout(timer);
    const late = children.filter(({ ending, running }) => running && !ending);
    await Promise.all(late.map((child) => this.#finish(child, child.endOf(undefined))));
  }

  /** Rejects when the registry cannot be read or written. One at a time. */
  sweep(): Promise<void> {
    this.#sweeping ??= this.#sweep().finally(() => {
      this.#sweeping = undefined;
    });
    return this.#sweeping;
  }

  /** Releases running children. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    const children = this.list();
    for (const child of children) child.stop("released");
    await this.ended(children);
    await this.#sweeping?.catch(() => undefined);
  }

  #reserve(host: AgentHost, plan: SpawnPlan, parentDepth: number): Child {
    const most = subagentLimits(host).concurrent;
    const { parentSessionKey, contextMode, ttlMs } = plan;
    const record = this.#log().reserve({
      parentSessionKey,
      contextMode,
      most,
      childSessionId: host.store.reserveId(),
      depth: parentDepth + 1,
      expiresAt: Date.now() + ttlMs,
      keyOf: (number) => childKey(parentSessionKey, number),
      taken: (key) => host.store.find(key) !== undefined,
    });
    if (record) return new Child(record, plan);
    throw new PagurusError(
      "subagent_limit",
      `The session ${parentSessionKey} has ${most} subagents at work, which is agents.defaults.subagents.maxConcurrent; wait for one to end.`,
      { details: { sessionKey: parentSessionKey, maxConcurrent: most } },
    );
  }

  async #undo(child: Child, rollback: Rollback | undefined): Promise<void> {
    const { guard } = child.plan;
    child.ending = true;
    if (rollback) await rollBack(guard, rollback);
    removeSession(this.#host(), child.record, guard);
    this.#endings.failed(child.key);
    this.#children.delete(child.key);
    child.finish({ reason: "released", outcome: "aborted" });
  }

  async #finish(child: Child, end: ChildEnd): Promise<void> {
    if (child.ending) return;
    child.ending = true;
    const { plan, key } = child;
    await this.#endings.ended(key, end, plan);
    this.#children.delete(key);
    plan.emit({ type: "subagent.ended", childSessionKey: key, outcome: end.outcome });
    child.finish(end);
  }

  async #sweep(): Promise<void> {
    const now = Date.now();
    for (const child of this.list()) if (child.record.expiresAt <= now) child.stop("swept", OVERDUE);
    const log = this.#log();
    if (this.#children.size > 0 && now - this.#touched >= TOUCH_MS) {
      this.#touched = now;
      log.touch();
    }
    for (const { childSessionKey, stop } of log.toStop())
      this.#children.get(childSessionKey)?.stop(stop === "deleted" ? "deleted" : "released");
    for (const record of log.takeOrphans()) {
      // The next process takes over the rest.
      if (this.#closed) return;
      await this.#endings.orphan(record);
    }
  }

  /** Schedules the next check, until no child runs. */
  #schedule(): void {
    clearTimeout(this.#timer);
    if (this.#closed || (this.#children.size === 0 && !this.#endings.open)) return;
    const ends = this.list()
      .filter(({ stopped }) => !stopped)
      .map(({ record }) => record.expiresAt - Date.now());
    const look = (): void => {
      const warn = (): void => this.#host().logger.warn("subagents not swept");
      void this.sweep()
        .catch(warn)
        .then(() => this.#schedule());
    };
    this.#timer = setTimeout(look, Math.max(0, Math.min(LOOK_MS, ...ends)));
    this.#timer.unref();
  }
}
