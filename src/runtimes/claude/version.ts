/** The version whose stream and session file these were measured on, and that our tests run against. */
export const CLAUDE_VERSION = "2.1.330";

/** Says that another version runs than the one that this was made for; undefined where it is that one. */
export function driftOf(version: string): string | undefined {
  if (version === CLAUDE_VERSION) return undefined;
  return `Claude Code ${version} runs, and Pagurus was made for ${CLAUDE_VERSION}; if turns fail, install that version.`;
}
