/** The agents that are known by name. */
import { CLAUDE_AGENT } from "./claude.ts";
import { CODEX_AGENT } from "./codex.ts";
import { COPILOT_AGENT } from "./copilot.ts";
import { DROID_AGENT } from "./droid.ts";
import { GEMINI_AGENT } from "./gemini.ts";
import type { FolderRule, KnownAgent } from "./known-agent.ts";
import { OPENCODE_AGENT } from "./opencode.ts";
import { PI_AGENT } from "./pi.ts";
import { QWEN_AGENT } from "./qwen.ts";

const KNOWN: Readonly<Record<string, KnownAgent>> = {
  claude: CLAUDE_AGENT,
  codex: CODEX_AGENT,
  gemini: GEMINI_AGENT,
  opencode: OPENCODE_AGENT,
  copilot: COPILOT_AGENT,
  qwen: QWEN_AGENT,
  pi: PI_AGENT,
  droid: DROID_AGENT,
};
/**
 * Refuses an agent that is not known by name in a folder with files that any known one starts from: its program may be one of them, or
 * read their files as others do.
 */
export function unknownAgentFolder(names: readonly string[]): FolderRule {
  const rules = Object.values(KNOWN).flatMap(({ folder }) => folder ?? []);
  const files = rules.flatMap(({ leavesOut = [], runs = [] }) => [...leavesOut, ...runs]);
  const own = ["pi", ...names].map((name) => `.${name}`);
  return { runs: [...new Set([...files.map(({ name }) => name), ...own])].map((name) => ({ name })) };
}

export const KNOWN_IDS: readonly string[] = Object.keys(KNOWN);

/** Names that others use for known agents. */
const ALIASES: Readonly<Record<string, string>> = {
  "claude-agent-acp": "claude",
  "claude-code": "claude",
  "codex-acp": "codex",
  "gemini-cli": "gemini",
  "github-copilot": "copilot",
  "qwen-code": "qwen",
  "pi-acp": "pi",
  "factory-droid": "droid",
};

/** The default agent for the models of a provider. */
export const BY_PROVIDER: Readonly<Record<string, string>> = {
  anthropic: "claude",
  openai: "codex",
  google: "gemini",
};

/** The id of an agent that others call differently. */
export function canonicalAgentId(name: string): string {
  const plain = name.trim().toLowerCase();
  return (Object.hasOwn(ALIASES, plain) ? ALIASES[plain] : undefined) ?? plain;
}

export function knownAgent(id: string): KnownAgent | undefined {
  const name = canonicalAgentId(id);
  return Object.hasOwn(KNOWN, name) ? KNOWN[name] : undefined;
}
