import type { ContextEngine } from "@pagurus/contract/engine/engine";
import { toPagurusError } from "@pagurus/contract/errors";
import type { CostSoFar } from "@pagurus/contract/host/cost";
import type { Degradation } from "@pagurus/contract/host/events";
import type { AgentHarness } from "@pagurus/contract/harness/harness";
import type { AgentMessage } from "@pagurus/contract/message";
import type {
  CompactionFact,
  FallbackFacts,
  StatusReport,
  StatusRequest,
} from "@pagurus/contract/host/status";
import type { SessionReader } from "@pagurus/contract/session/writer";
import type { ModelInfo } from "@pagurus/contract/model";
import type { Receipt } from "@pagurus/contract/session/receipt";
import type { RuntimeReason } from "@pagurus/contract/harness/runtimes";
import type { CompactionEntry, TranscriptEntry } from "@pagurus/contract/session/transcript";
import { attempt } from "@pagurus/core/data/attempt";
import { ModelCooldowns } from "../../stores/files/model-cooldowns.ts";
import { readBinding, WRAPPED } from "../../stores/files/bindings.ts";
import { messagesTokens } from "@pagurus/core/tokens/message-tokens";
import type { SandboxReport } from "../../tool/shell/sandbox.ts";
import { checkCompactionOwner, checkPlugins } from "../admit/admit-turn.ts";
import { CostGate, costLimits } from "../cost/cost-limits.ts";
import { heldCosts } from "../cost/held-costs.ts";
import { checkHostRequirements } from "../selection/host-requirements.ts";
import { agedIn, contextGauge } from "../context/in-attempt-gauge.ts";
import { recordedFallback } from "../record/fallback-entry.ts";
import { engineCompactionFact } from "../record/engine-compaction-entry.ts";
import type { Guard } from "../guard/guard.ts";
import { fixedParts, hostTools } from "./inspect-session.ts";
import { lookGuard, sessionReader } from "../agent/session-look.ts";
import { engineReport } from "../engine/engine-report.ts";
import type { AgentHost } from "../agent/agent-host.ts";
import { executionText } from "../selection/runtime-list.ts";
import { EMBEDDED, reasonOf, selectRuntime } from "../selection/select-runtime.ts";
import { asSent } from "../context/sent-messages.ts";
import { readContext } from "../context/context-slice.ts";
import { planFact } from "../state/turn-plan.ts";
import { governs, runtimeKeepsContext } from "../context/native-context.ts";
import { nativeCompactionFact } from "../record/native-compactions.ts";
import { sessionKeyOf } from "../agent/session-key.ts";
import { reportedContext } from "../context/own-parts.ts";
import { currentFolder } from "@pagurus/core/platform/surroundings";
import { defined } from "@pagurus/core/data/defined";

/** How far back `status` searches for compactions, degradations and the last turn, in entries. */
const LOOK_BACK = 2_000;
const MOST_DEGRADATIONS = 20;
const MOST_COMPACTIONS = 10;
const MOST_ERRORS = 5;
const MOST_FALLBACKS = 5;
/** Placeholder for what cannot be chosen or created. */
const UNAVAILABLE = "unavailable";

type SessionFacts = Pick<
  StatusReport,
  | "compactions"
  | "compactionsBy"
  | "lastErrors"
  | "recentCompactions"
  | "degraded"
  | "lastTurn"
  | "interruptedTurns"
  | "runningIn"
  | "plan"
> & { recentFallbacks: FallbackFacts["recent"] };

export type HostStatus = Omit<StatusReport, "home" | "configFile" | "configFound" | "configWarnings">;

