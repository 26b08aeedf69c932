/**
 * Lists, for each program, the files of a folder that it starts from: settings, hooks, agents with programs of their own, extensions,
 * variables. Used by `pagurus wire` and by ACP agents.
 */

/** A path in the working folder or one above it, up to the root of its repository; `holding` narrows it to files with such a text. */
interface Start {
  name: string;
  holding?: RegExp;
}

const named = (...names: string[]): Start[] => names.map((name) => ({ name }));

/** Claude Code (2.1.330). */
export const CLAUDE_STARTS = named(".claude", ".mcp.json");
/** Codex (0.169). */
export const CODEX_STARTS = named(".codex");
/** Gemini CLI (0.61.0): settings, policies, agents; skills are in both folders. */
export const GEMINI_STARTS = named(".gemini", ".agents", ".env");
/** Qwen Code (0.24.4): settings with hooks and commands of tools, agents with an `executor`; skills may have hooks. */
export const QWEN_STARTS = named(".qwen", ".agents", ".mcp.json", ".lsp.json", ".env");
/** pi (0.87.1). */
export const PI_STARTS = named(".pi");
/** goose, by its documentation: hooks of plugins, which it runs without a question. */
export const GOOSE_RUNS = named(".agents/plugins");
/** GitHub Copilot CLI (1.0.102). */
export const COPILOT_RUNS = named(
  ".github/hooks",
  ".github/copilot",
  ".github/extensions",
  ".github/agents",
  ".github/lsp.json",
  ".github/mcp.json",
);
/** Droid. */
export const DROID_RUNS = named(".factory");

/** Configuration of OpenCode (1.18.33). */
export const OPENCODE_FILES = ["config.json", "opencode.json", "opencode.jsonc"];
/** Files that it loads plugins from, which are programs, also with `OPENCODE_DISABLE_PROJECT_CONFIG` and `OPENCODE_PURE`. */
export const OPENCODE_RUNS: readonly Start[] = [
  { name: ".opencode" },
  // An escape may spell the word.
  { name: "opencode.json", holding: /plugin|\\u/i },
  { name: "opencode.jsonc", holding: /plugin|\\u/i },
];
