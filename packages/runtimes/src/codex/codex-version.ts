import { TRIED } from "@pagurus/core/data/tried-programs";

/** The version that the protocol types were generated from. */
export const CODEX_VERSION: string = TRIED.codex.to;

/** The version in the user agent that `initialize` answers: `<client>/<version> (…)`. */
export function versionOfUserAgent(userAgent: string): string | undefined {
  return /^[^/]*\/(\d+\.\d+\.\d+\S*)/.exec(userAgent)?.[1];
}
