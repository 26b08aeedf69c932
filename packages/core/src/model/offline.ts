/** Name and facts of `offline/extract`, the built-in model without configuration; its answers are in `offline-answer.ts`. */
import type { ModelInfo } from "@pagurus/contract/model";

export const OFFLINE_REF = "offline/extract";

export const OFFLINE_MODEL: ModelInfo = {
  ref: OFFLINE_REF,
  provider: "offline",
  id: "extract",
  api: "offline",
  contextWindow: 128_000,
  maxTokens: 8_192,
  reasoning: false,
  input: ["text"],
  promptCache: "none",
  truncatesSilently: false,
  cost: { input: 0, output: 0 },
};
