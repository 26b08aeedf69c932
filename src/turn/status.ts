import type { ContextEngine } from "../contract/engine.ts";
import { toPagurusError } from "../contract/errors.ts";
import type { CostSoFar, Degradation } from "../contract/events.ts";
import type { AgentHarness } from "../contract/harness.ts";
import type { CompactionFact, StatusReport } from "../contract/status.ts";
import type { SessionReader } from "../contract/writer.ts";
import type { ModelInfo } from "../contract/model.ts";
import type { RuntimeReason } from "../contract/runtimes.ts";
import type { CompactionEntry, TranscriptEntry } from "../contract/transcript.ts";
import { withDeadline } from "../platform/deadline.ts";
import { readBinding } from "../session/bindings.ts";
import { openReceiptLog, receiptFile } from "../session/receipts.ts";
import { messagesTokens } from "../tokens/messages.ts";
import { checkCompactionOwner, checkPlugins } from "./admit.ts";
import { CostGate, costLimits } from "./cost.ts";
import { checkHostRequirements } from "./host-requirements.ts";
import { contextGauge } from "./gauge.ts";
import type { Guard } from "./guard.ts";
import { fixedParts, hostTools, lookGuard, readerOf } from "./inspect.ts";
import { pluginFailure } from "./plugin-failure.ts";
import type { AgentHost } from "./scope.ts";
import { executionText } from "./select/runtimes.ts";
import { reasonOf, selectRuntime } from "./select/select.ts";
import { readContext } from "./context-slice.ts";
import { planFact } from "./plan.ts";
import { runtimeKeepsContext } from "./native-context.ts";
import { nativeCompactionFact } from "./native-compactions.ts";

/** How far back `status` looks for compactions, degradations and the last turn, in entries. */
const LOOK_BACK = 2_000;
const MOST_DEGRADATIONS = 20;
const MOST_COMPACTIONS = 10;
const MOST_ERRORS = 5;
/** Longest an engine may take to say how it is, ms. */
const STATUS_DEADLINE_MS = 5_000;
/** Stands for what cannot be chosen or created. */
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
>;

export type HostStatus = Omit<StatusReport, "home" | "configFile" | "configFound" | "configWarnings">;

/** Reads only. What refuses a run is reported: the report is wanted most when something is broken. */
export async function readStatus(
  host: AgentHost,
  request: { sessionKey?: string; cwd?: string },
): Promise<HostStatus> {
  const problems = new Problems();
  const sessionKey = request.sessionKey ?? "main";
  const { cwd, model, info, modelSource, harness, runtimeReason, engine } = await chosen(
    host,
    request.cwd,
    problems,
  );
  const guard = lookGuard(host, engine?.info.id ?? host.slot.id, "status");
  const agent = harness && engine ? { harness, engine } : undefined;
  const fixed =
    info && (await problems.note(() => fixedParts(host, { cwd, model: info, guard, sessionKey, agent })));
  const tools = fixed?.tools ?? (await problems.note(() => hostTools(host, { cwd, sessionKey }, [])));
  const reader = await problems.note(() => readerOf(host, sessionKey));
  const window = model.contextWindow;
  const keeps = harness !== undefined && engine !== undefined && runtimeKeepsContext(harness, engine);
  try {
    const slice = window > 0 && reader ? readContext(reader, window) : reader?.contextMessages();
    const held = slice?.messages ?? [];
    const tokens = messagesTokens(held);
    const sessionId = reader?.record.sessionId ?? "";
    return {
      agentId: host.agentId,
      sessionKey,
      ...(reader ? { session: reader.record } : {}),
      model: { ref: model.ref, source: modelSource, contextWindow: window },
      Execution: harness ? executionText(harness) : UNAVAILABLE,
      Runtime: { id: harness?.id ?? UNAVAILABLE, ...runtimeWords(runtimeReason) },
      ...(harness ? { seam: seamFacts(harness, reader, keeps) } : {}),
      ...lastRequest(host, reader),
      engine: {
        selected: host.slot.id,
        source: host.slot.source,
        ...engineFacts(engine),
        ...(await engineState(engine, { sessionId, sessionKey, tokenBudget: fixed?.tokenBudget })),
      },
      context: contextGauge(host, keeps ? undefined : engine, info, {
        tokens: window > 0 ? host.calibration(sessionId, model.ref).apply(tokens) : tokens,
        budget: fixed?.tokenBudget ?? 0,
      }),
      memory: await memoryFact(host, guard, cwd),
      subagents: host.subagents.facts(sessionKey),
      ...(info && reader ? { cost: costSoFar(host, info, sessionId) } : {}),
      permission: host.settings.permission.mode ?? "ask",
      sandbox: tools ? `${tools.sandbox.kind}: ${tools.sandbox.detail}` : UNAVAILABLE,
      ...(await sessionFacts(reader)),
      problems: problems.found,
    };
  } finally {
    reader?.close();
  }
}

