import type { Degradation } from "../contract/events.ts";
import type { StatusReport } from "../contract/host.ts";
import type { SessionReader } from "../contract/store.ts";
import type { TranscriptEntry } from "../contract/transcript.ts";
import { messagesTokens } from "../tokens/messages.ts";
import { readerOf, surroundings } from "./inspect.ts";
import type { AgentHost } from "./scope.ts";

/** How far back `status` looks for compactions, degradations and the last turn, in entries. */
const LOOK_BACK = 2_000;
const MOST_DEGRADATIONS = 20;

type SessionFacts = Pick<StatusReport, "compactions" | "degraded" | "lastTurn" | "interruptedTurns" | "cost">;

export type HostStatus = Omit<StatusReport, "home" | "configFile" | "configFound" | "configWarnings">;

/** Reads only. Throws what model resolution and the engine slot throw. */
export async function readStatus(
  host: AgentHost,
  request: { sessionKey?: string; cwd?: string },
): Promise<HostStatus> {
  const sessionKey = request.sessionKey ?? "main";
  const around = await surroundings(host, { cwd: request.cwd, sessionKey });
  const reader = readerOf(host, sessionKey);
  try {
    const { engine, harness, model } = around;
    const held = reader?.contextMessages({ maxBytes: model.contextWindow * 16 }).messages ?? [];
    const tokens = host.calibration(reader?.record.sessionId ?? "", model.ref).apply(messagesTokens(held));
    const { kind, detail } = harness.execution;
    return {
      agentId: host.agentId,
      sessionKey,
      ...(reader ? { session: reader.record } : {}),
      model: { ref: model.ref, source: around.modelSource, contextWindow: model.contextWindow },
      Execution: detail === undefined ? kind : `${kind} (${detail})`,
      Runtime: { id: harness.id, rule: around.runtimeRule },
      engine: {
        selected: host.slot.id,
        effective: engine.info.id,
        source: host.slot.source,
        contract: engine.info.contract ?? "openclaw",
        lifecycle: engine.commitTurn ? "durable" : "classic",
      },
      context: { tokens, budget: around.tokenBudget },
      permission: host.settings.permission.mode ?? "ask",
      sandbox: `${around.tools.sandbox.kind}: ${around.tools.sandbox.detail}`,
      ...(await sessionFacts(reader)),
    };
  } finally {
    reader?.close();
  }
}

async function sessionFacts(reader: SessionReader | undefined): Promise<SessionFacts> {
  const facts: SessionFacts = {
    compactions: 0,
    degraded: [],
    interruptedTurns: reader?.interruptedTurns() ?? [],
  };
  if (!reader) return facts;
  let seen = 0;
  for await (const entry of reader.cursor.backward()) {
    if (++seen > LOOK_BACK) break;
    if (entry.type === "compaction") facts.compactions += 1;
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
