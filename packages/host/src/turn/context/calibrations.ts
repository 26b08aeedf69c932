/** Cache of token calibrations, one per session and model. */
import type { ModelInfo } from "@pagurus/contract/model";
import type { SessionRecord } from "@pagurus/contract/session/writer";
import type { Logger } from "@pagurus/core/platform/log";
import { openReceiptLog, receiptFile } from "../../stores/files/receipt-log.ts";
import { Calibration } from "@pagurus/core/tokens/calibration";
import { isTrusted, isWhole } from "../receipts/silent-cut.ts";
import { inputTokens } from "@pagurus/core/tokens/add-usage";

/** Most entries. A dropped one starts again from the session's last receipt. */
const MOST_KEPT = 256;

type SessionOfReceipts = Pick<SessionRecord, "sessionId" | "file">;

export interface CalibrationsOptions {
  modelInfo(ref: string): ModelInfo;
  logger: Logger;
}

export class Calibrations {
  /** In order of use: the last one is the most recent. */
  readonly #known = new Map<string, Calibration>();
  readonly #options: CalibrationsOptions;

  constructor(options: CalibrationsOptions) {
    this.#options = options;
  }

  /** `record` is undefined when the session does not exist yet. */
  of(record: SessionOfReceipts | undefined, ref: string): Calibration {
    const key = `${record?.sessionId ?? ""} ${ref}`;
    const calibration = this.#known.get(key) ?? this.#begin(record, ref);
    this.#known.delete(key);
    this.#known.set(key, calibration);
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= MOST_KEPT) break;
      this.#known.delete(oldest);
    }
    return calibration;
  }

  /**
   * Starts from the session's last request, so that a one-shot run estimates as well as a long one. Completions count too: under a
   * runtime that adds a prompt of its own, no other request is whole. After one of another model, the last request of a turn counts.
   */
  #begin(record: SessionOfReceipts | undefined, ref: string): Calibration {
    const calibration = new Calibration();
    if (!record) return calibration;
    const { modelInfo, logger } = this.#options;
    try {
      const log = openReceiptLog({ file: receiptFile(record) });
      for (const last of [log.last(), log.lastOwn()]) {
        if (!last?.usage || last.model !== ref || !isWhole(last)) continue;
        const reported = inputTokens(last.usage);
        if (!isTrusted(modelInfo(ref), { estimated: last.tokens, reported })) continue;
        calibration.observe(last.tokens, reported);
        break;
      }
    } catch {
      // Unreadable receipts cost only the correction of the first estimates.
      logger.warn("receipts not readable", { sessionId: record.sessionId });
    }
    return calibration;
  }
}