/** What a run would be refused for, collected while the rest goes on. */
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
  /** The window is 0 where the ref names no usable model. */
  model: { ref: string; contextWindow: number };
  info: ModelInfo | undefined;
  modelSource: string;
  harness: AgentHarness | undefined;
  runtimeReason: RuntimeReason | undefined;
  engine: ContextEngine | undefined;
}

async function chosen(host: AgentHost, folder: string | undefined, problems: Problems): Promise<Chosen> {
  const { ref, source } = await host.defaultModel();
  const model = await problems.note(() => host.modelInfo(ref));
  const choice = model && (await problems.note(() => selectRuntime({ ...host, model })));
  const engine = await problems.note(() => host.slot.get());
  await problems.note(() => checkPlugins(host));
  if (engine && choice && model) {
    await problems.note(() =>
      checkHostRequirements(engine, choice.harness, "agent-run", { harnesses: host.harnesses, model }),
    );
    await problems.note(() => checkCompactionOwner(host, engine));
  }
  return {
    cwd: folder ?? host.settings.workspace ?? process.cwd(),
    model: { ref: model?.ref ?? ref, contextWindow: model?.contextWindow ?? 0 },
    info: model,
    modelSource: source,
    harness: choice?.harness,
    runtimeReason: choice && reasonOf(choice),
    engine,
  };
}

function runtimeWords(reason: RuntimeReason | undefined): Omit<StatusReport["Runtime"], "id"> {
  return { rule: reason?.source ?? "", ...(reason?.why === undefined ? {} : { why: reason.why }) };
}

function seamFacts(
  { id, seam: usual }: AgentHarness,
  reader: SessionReader | undefined,
  keeps: boolean,
): NonNullable<StatusReport["seam"]> {
  let boundTo: string | undefined;
  try {
    boundTo = reader && readBinding(reader.record, id)?.nativeId;
  } catch {
    // The next turn tells it as a degradation, and begins a thread anew.
  }
  return { usual, ...(boundTo === undefined ? {} : { boundTo }), ...(keeps ? { keepsContext: true } : {}) };
}

/** A request with a purpose is an engine's or plugin's own, and says nothing of the context. */
function lastRequest(host: AgentHost, reader: SessionReader | undefined): Pick<StatusReport, "lastRequest"> {
  if (!reader) return {};
  const newest = host.receipts(reader.record).last();
  const last =
    newest?.purpose === undefined
      ? newest
      : openReceiptLog({ file: receiptFile(reader.record) })
          .read()
          .findLast(({ purpose }) => purpose === undefined);
  if (!last) return {};
  const { runtime, seam, engine, model, timestamp, epoch } = last;
  return {
    lastRequest: { runtime, seam, engine, model, timestamp, ...(epoch === undefined ? {} : { epoch }) },
  };
}

function engineFacts(engine: ContextEngine | undefined): Omit<StatusReport["engine"], "selected" | "source"> {
  if (!engine) return { effective: UNAVAILABLE, contract: "unknown", lifecycle: "unknown" };
  return {
    effective: engine.info.id,
    contract: engine.info.contract ?? "openclaw",
    lifecycle: engine.commitTurn ? "durable" : "classic",
    name: engine.info.name,
    ...(engine.info.version === undefined ? {} : { version: engine.info.version }),
    ownsCompaction: engine.info.ownsCompaction === true,
    interceptsCompaction: engine.info.interceptsCompaction === true,
  };
}

