/** What strangers found, by number, for the table that `npm run prove -- strangers.1` makes from the tests. */

export interface Finding {
  /** Section and number: `A1`, in C and E the number of the part. Test titles name it as `(finding A1)`. */
  id: string;
  /** What was found, in a few words. */
  what: string;
  /** Decided otherwise, or not a matter for a test: the reason. Such a finding needs no test. */
  reason?: string;
}

const SECTIONS: Record<string, string[]> = {
  A: [
    "one default session for every folder and terminal",
    "a configuration file without the slot gets legacy",
    "sentences of attached files become the user's decisions",
    "the text projection is not fenced",
    "a rejection in a plugin's code ends the host",
    "the engine suite writes into the user's home",
    "a plugin with the id of a bundled part is installed",
    "exit codes of limits, repeats and unusable models",
    "retries end after seconds, retry-after is not honoured",
    "a full disk is reported as a fault of the engine",
    "a bad engine or session key is noticed after the start",
  ],
  B: [
    "estimatedTokens is demanded and never read",
    "preassembly_may_overflow hands over the wrong number",
    "a summary of older turns after the newest user message",
    "before_prompt_build on Codex sees the raw prompt",
    "a changed system text on Codex makes a new thread",
    "contexts that begin with an assistant message",
    "a foreign engine is trimmed at each turn, its summary first",
    "background compactions of a foreign engine are invisible",
    "governing is a comparison of ids; errors of a second copy",
    "facts in tool results, repeated words in extracts",
    "the engine suite fails sound engines",
    "tools and hooks left out of a wrapped program, unreported",
  ],
  C: [
    "registrations without a counterpart here refuse the whole plugin",
    "hooks of OpenClaw are missing",
    "functions of OpenClaw's runtime are missing",
    "registerCli is missing",
    "command names with a colon, aliases of commands",
    "JSON Schema defaults of tool parameters are not applied",
    "the subpath param-readers, and zod as an undeclared peer",
    "a refused plugin refuses every run until it is disabled",
    "plugins install and info print `Name: : …`",
    "a migrated agents.defaults.workspace has no effect",
    "skills, persona files and jobs are lost in a migration, unreported",
  ],
  D: [
    "no /permission, no patterns in always",
    "words typed at a permission question are thrown away",
    "a resize while text streams",
    "raw Markdown, no colour, no spinner, folded tool output",
    "/help, /cost and /context in a new chat",
    "bare pagurus prints help; one Ctrl-C leaves",
    "sessions list without titles, too wide, no picker",
    "status of a wrapped session shows the host's own settings",
    "attachments that attach nothing and report nothing",
    "typos in configuration, doctor's words",
    "sessions import of folders and of grown sessions",
    "words of native compactions and durations",
    "the library's types and sentences",
    "npm ci on Node 20 prints warnings",
  ],
  E: [
    "statements of the documentation that are no longer so, and missing keys",
    "no start for each kind of user, no picture of the words, no guides, dead links in the package",
    "sentences that a new reader does not understand",
  ],
  F: [
    "escape from the workspace by a race",
    "code execution where the workspace contains the home",
    "keys follow redirects",
    "the sandbox is no wall",
    "damaged words are sent without a notice",
    "one damaged page refuses every turn",
    "a glob hangs the host",
    "deeply nested arguments poison a session",
    "a tool result over 256 MiB is unreadable",
    "children see the host's whole environment",
    "search finds nothing past 64 KiB of a message",
    "no bound on answers, parallel calls and idle streams",
    "newer transcripts, deny rules, OSC 52, temp files, headers",
  ],
  G: [
    "npm test takes 10 minutes and stops itself on a busy machine",
    "npm test fails where bubblewrap is installed",
    "npm run contract fails without naming the failed test",
    "setup:real installs a claude that is a stub",
    "bench wire is over its limits",
  ],
};

/** Findings that were decided otherwise, and why. */
const REASONS: Record<string, string> = {
  G5: "a figure, which `npm run prove -- wire.3` measures beside its limits; tests never judge durations",
};

export const FINDINGS: readonly Finding[] = Object.entries(SECTIONS).flatMap(([letter, rows]) =>
  rows.map((what, index) => {
    const id = `${letter}${index + 1}`;
    const reason = REASONS[id];
    return reason === undefined ? { id, what } : { id, what, reason };
  }),
);

/** The findings that a test's title names: `… (finding A1, B2)`. */
export function findingsIn(title: string): string[] {
  return /\(findings? ([A-G]\d+(?:, [A-G]\d+)*)\)/.exec(title)?.[1]?.split(", ") ?? [];
}
