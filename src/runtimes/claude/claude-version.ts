/** The version whose stream and session file were measured, and that our tests run against. */
export const CLAUDE_VERSION = "2.1.330";

/** A sentence about an unexpected version; undefined for the expected one. */
export function driftOf(version: string): string | undefined {
  if (version === CLAUDE_VERSION) return undefined;
  return `Claude Code ${version} runs, and Pagurus was made for ${CLAUDE_VERSION}; if turns fail, install that version.`;
}
