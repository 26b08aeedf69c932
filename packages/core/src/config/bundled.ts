/**
 * Ids of the bundled parts: the only list of them. `packages/app/src/bundled.ts` registers exactly these (a test compares); all other code
 * reads our ids here.
 */

export const BUNDLED_ENGINES = ["legacy", "lossless"] as const;
export const BUNDLED_MEMORIES = ["files"] as const;
/** Runtimes that are separate plugins: `plugins.entries.<id>` holds their settings and disables them. */
export const BUNDLED_RUNTIMES = ["codex", "claude-cli", "acp"] as const;
export type BundledRuntime = (typeof BUNDLED_RUNTIMES)[number];
/** The runtime that always exists, and its aliases. */
export const EMBEDDED_RUNTIME = ["embedded", "openclaw", "pi"] as const;
/** Plugin ids under which the host registers its own parts and those of a caller. */
const HOST_PLUGINS = ["pagurus", "caller"] as const;

/** Names of the host's tools. A plugin's tool of such a name would be confused with it in rules and histories. */
const BUNDLED_TOOLS: readonly string[] = [
  "read",
  "write",
  "edit",
  "glob",
  "search",
  "shell",
  "web_fetch",
  "spawn_agent",
  "update_plan",
];

export function isBundledTool(name: string): boolean {
  return BUNDLED_TOOLS.includes(name);
}

/** Programs that `pagurus wire` knows. */
export const BUNDLED_PROGRAMS = [
  "codex",
  "claude",
  "copilot",
  "opencode",
  "gemini",
  "qwen",
  "pi",
  "goose",
] as const;
export type BundledProgram = (typeof BUNDLED_PROGRAMS)[number];

export function isBundledProgram(name: string): name is BundledProgram {
  return (BUNDLED_PROGRAMS as readonly string[]).includes(name);
}

/** Kinds of channels, whose code is in `packages/channels/src`. */
export const BUNDLED_CHANNELS = [
  "xmpp",
  "email",
  "irc",
  "webhook",
  "telegram",
  "slack",
  "discord",
  "github",
] as const;
export type BundledChannel = (typeof BUNDLED_CHANNELS)[number];

/** Names kinds as written in the configuration, so in lower case. */
export function isBundledChannel(kind: string): kind is BundledChannel {
  return (BUNDLED_CHANNELS as readonly string[]).includes(kind);
}

const RESERVED: readonly string[] = [
  ...HOST_PLUGINS,
  ...BUNDLED_ENGINES,
  ...BUNDLED_MEMORIES,
  ...EMBEDDED_RUNTIME,
  ...BUNDLED_RUNTIMES,
];

/** Whether an id belongs to a part of Pagurus, so that no other plugin can use it. */
export function isBundledId(id: string): boolean {
  return RESERVED.includes(id.toLowerCase());
}

/** Whether a bundled part has settings under `plugins.entries.<id>`, which need no plugin. */
export function hasBundledEntry(id: string): boolean {
  return id === "lossless" || (BUNDLED_RUNTIMES as readonly string[]).includes(id);
}
