import { toPagurusError } from "@pagurus/contract/errors";
import type { Admitted } from "../state/admitted.ts";
import type { ReceiptSink } from "../receipts/receipt-sink.ts";

/** A receipt sink that never throws: a receipt that cannot be read or written costs the receipt, not the turn. */
export function safeSink(turn: Pick<Admitted, "host" | "guard" | "turnId" | "session">): ReceiptSink {
  const { host, guard, turnId, session } = turn;
  // Read for each receipt: a compaction may rotate the session.
  const log = (): ReceiptSink => host.receipts(session.writer.record);
  const safe = <T>(work: () => T): T | undefined => {
    try {
      return work();
    } catch (error) {
      host.logger.warn("receipt failed", { turnId });
      guard.degrade("transcript", `a receipt failed: ${toPagurusError(error).message}`);
      return undefined;
    }
  };
  return {
    append: (receipt) => safe(() => log().append(receipt)),
    setUsage: (id, request, usage, cache) => safe(() => log().setUsage(id, request, usage, cache)),
    lastOwn: () => safe(() => log().lastOwn()),
    laterThanOwn: () => safe(() => log().laterThanOwn()) ?? [],
    next: (id) => safe(() => log().next(id)) ?? 0,
  };
}
