import { toPagurusError } from "../contract/errors.ts";
import type { ReceiptSink } from "./receipt-sink.ts";
import type { Admission } from "./scope.ts";

/** A receipt that cannot be read or written costs the receipt, not the turn. */
export function safeSink(admission: Admission): ReceiptSink {
  const { host, guard, turnId } = admission;
  // Asked anew each time: a compaction may rotate the session.
  const log = (): ReceiptSink => host.receipts(admission.writer.record);
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
    setUsage: (id, request, usage) => safe(() => log().setUsage(id, request, usage)),
    last: () => safe(() => log().last()),
    next: (id) => safe(() => log().next(id)) ?? 0,
  };
}
