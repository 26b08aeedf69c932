/** Other makers' programs, each with the versions that the tests ran with. `npm run newest -- --write` raises `to`. */

/** A range of versions, as "0.169.0" to "0.171.0". A version inside it is not reported. */
export interface TriedProgram {
  label: string;
  /** Its package in the npm registry. */
  npm: string;
  from: string;
  to: string;
  /** Runtime that `pagurus runtimes test <program>` tries it with; absent for a program that the suite cannot drive. */
  runtime?: string;
  /** Protocol of the suite's model; default: the first that the runtime takes. */
  api?: "anthropic-messages";
  /** Pattern of its requests beside the conversation, which the suite answers apart. */
  beside?: string;
}

/** By the name of the program. */
export const TRIED = {
  codex: { label: "Codex", npm: "@openai/codex", from: "0.169.0", to: "0.171.0", runtime: "codex" },
  claude: {
    label: "Claude Code",
    npm: "@anthropic-ai/claude-code",
    from: "2.1.330",
    to: "2.1.332",
    runtime: "claude-cli",
  },
  opencode: { label: "OpenCode", npm: "opencode-ai", from: "1.18.33", to: "1.18.33", runtime: "acp" },
  pi: { label: "pi", npm: "@earendil-works/pi-coding-agent", from: "0.87.1", to: "1.6.0" },
  copilot: { label: "Copilot CLI", npm: "@github/copilot", from: "1.0.102", to: "1.0.102", runtime: "acp" },
  gemini: { label: "Gemini CLI", npm: "@google/gemini-cli", from: "0.61.0", to: "0.61.0", runtime: "acp" },
  qwen: { label: "Qwen Code", npm: "@qwen-code/qwen-code", from: "0.24.4", to: "0.24.4", runtime: "acp" },
  droid: { label: "Droid", npm: "droid", from: "0.215.0", to: "0.215.0", runtime: "acp" },
  "pi-acp": { label: "pi-acp", npm: "pi-acp", from: "0.0.34", to: "0.0.34", runtime: "acp" },
  acpx: { label: "acpx", npm: "acpx", from: "0.1.15", to: "0.19.1" },
  "codex-acp": {
    label: "codex-acp",
    npm: "@agentclientprotocol/codex-acp",
    from: "2.6.0",
    to: "2.6.0",
    runtime: "acp",
  },
  "claude-agent-acp": {
    label: "claude-agent-acp",
    npm: "@agentclientprotocol/claude-agent-acp",
    from: "0.100.0",
    to: "0.101.0",
    runtime: "acp",
    api: "anthropic-messages",
    beside: "<session>|\\[SUGGESTION MODE",
  },
} as const satisfies Record<string, TriedProgram>;

type TriedId = keyof typeof TRIED;

const VERSION = /(\d+)\.(\d+)\.(\d+)/;

/** The version in what a program prints, as "0.171.0" in "codex-cli 0.171.0". */
export function versionIn(printed: string): string | undefined {
  return VERSION.exec(printed)?.[0];
}

function isBefore(version: string, other: string): boolean {
  const [, ...numbers] = VERSION.exec(version) ?? [];
  const [, ...others] = VERSION.exec(other) ?? [];
  const at = numbers.findIndex((each, index) => each !== others[index]);
  return at !== -1 && Number(numbers[at]) < Number(others[at]);
}

/** Whether the tests ran with the version, or with one before and one after it. */
export function isTried({ from, to }: Pick<TriedProgram, "from" | "to">, version: string): boolean {
  return VERSION.test(version) && !isBefore(version, from) && !isBefore(to, version);
}

/** The command that tries a program here; an agent of the runtime `acp` is named itself. */
export function trialOf(id: string, runtime: string): string {
  return `pagurus runtimes test ${runtime === "acp" ? id : runtime}`;
}

export function isListed(id: string): id is TriedId {
  return Object.hasOwn(TRIED, id);
}

/** A sentence about a version outside of the range; undefined for one inside it, and for a program that is not listed. */
export function untriedNote(id: string, version: string): string | undefined {
  if (!isListed(id)) return undefined;
  const program: TriedProgram = TRIED[id];
  if (isTried(program, version)) return undefined;
  const { label, from, to, runtime } = program;
  const range = from === to ? from : `${from} to ${to}`;
  const remedy =
    runtime === undefined ? "if it fails, install one of these" : `${trialOf(id, runtime)} tries it`;
  return `${label} ${version} runs, and Pagurus was tried with ${range}; ${remedy}.`;
}
