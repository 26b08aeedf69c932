/** The subagents of one agent, as the rest of the host uses them. */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { PagurusError, toPagurusError } from "@pagurus/contract/errors";
import type { PluginTool } from "@pagurus/contract/host/plugin";
import type { SpawnedAgent, SpawnRequest } from "@pagurus/contract/host/run";
import type { SubagentFact } from "@pagurus/contract/host/status";
import { SubagentLog, type ChildRecord } from "../../stores/files/subagent-log.ts";
import type { CostGate } from "../cost/cost-limits.ts";
import type { AgentHost } from "../agent/agent-host.ts";
import { depthInKey, isChildKey } from "./child-key.ts";
import type { Child, RunTurn } from "./subagent-child.ts";
import { planInTurn, planOutsideTurn, subagentLimits } from "./subagent-plan.ts";
import type { ParentTurn, SubagentPort, SubagentResult } from "../agent/subagent-port.ts";
import { readResult } from "./subagent-result.ts";
import { RunningChildren } from "./subagent-runs.ts";
import { spawnTool } from "./subagent-tool.ts";
import { sessionKeyOf } from "../agent/session-key.ts";

/** Opens nothing before the first child, unless an earlier process has left a registry. */
export class Subagents implements SubagentPort {
  readonly #host: () => AgentHost;
  readonly #running: RunningChildren;
  #opened: SubagentLog | undefined;

  constructor(options: { host: () => AgentHost; runTurn: RunTurn }) {
    this.#host = options.host;
    this.#running = new RunningChildren({ ...options, log: () => this.#log });
  }

  depthOf(sessionKey: string): number {
    if (!isChildKey(sessionKey)) return 0;
    try {
      return this.#log.depthOf(sessionKey) ?? 0;
    } catch (error) {
      this.#warn("record of subagents not read", error);
      return depthInKey(sessionKey);
    }
  }

