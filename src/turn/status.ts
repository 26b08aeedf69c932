import type { ContextEngine } from "../contract/engine.ts";
import { toPagurusError } from "../contract/errors.ts";
import type { Degradation } from "../contract/events.ts";
import type { AgentHarness } from "../contract/harness.ts";
import type { StatusReport } from "../contract/host.ts";
import type { SessionReader } from "../contract/store.ts";
import type { TranscriptEntry } from "../contract/transcript.ts";
import { messagesTokens } from "../tokens/messages.ts";
import { checkPlugins } from "./admit.ts";
import { checkHostRequirements } from "./engine-slot.ts";
import { hostTools, readerOf } from "./inspect.ts";
import { budgetFor, fixedTokens, systemPieces } from "./prepare.ts";
import type { AgentHost } from "./scope.ts";
import { selectRuntime } from "./select.ts";
import { readContext } from "./context-slice.ts";

/** How far back `status` looks for compactions, degradations and the last turn, in entries. */
const LOOK_BACK = 2_000;
const MOST_DEGRADATIONS = 20;
/** Stands for what cannot be chosen or created. */
const UNAVAILABLE = "unavailable";

type SessionFacts = Pick<
  StatusReport,
  "compactions" | "degraded" | "lastTurn" | "interruptedTurns" | "runningIn" | "cost"
>;

export type HostStatus = Omit<StatusReport, "home" | "configFile" | "configFound" | "configWarnings">;

/** Reads only. What refuses a run is reported: the report is wanted most when something is broken. */
export async function readStatus(
  host: AgentHost,
  request: { sessionKey?: string; cwd?: string },
): Promise<HostStatus> {
  const problems = new Problems();
  const sessionKey = request.sessionKey ?? "main";
  const { cwd, model, modelSource, harness, runtimeRule, engine } = await chosen(host, request.cwd, problems);
  const tools = await problems.note(() => hostTools(host, cwd, sessionKey));
  const reader = await problems.note(() => readerOf(host, sessionKey));
  const window = model.contextWindow;
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
      Runtime: { id: harness?.id ?? UNAVAILABLE, rule: runtimeRule },
      engine: { selected: host.slot.id, source: host.slot.source, ...engineFacts(engine) },
      context: {
        tokens: window > 0 ? host.calibration(sessionId, model.ref).apply(tokens) : tokens,
        budget: window > 0 && tools ? budgetFor(host, window, fixedTokens(systemPieces(cwd), tools)) : 0,
      },
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
  modelSource: string;
  harness: AgentHarness | undefined;
  runtimeRule: string;
  engine: ContextEngine | undefined;
}

async function chosen(host: AgentHost, folder: string | undefined, problems: Problems): Promise<Chosen> {
  const { ref, source } = await host.defaultModel();
  const model = await problems.note(() => host.modelInfo(ref));
  const choice = model && (await problems.note(() => selectRuntime({ ...host, model })));
  const engine = await problems.note(() => host.slot.get());
  await problems.note(() => checkPlugins(host));
  if (engine && choice) {
    await problems.note(() => checkHostRequirements(engine, choice.harness, "agent-run"));
  }
  return {
    cwd: folder ?? host.settings.workspace ?? process.cwd(),
    model: { ref: model?.ref ?? ref, contextWindow: model?.contextWindow ?? 0 },
    modelSource: source,
    harness: choice?.harness,
    runtimeRule: choice?.rule ?? "",
    engine,
  };
}

function executionText({ execution }: AgentHarness): string {
  const { kind, detail } = execution;
  return detail === undefined ? kind : `${kind} (${detail})`;
}

function engineFacts(
  engine: ContextEngine | undefined,
): Pick<StatusReport["engine"], "effective" | "contract" | "lifecycle"> {
  if (!engine) return { effective: UNAVAILABLE, contract: "unknown", lifecycle: "unknown" };
  return {
    effective: engine.info.id,
    contract: engine.info.contract ?? "openclaw",
    lifecycle: engine.commitTurn ? "durable" : "classic",
  };
}

async function sessionFacts(reader: SessionReader | undefined): Promise<SessionFacts> {
  const facts: SessionFacts = {
    compactions: 0,
    degraded: [],
    interruptedTurns: reader?.interruptedTurns() ?? [],
    ...(reader?.runningIn ? { runningIn: reader.runningIn } : {}),
  };
  if (!reader) return facts;
  let seen = 0;
  for await (const entry of reader.cursor.backward()) {
    if (++seen > LOOK_BACK) break;
    if (entry.type === "compaction") facts.compactions += 1;
    if (entry.type === "compaction" && entry.usage?.cost !== undefined) {
      facts.cost = (facts.cost ?? 0) + entry.usage.cost;
    }
    if (
      entry.type === "message" &&
      entry.message.role === "assistant" &&
      entry.message.usage?.cost !== undefined
    ) {
      facts.cost = (facts.cost ?? 0) + entry.message.usage.cost;
    }
    if (entry.type === "turn_commit" && !facts.lastTurn) {
      facts.lastTurn = {
        turnId: entry.turnId,
        outcome: entry.outcome,
        ...(entry.code === undefined ? {} : { code: entry.code }),
      };
    }
    const degraded = degradationOf(entry);
    if (degraded && facts.degraded.length < MOST_DEGRADATIONS) facts.degraded.push(degraded);
  }
  return facts;
}

function degradationOf(entry: TranscriptEntry): (Degradation & { timestamp: string }) | undefined {
  if (entry.type !== "custom" || entry.customType !== "pagurus.degraded") return undefined;
  const { stage, reason, engineId } = entry.data as Pick<Degradation, "stage" | "reason" | "engineId">;
  return { stage, reason, engineId, turnId: entry.turnId ?? "", timestamp: entry.timestamp };
}
