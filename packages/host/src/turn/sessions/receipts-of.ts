import type { Receipt } from "@pagurus/contract/session/receipt";
import { openReceiptLog, receiptFile } from "../../stores/files/receipt-log.ts";
import type { AgentHost } from "../agent/agent-host.ts";
import { laterWork } from "../receipts/receipt-sink.ts";
import { sessionKeyOf } from "../agent/session-key.ts";

/**
 * Receipts of a turn, oldest request first. Default: the newest turn, or a later compaction between turns; an older turn that sent the
 * newest request in the background is neither. Throws `session_not_found`.
 */
export function receiptsOf(
  host: AgentHost,
  request: { sessionKey?: string | undefined; cwd?: string | undefined; turnId?: string },
): Receipt[] {
  const reader = host.store.openReader(sessionKeyOf(host, request));
  try {
    const log = openReceiptLog({ file: receiptFile(reader.record) });
    const turnId = request.turnId ?? laterWork(log) ?? (log.lastOwn() ?? log.last())?.turnId;
    return turnId === undefined ? [] : log.read(turnId);
  } finally {
    reader.close();
  }
}
