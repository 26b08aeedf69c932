/** Corrections of token estimates, one for a session and model, for as long as they are in use. */
import { join } from "node:path";
import type { ModelInfo } from "../contract/model.ts";
import type { Logger } from "../platform/log.ts";
import { openReceiptLog } from "../session/receipts.ts";
import { Calibration } from "../tokens/calibration.ts";
import { isTrusted, isWhole } from "./silent-cut.ts";
import { inputTokens } from "./usage.ts";

/** Kept at once. One that was dropped starts again from the session's last receipt. */
const MOST_KEPT = 256;

export interface CalibrationsOptions {
  agentDir: string;
  modelInfo(ref: string): ModelInfo;
  logger: Logger;
}

export class Calibrations {
  /** The one used last is the last. */
  readonly #known = new Map<string, Calibration>();
  readonly #options: CalibrationsOptions;

  constructor(options: CalibrationsOptions) {
    this.#options = options;
  }

  /** `sessionId` is empty for a session that does not exist yet. */
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

  /** Starts from what the session's last request showed, so that a one-shot run estimates as well as a long one. */
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
      // Receipts that cannot be read cost the correction of the first estimates, nothing else.
      logger.warn("receipts not readable", { sessionId });
    }
    return calibration;
  }
}
