/** Limits of one model answer. */
import type { PagurusConfig } from "../config/config-types.ts";
import type { AnswerLimits } from "./provider-types.ts";

export const DEFAULT_ANSWER_LIMITS: AnswerLimits = {
  bytes: 128 * 1024 * 1024,
  eventBytes: 16 * 1024 * 1024,
  silenceMs: 120_000,
  idleMs: 600_000,
};

/** The configured limits over the defaults. */
export function answerLimits(config: PagurusConfig): AnswerLimits {
  const { bytes, eventBytes, silenceSeconds, idleSeconds } = config.agents?.defaults?.answerLimits ?? {};
  const defaults = DEFAULT_ANSWER_LIMITS;
  return {
    bytes: bytes ?? defaults.bytes,
    eventBytes: eventBytes ?? defaults.eventBytes,
    silenceMs: silenceSeconds === undefined ? defaults.silenceMs : silenceSeconds * 1_000,
    idleMs: idleSeconds === undefined ? defaults.idleMs : idleSeconds * 1_000,
  };
}