/** Reads only. What would refuse a run is reported: the report is needed most when something is broken. */
export async function readStatus(
  host: AgentHost,
  request: Omit<StatusRequest, "agentId">,
): Promise<HostStatus> {
  const problems = new Problems();
  const sessionKey = sessionKeyOf(host, request);
  const { cwd, model, info, modelSource, harness, runtimeReason, engine } = await chosen(
    host,
    request,
    problems,
  );
  const guard = lookGuard(host, engine?.info.id ?? host.slot.id, "status");
  const agent = harness && engine ? { harness, engine } : undefined;
  const fixed =
    info && (await problems.note(() => fixedParts(host, { cwd, model: info, guard, sessionKey, agent })));
  const tools = fixed?.tools ?? (await problems.note(() => hostTools(host, { cwd, sessionKey }, [])));
  const reader = await problems.note(() => sessionReader(host, sessionKey));
  const window = model.contextWindow;
  const keeps = harness !== undefined && engine !== undefined && runtimeKeepsContext(harness, engine);
  try {
    const slice = window > 0 && reader ? readContext(reader, window) : reader?.contextMessages();
    const held = slice?.messages ?? [];
    const { recentFallbacks, ...facts } = await sessionFacts(reader);
    const sessionId = reader?.record.sessionId ?? "";
    const last = reader && host.receipts(reader.record).lastOwn();
    const tokenBudget = last && wrappedIn(last) ? last.tokenBudget : fixed?.tokenBudget;
    const reported = await engineReport(engine, { sessionId, sessionKey, tokenBudget });
    return {
      agentId: host.agentId,
      sessionKey,
      ...defined({ session: reader?.record }),
      ...placeFacts({ model, modelSource, harness, runtimeReason, last }),
      ...fallbackFacts(host, harness, recentFallbacks),
      ...(wrappedIn(last) ? { seam: { usual: "wire" as const } } : {}),
      ...(harness && !wrappedIn(last) ? { seam: seamFacts(host, harness, { reader, keeps }) } : {}),
      ...lastRequest(last),
      engine: {
        selected: host.slot.id,
        source: host.slot.source,
        ...engineFacts(engine),
        ...reported,
      },
      context: contextGauge(host, keeps ? undefined : engine, info, {
        tokens: filledTokens(host, { held, engine, reader, model, facts, last, tokenBudget }),
        budget: tokenBudget ?? 0,
        trigger: reported.state?.trigger,
        ...agedIn(last),
      }),
      memory: await memoryFact(host, guard, cwd),
      ...defined({ checkpoints: host.checkpoints.bytes(cwd) }),
      subagents: host.subagents.facts(sessionKey),
      ...(info && reader ? { cost: costSoFar(host, info, sessionId) } : {}),
      permission: host.settings.permission.mode,
      sandbox: tools ? await sandboxFact(tools) : UNAVAILABLE,
      ...facts,
      ...(host.plugins.facts.length > 0 && { plugins: host.plugins.facts }),
      problems: problems.found,
    };
  } finally {
    reader?.close();
  }
}

async function sandboxFact(tools: { sandbox(): Promise<SandboxReport> }): Promise<string> {
  const { kind, detail } = await tools.sandbox();
  return `${kind}: ${detail}`;
}

interface Filled {
  held: readonly AgentMessage[];
  engine: ContextEngine | undefined;
  reader: SessionReader | undefined;
  model: Chosen["model"];
  facts: Pick<SessionFacts, "recentCompactions">;
  /** Receipt of the newest request. */
  last: Receipt | undefined;
  tokenBudget: number | undefined;
}

/**
 * Tokens of the context: with an engine that governs it, those of the newest request plus the messages since; else those of the
 * transcript's messages.
 */
function filledTokens(host: AgentHost, filled: Filled): number {
  const { held, engine, reader, model, facts, last, tokenBudget = 0 } = filled;
  const count = (messages: readonly AgentMessage[]): number => {
    const plain = messagesTokens(asSent(host, { window: model.contextWindow, tokenBudget }, messages));
    return model.contextWindow > 0 ? host.calibration(reader?.record, model.ref).apply(plain) : plain;
  };
  const isOurs = engine !== undefined && governs(engine) && last?.engine === engine.info.id;
  if (!isOurs || last?.contextTokens === undefined || isRewound(last, held)) return count(held);
  const sentTokens = reportedContext(last, { id: last.runtime }, model.contextWindow) ?? last.contextTokens;
  const sent = new Set(last.parts.map(({ entryId }) => entryId));
  const newest = held.findLastIndex(({ entryId }) => entryId !== undefined && sent.has(entryId));
  const since = newest < 0 ? 0 : count(held.slice(newest + 1));
  const [compacted] = facts.recentCompactions;
  // The transcript shows the effect of a summary of its own; an engine that keeps its compaction reports the tokens itself.
  if (compacted && compacted.timestamp > last.timestamp)
    return compacted.kept === true ? (compacted.tokensAfter ?? sentTokens) + since : count(held);
  return sentTokens + since;
}

/** Whether the conversation was rewound to before the turn of the request. */
function isRewound({ parts, liveFrom }: Receipt, held: readonly AgentMessage[]): boolean {
  const live = parts.slice(liveFrom).flatMap(({ entryId }) => (entryId === undefined ? [] : [entryId]));
  const kept = new Set(held.map(({ entryId }) => entryId));
  return live.length > 0 && !live.some((entryId) => kept.has(entryId));
}

/** Collects what would refuse a run, without ending the report. */
class Problems {
  readonly found: StatusReport["problems"] = [];

  async note<T>(work: () => T | Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      const { code, message } = toPagurusError(error);
      this.found.push({ code, message });
      return undefined;
    }
  }
}

