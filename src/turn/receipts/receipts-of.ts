import type { Receipt } from "../../contract/session/receipt.ts";
import { openReceiptLog, receiptFile } from "../../stores/files/receipt-log.ts";
import type { AgentHost } from "../turn-scope.ts";
import { sessionKeyOf } from "../admit/session-key.ts";

/**
 * Receipts of a turn, oldest request first. Default: the newest turn, although an older one may have sent the newest request in the
 * background. Throws `session_not_found`.
 */
export function receiptsOf(
  host: AgentHost,
  request: { sessionKey?: string | undefined; cwd?: string | undefined; turnId?: string },
): Receipt[] {
  const reader = host.store.openReader(sessionKeyOf(host, request));
  try {
    const log = openReceiptLog({ file: receiptFile(reader.record) });
    const turnId = request.turnId ?? log.lastOwn()?.turnId;
    return turnId === undefined ? [] : log.read(turnId);
  } finally {
    reader.close();
  }
}
