/** Cache of token calibrations, one per session and model. */
import { join } from "node:path";
import type { ModelInfo } from "../../contract/model.ts";
import type { Logger } from "../../platform/log.ts";
import { openReceiptLog } from "../../stores/files/receipt-log.ts";
import { Calibration } from "../../tokens/calibration.ts";
import { isTrusted, isWhole } from "../run/silent-cut.ts";
import { inputTokens } from "../../tokens/add-usage.ts";

/** Most entries. A dropped one starts again from the session's last receipt. */
const MOST_KEPT = 256;

export interface CalibrationsOptions {
  agentDir: string;
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

  /** `sessionId` is empty when the session does not exist yet. */
  of(sessionId: string, ref: string): Calibration {
    const key = `${sessionId} ${ref}`;
    const calibration = this.#known.get(key) ?? this.#begin(sessionId, ref);
    this.#known.delete(key);
    this.#known.set(key, calibration);
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= MOST_KEPT) break;
      this.#known.delete(oldest);
    }
    return calibration;
  }

  /** Starts from the session's last request, so that a one-shot run estimates as well as a long one. */
  #begin(sessionId: string, ref: string): Calibration {
    const calibration = new Calibration();
    if (sessionId === "") return calibration;
    const { agentDir, modelInfo, logger } = this.#options;
    try {
      const file = join(agentDir, "sessions", `${sessionId}.receipts.jsonl`);
      const last = openReceiptLog({ file }).last();
      if (!last?.usage || last.model !== ref || !isWhole(last)) return calibration;
      const reported = inputTokens(last.usage);
      if (isTrusted(modelInfo(ref), { estimated: last.tokens, reported }))
        calibration.observe(last.tokens, reported);
    } catch {
      // Unreadable receipts cost only the correction of the first estimates.
      logger.warn("receipts not readable", { sessionId });
    }
    return calibration;
  }
}