interface Chosen {
  cwd: string;
  /** The window is 0 when the ref names no usable model. */
  model: { ref: string; contextWindow: number };
  info: ModelInfo | undefined;
  modelSource: string;
  harness: AgentHarness | undefined;
  runtimeReason: RuntimeReason | undefined;
  engine: ContextEngine | undefined;
}

async function chosen(
  host: AgentHost,
  { cwd: folder, ...asked }: Pick<StatusRequest, "cwd" | "model" | "runtime">,
  problems: Problems,
): Promise<Chosen> {
  const { ref, source, problem } =
    asked.model === undefined
      ? await host.defaultModel()
      : { ref: asked.model, source: "chosen for these turns", problem: undefined };
  if (problem) problems.found.push({ code: problem.code, message: problem.message });
  const model = await problems.note(() => host.modelInfo(ref));
  const choice =
    model && (await problems.note(() => selectRuntime({ ...host, model, requested: asked.runtime })));
  const engine = await problems.note(() => host.slot.get());
  await problems.note(() => checkPlugins(host));
  if (engine && choice && model) {
    await problems.note(() =>
      checkHostRequirements(engine, choice.harness, "agent-run", { harnesses: host.harnesses, model }),
    );
    await problems.note(() => checkCompactionOwner(host, engine));
  }
  return {
    cwd: folder ?? host.settings.workspace ?? currentFolder(),
    model: { ref: model?.ref ?? ref, contextWindow: model?.contextWindow ?? 0 },
    info: model,
    modelSource: source,
    harness: choice?.harness,
    runtimeReason: choice && reasonOf(choice),
    engine,
  };
}

function runtimeWords(reason: RuntimeReason | undefined): Omit<StatusReport["Runtime"], "id"> {
  return { rule: reason?.source ?? "", ...defined({ why: reason?.why }) };
}

function seamFacts(
  { store }: AgentHost,
  { id, seam: usual }: AgentHarness,
  { reader, keeps }: { reader: SessionReader | undefined; keeps: boolean },
): NonNullable<StatusReport["seam"]> {
  // A binding that cannot be read is reported as a degradation by the next turn, which starts a new thread.
  const boundTo = attempt(() => reader && readBinding(reader.record, id, store.shared)?.nativeId);
  return { usual, ...defined({ boundTo }), ...(keeps ? { keepsContext: true } : {}) };
}

/** Name of the wrapped program that made the session's newest request. */
function wrappedIn(last: Receipt | undefined): string | undefined {
  return last?.runtime.startsWith(WRAPPED) === true ? last.runtime.slice(WRAPPED.length) : undefined;
}

type Placed = Pick<Chosen, "model" | "modelSource" | "harness" | "runtimeReason"> & {
  last: Receipt | undefined;
};

/** Model and place of the session's turns: of the wrapped program that makes them, else as the host would choose. */
function placeFacts({
  model,
  modelSource,
  harness,
  runtimeReason,
  last,
}: Placed): Pick<StatusReport, "model" | "Execution" | "Runtime"> {
  const program = wrappedIn(last);
  if (last && program !== undefined)
    return {
      // The window is the program's own, which a receipt does not have.
      model: { ref: last.model, source: `the program's, under pagurus wire`, contextWindow: 0 },
      Execution: `external: ${program}, the user's own, under pagurus wire`,
      Runtime: { id: last.runtime, rule: "the session follows a wrapped program" },
    };
  return {
    model: { ref: model.ref, source: modelSource, contextWindow: model.contextWindow },
    Execution: harness ? executionText(harness) : UNAVAILABLE,
    Runtime: { id: harness?.id ?? UNAVAILABLE, ...runtimeWords(runtimeReason) },
  };
}

function lastRequest(last: Receipt | undefined): Pick<StatusReport, "lastRequest" | "wrapped"> {
  if (!last) return {};
  const { runtime, seam, engine, model, timestamp, epoch } = last;
  const program = wrappedIn(last);
  return {
    lastRequest: { runtime, seam, engine, model, timestamp, ...defined({ epoch }) },
    ...(program === undefined ? {} : { wrapped: { program, runtime, model, tokenBudget: last.tokenBudget } }),
  };
}

function engineFacts(engine: ContextEngine | undefined): Omit<StatusReport["engine"], "selected" | "source"> {
  if (!engine) return { effective: UNAVAILABLE, contract: "unknown", lifecycle: "unknown" };
  return {
    effective: engine.info.id,
    contract: engine.info.contract ?? "openclaw",
    lifecycle: engine.commitTurn ? "durable" : "classic",
    name: engine.info.name,
    ...defined({ version: engine.info.version }),
    governs: governs(engine),
    ownsCompaction: engine.info.ownsCompaction === true,
    interceptsCompaction: engine.info.interceptsCompaction === true,
  };
}