/** What the engine says of itself; asked also before the session exists, since debts are the agent's. */
async function engineState(
  engine: ContextEngine | undefined,
  { tokenBudget, ...session }: { sessionId: string; sessionKey: string; tokenBudget: number | undefined },
): Promise<Pick<StatusReport["engine"], "state" | "stateProblem">> {
  if (!engine?.status) return {};
  const params = { ...session, ...(tokenBudget === undefined ? {} : { tokenBudget }) };
  const label = `The engine ${engine.info.id} at status`;
  try {
    return {
      state: (await withDeadline(() => engine.status?.(params), { ms: STATUS_DEADLINE_MS, label })) ?? {},
    };
  } catch (error) {
    return { stateProblem: pluginFailure(error).message };
  }
}

async function sessionFacts(reader: SessionReader | undefined): Promise<SessionFacts> {
  const facts: SessionFacts = {
    compactions: 0,
    recentCompactions: [],
    degraded: [],
    interruptedTurns: reader?.interruptedTurns() ?? [],
    ...(reader?.runningIn ? { runningIn: reader.runningIn } : {}),
  };
  if (!reader) return facts;
  const all: CompactionFact[] = [];
  const errors: NonNullable<StatusReport["lastErrors"]> = [];
  let seen = 0;
  for await (const entry of reader.cursor.backward()) {
    if (++seen > LOOK_BACK) break;
    const compacted = entry.type === "compaction" ? compactionFact(entry) : nativeCompactionFact(entry);
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
      facts.lastTurn = {
        turnId: entry.turnId,
        outcome: entry.outcome,
        ...(entry.code === undefined ? {} : { code: entry.code }),
      };
    }
    const plan = facts.plan ? undefined : planFact(entry);
    if (plan) facts.plan = plan;
    const degraded = degradationOf(entry);
    if (degraded && facts.degraded.length < MOST_DEGRADATIONS) facts.degraded.push(degraded);
  }
  return { ...facts, compactionsBy: countedBy(all), lastErrors: errors };
}

function countedBy(compactions: readonly CompactionFact[]): NonNullable<StatusReport["compactionsBy"]> {
  return [...Map.groupBy(compactions, ({ lane, handledBy }) => JSON.stringify([lane, handledBy])).values()]
    .map((group) => {
      const { lane, handledBy } = group[0] ?? {};
      return {
        ...(lane === undefined ? {} : { lane }),
        ...(handledBy === undefined ? {} : { handledBy }),
        count: group.length,
      };
    })
    .toSorted((one, other) => other.count - one.count);
}

function compactionFact(entry: CompactionEntry): CompactionFact {
  const { id, timestamp, lane, trigger, handledBy, tokensBefore, tokensAfter } = entry;
  return {
    entryId: id,
    timestamp,
    tokensBefore,
    ...(lane === undefined ? {} : { lane }),
    ...(trigger === undefined ? {} : { trigger }),
    ...(handledBy === undefined ? {} : { handledBy }),
    ...(tokensAfter === undefined ? {} : { tokensAfter }),
  };
}

/** A memory that could not be had is what the look at the fixed parts has just found. */
async function memoryFact(host: AgentHost, guard: Guard, cwd: string): Promise<StatusReport["memory"]> {
  const selected = host.memory.id ?? "none";
  if (guard.degraded.some(({ stage }) => stage === "memory")) return { selected, effective: UNAVAILABLE };
  try {
    return { selected, effective: (await host.memory.get(cwd))?.id ?? selected };
  } catch {
    // Where no model can be chosen the look has not come to the memory.
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
  });
  const { turn: _turn, ...known } = gate.soFar();
  return known;
}

function degradationOf(entry: TranscriptEntry): (Degradation & { timestamp: string }) | undefined {
  if (entry.type !== "custom" || entry.customType !== "pagurus.degraded") return undefined;
  const { stage, reason, engineId } = entry.data as Pick<Degradation, "stage" | "reason" | "engineId">;
  return { stage, reason, engineId, turnId: entry.turnId ?? "", timestamp: entry.timestamp };
}
