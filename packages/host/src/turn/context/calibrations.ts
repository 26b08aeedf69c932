/** Cache of token calibrations, one per session and model. */
import type { ModelInfo } from "@pagurus/contract/model";
import type { SessionRecord } from "@pagurus/contract/session/writer";
import { RecentMap } from "@pagurus/core/data/recent-map";
import type { Logger } from "@pagurus/core/platform/log";
import { openReceiptLog, receiptFile } from "../../stores/files/receipt-log.ts";
import { Calibration } from "@pagurus/core/tokens/calibration";
import { isTrusted, isWhole } from "../receipts/silent-cut.ts";
import { inputTokens } from "@pagurus/core/tokens/add-usage";

/** Most entries. A dropped one starts again from the session's last receipt. */
const MOST_CALIBRATIONS = 256;

type SessionOfReceipts = Pick<SessionRecord, "sessionId" | "file">;

export interface CalibrationsOptions {
  modelInfo(ref: string): ModelInfo;
  logger: Logger;
}

export class Calibrations {
  readonly #known = new RecentMap<string, Calibration>(MOST_CALIBRATIONS);
  readonly #options: CalibrationsOptions;

  constructor(options: CalibrationsOptions) {
    this.#options = options;
  }

  /** `record` is undefined when the session does not exist yet. */
  of(record: SessionOfReceipts | undefined, ref: string): Calibration {
    return this.#known.of(`${record?.sessionId ?? ""} ${ref}`, () => this.#begin(record, ref));
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
