/** Files of a folder that OpenCode (1.18.33) starts from. */

export const OPENCODE_FILES = ["config.json", "opencode.json", "opencode.jsonc"];

/** Those that it loads plugins from, which are programs, also with `OPENCODE_DISABLE_PROJECT_CONFIG` and `OPENCODE_PURE`. */
export const OPENCODE_RUNS: readonly { name: string; holding?: RegExp }[] = [
  { name: ".opencode" },
  // An escape may spell the word.
  { name: "opencode.json", holding: /plugin|\\u/i },
  { name: "opencode.jsonc", holding: /plugin|\\u/i },
];