function fallbackFacts(
  host: AgentHost,
  harness: AgentHarness | undefined,
  recent: FallbackFacts["recent"],
): Pick<StatusReport, "fallbacks"> {
  const { fallbacks } = host.settings;
  if (fallbacks.length === 0 && recent.length === 0) return {};
  const models = fallbacks.map((name) => attempt(() => host.modelInfo(name).ref) ?? name);
  const applied = harness === undefined || harness.id === EMBEDDED;
  return { fallbacks: { models, applied, cooldowns: new ModelCooldowns(host).list(), recent } };
}

async function sessionFacts(reader: SessionReader | undefined): Promise<SessionFacts> {
  const facts: SessionFacts = {
    compactions: 0,
    recentCompactions: [],
    degraded: [],
    recentFallbacks: [],
    interruptedTurns: reader?.interruptedTurns() ?? [],
    ...defined({ runningIn: reader?.runningIn }),
  };
  if (!reader) return facts;
  const all: CompactionFact[] = [];
  const errors: NonNullable<StatusReport["lastErrors"]> = [];
  let seen = 0;
  for await (const entry of reader.cursor.backward()) {
    if (++seen > LOOK_BACK) break;
    const compacted =
      entry.type === "compaction"
        ? compactionFact(entry)
        : (nativeCompactionFact(entry) ?? engineCompactionFact(entry));
    if (compacted) {
      all.push(compacted);
      facts.compactions += 1;
      if (facts.recentCompactions.length < MOST_COMPACTIONS) facts.recentCompactions.push(compacted);
    }
    if (entry.type === "turn_commit" && entry.outcome === "failed" && errors.length < MOST_ERRORS) {
      const { turnId, timestamp, code = "internal" } = entry;
      errors.push({ turnId, code, timestamp });
    }
    if (entry.type === "turn_commit" && !facts.lastTurn) {
      facts.lastTurn = { turnId: entry.turnId, outcome: entry.outcome, ...defined({ code: entry.code }) };
    }
    const plan = facts.plan ? undefined : planFact(entry);
    if (plan) facts.plan = plan;
    const fallback = recordedFallback(entry);
    if (fallback && facts.recentFallbacks.length < MOST_FALLBACKS) facts.recentFallbacks.push(fallback);
    const degraded = degradationOf(entry);
    if (degraded && facts.degraded.length < MOST_DEGRADATIONS) facts.degraded.push(degraded);
  }
  return { ...facts, compactionsBy: countedBy(all), lastErrors: errors };
}

function countedBy(compactions: readonly CompactionFact[]): NonNullable<StatusReport["compactionsBy"]> {
  return [...Map.groupBy(compactions, ({ lane, handledBy }) => JSON.stringify([lane, handledBy])).values()]
    .map((group) => {
      const { lane, handledBy } = group[0] ?? {};
      return { ...defined({ lane, handledBy }), count: group.length };
    })
    .toSorted((one, other) => other.count - one.count);
}

function compactionFact(entry: CompactionEntry): CompactionFact {
  const { id, timestamp, lane, trigger, handledBy, tokensBefore, tokensAfter } = entry;
  return { entryId: id, timestamp, tokensBefore, ...defined({ lane, trigger, handledBy, tokensAfter }) };
}

/** The fixed parts have just reported a memory that is unavailable. */
async function memoryFact(host: AgentHost, guard: Guard, cwd: string): Promise<StatusReport["memory"]> {
  const selected = host.memory.id ?? "none";
  if (guard.degraded.some(({ stage }) => stage === "memory")) return { selected, effective: UNAVAILABLE };
  try {
    return { selected, effective: (await host.memory.get(cwd))?.id ?? selected };
  } catch {
    // Without a model the fixed parts were not built.
    return { selected, effective: UNAVAILABLE };
  }
}

function costSoFar(host: AgentHost, model: ModelInfo, sessionId: string): CostSoFar {
  const limits = costLimits(undefined, host.config.agents?.defaults?.maxCost);
  const gate = new CostGate({
    limits,
    model,
    ledger: host.spend,
    sessionId: () => sessionId,
    turnId: "status",
    held: heldCosts(host.store),
  });
  const { turn: _turn, ...known } = gate.soFar();
  return known;
}

function degradationOf(entry: TranscriptEntry): (Degradation & { timestamp: string }) | undefined {
  if (entry.type !== "custom" || entry.customType !== "pagurus.degraded") return undefined;
  const { stage, reason, engineId } = entry.data as Pick<Degradation, "stage" | "reason" | "engineId">;
  return { stage, reason, engineId, turnId: entry.turnId ?? "", timestamp: entry.timestamp };
}
