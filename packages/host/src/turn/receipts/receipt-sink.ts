import type { LlmCompleteRequest, LlmCompleteResult, ModelInfo } from "@pagurus/contract/model";
import type { Usage } from "@pagurus/contract/message";
import type { Receipt, ReceiptPart } from "@pagurus/contract/session/receipt";
import { textMeasure } from "./receipt-parts.ts";
import { defined } from "@pagurus/core/data/defined";

/** Destination of receipts: the session's receipt log. */
export interface ReceiptSink {
  append(receipt: Receipt): void;
  setUsage(turnId: string, request: number, usage: Usage, cache?: Receipt["cache"]): void;
  /** The newest of a turn's own request: one of a completion has nothing on the context. */
  lastOwn(): Receipt | undefined;
  /** Ids of the turns, and of the work between turns, that began after it and made completions, oldest first. */
  laterThanOwn(): readonly string[];
  /** Number of a turn's next request. */
  next(turnId: string): number;
}

const MAINTENANCE = "maintenance-";

/** The id that completions of maintenance between turns have in place of a turn's. */
export function maintenanceId(id: string): string {
  return `${MAINTENANCE}${id}`;
}

/**
 * Id of a compaction between turns, or of a turn that ended before a request of its own, after the last request of a turn; where models
 * wrote something for it.
 */
export function laterWork(receipts: Pick<ReceiptSink, "laterThanOwn">): string | undefined {
  return receipts.laterThanOwn().findLast((id) => !id.startsWith(MAINTENANCE));
}

/** Usage of a model call and its time, ms since the epoch. */
export interface LastCall {
  usage: Usage;
  at: number;
}

/** The session's last request to this model that was a turn's own; undefined where a compaction may have come since. */
export function lastUsageOf(
  receipts: Pick<ReceiptSink, "lastOwn" | "laterThanOwn">,
  model: ModelInfo,
): LastCall | undefined {
  const last = receipts.lastOwn();
  if (!last?.usage || last.model !== model.ref || laterWork(receipts) !== undefined) return undefined;
  return { usage: last.usage, at: Date.parse(last.timestamp) };
}

/** The receipt of a completion that an engine requested; its parts have no transcript entries. */
export function completionReceipt(
  sink: ReceiptSink,
  asked: LlmCompleteRequest,
  result: LlmCompleteResult,
  turn: { turnId: string; runtime: string; engine: string; tokenBudget: number },
): Receipt {
  const parts: ReceiptPart[] = [
    ...(asked.systemPrompt === undefined
      ? []
      : [{ source: "system" as const, role: "system" as const, ...textMeasure(asked.systemPrompt) }]),
    ...asked.messages.map(({ role, content }) => ({
      source: "history" as const,
      role,
      ...textMeasure(content),
    })),
  ];
  return {
    ...turn,
    request: sink.next(turn.turnId),
    timestamp: new Date().toISOString(),
    purpose: asked.purpose ?? "completion",
    seam: "embedded",
    model: `${result.provider}/${result.model}`,
    parts,
    liveFrom: parts.length,
    sharedParts: 0,
    sharedTokens: 0,
    tokens: parts.reduce((sum, { tokens }) => sum + tokens, 0),
    ...defined({ usage: result.usage }),
  };
}