  tool(parent: ParentTurn): (PluginTool & { readOnly: true }) | undefined {
    const { sessionKey } = parent;
    if (this.depthOf(sessionKey) >= subagentLimits(this.#host()).depth) return undefined;
    return spawnTool(async (asked) => {
      const depth = this.#assertDepth(sessionKey);
      const child = await this.#running.start(await planInTurn(this.#host(), parent, asked), depth);
      return child.key;
    });
  }

  async spawn(request: SpawnRequest): Promise<SpawnedAgent> {
    this.#running.assertOpen();
    const host = this.#host();
    const asked = { sessionKey: request.parentSessionKey, cwd: request.cwd };
    const parentSessionKey = sessionKeyOf(host, asked);
    const depth = this.#assertDepth(parentSessionKey);
    const plan = await planOutsideTurn(host, { ...request, parentSessionKey });
    const child = await this.#running.start(plan, depth);
    return {
      childSessionKey: child.key,
      childSessionId: child.record.childSessionId,
      ended: child.ended,
      release: async () => {
        child.stop("released");
        await this.#running.ended([child]);
      },
    };
  }

  async results(
    sessionKey: string,
    onFailure: (reason: string) => void = () => undefined,
  ): Promise<SubagentResult[]> {
    const results: SubagentResult[] = [];
    try {
      const { store } = this.#host();
      for (const record of this.#log.waiting(sessionKey))
        results.push(await readResult(store, record, onFailure));
    } catch (error) {
      this.#warn("results of subagents not read", error);
      onFailure(`results of subagents wait: ${toPagurusError(error).message}`);
    }
    return results;
  }

  delivered(childSessionKeys: readonly string[]): void {
    this.#attempt("results of subagents not noted", () => this.#log.setDelivered(childSessionKeys));
  }

  nextEnd(sessionKey: string): Promise<void> | undefined {
    const running = this.#turnsChildren(sessionKey).filter((child) => child.running);
    if (running.length === 0) return undefined;
    return Promise.race(running.map(({ ended }) => ended)).then(() => undefined);
  }

  async endChildren(sessionKey: string, reason: "released" | "renewed" | "deleted"): Promise<void> {
    if (reason === "released") return this.#end(this.#turnsChildren(sessionKey), "released");
    const deep = reason === "deleted";
    const below = new Set(deep ? [sessionKey, ...this.descendants(sessionKey)] : []);
    const as = deep ? "deleted" : "released";
    const ending = this.#running
      .list()
      .filter(({ key, plan }) => below.has(key) || plan.parentSessionKey === sessionKey);
    const ask = (): void => this.#log.requestStop(sessionKey, as, deep);
    this.#attempt("end of subagents not asked for", ask);
    await this.#end(ending, as);
    await this.sweep();
    this.#attempt("results of subagents not dropped", () => this.#log.dropResults(sessionKey));
  }

  descendants(sessionKey: string): string[] {
    return this.#attempt("record of subagents not read", () => this.#log.descendants(sessionKey)) ?? [];
  }

  forget(sessionKey: string): void {
    this.#attempt("record of subagents not cleared", () => this.#log.forget(sessionKey));
  }

  costOf(sessionKey: string): CostGate | undefined {
    return this.#running.list().find(({ key }) => key === sessionKey)?.plan.cost;
  }

  async idle(): Promise<void> {
    await Promise.all(this.#running.list().map(({ ended }) => ended));
  }

  facts(sessionKey: string): SubagentFact[] {
    const read = (): ChildRecord[] => [...this.#log.unended(sessionKey), ...this.#log.waiting(sessionKey)];
    return (this.#attempt("record of subagents not read", read) ?? []).map(factOf);
  }

  sweep(): Promise<void> {
    return this.#running.sweep().catch((error: unknown) => this.#warn("subagents not swept", error));
  }

  async close(): Promise<void> {
    await this.#running.close();
    this.#opened?.close();
  }

  #turnsChildren(sessionKey: string): Child[] {
    return this.#running.list().filter(({ plan }) => plan.inTurn && plan.parentSessionKey === sessionKey);
  }

  async #end(children: Child[], reason: "released" | "deleted"): Promise<void> {
    // The deepest first: stopping one releases those below it.
    for (const child of children.toSorted((a, b) => b.record.depth - a.record.depth)) child.stop(reason);
    await this.#running.ended(children);
  }

  /** The depth of a session that may start a child. Throws `subagent_limit`. */
  #assertDepth(parentKey: string): number {
    const most = subagentLimits(this.#host()).depth;
    const depth = this.depthOf(parentKey);
    if (depth < most) return depth;
    throw new PagurusError(
      "subagent_limit",
      `The session ${parentKey} is at depth ${depth} and may start no subagent; agents.defaults.subagents.maxSpawnDepth is ${most}.`,
      { details: { sessionKey: parentKey, depth, maxSpawnDepth: most } },
    );
  }

  get #log(): SubagentLog {
    const { agentDir, logger } = this.#host();
    this.#opened ??= new SubagentLog({
      file: join(agentDir, "subagents.db"),
      instance: randomUUID(),
      holds: (key) => this.#running.holds(key),
      logger,
    });
    return this.#opened;
  }

  #attempt<T>(what: string, work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      this.#warn(what, error);
      return undefined;
    }
  }

  #warn(step: string, error: unknown): void {
    const { code } = toPagurusError(error);
    this.#host().logger.warn("subagent registry failed", { step, code });
  }
}

function factOf(record: ChildRecord): SubagentFact {
  const { childSessionKey, contextMode, depth, state, reason, live, expiresAt } = record;
  const over = state === "ended" ? reason === "swept" : !live;
  return {
    childSessionKey,
    contextMode,
    state: over ? "swept" : state === "ended" ? "ended" : "running",
    depth,
    expiresAt: new Date(expiresAt).toISOString(),
  };
}
