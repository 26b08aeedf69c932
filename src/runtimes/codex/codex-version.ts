/** The version that the protocol types were generated from and that our tests run against. */
export const CODEX_VERSION = "0.169.0";

/** The version in the user agent that `initialize` answers: `<client>/<version> (…)`. */
export function versionOfUserAgent(userAgent: string): string | undefined {
  return /^[^/]*\/(\d+\.\d+\.\d+\S*)/.exec(userAgent)?.[1];
}

/** A sentence about an unexpected version; undefined for the expected one. */
export function driftOf(version: string): string | undefined {
  if (version === CODEX_VERSION) return undefined;
  return `Codex ${version} runs, and Pagurus was made for ${CODEX_VERSION}; if turns fail, install that version.`;
}
