/** Other makers' programs, each with the versions that the tests ran with. `npm run newest -- --write` raises `to`. */

/** A range of versions, as "0.169.0" to "0.171.0". A version inside it is not reported. */
export interface TriedProgram {
  label: string;
  /** Its package in the npm registry. */
  npm: string;
  from: string;
  to: string;
  /** Runtime that runs it; absent for a program that none runs. */
  runtime?: string;
  /**
   * How `pagurus runtimes test` tries it: run by its runtime, wrapped by `pagurus wire`, or as a client of `pagurus acp`. Absent: its model is
   * only set in its own settings, so that no suite can try it.
   */
  suite?: "runtime" | "wire" | "client";
  /** Protocol of the suite's model; default: the first that the runtime takes. */
  api?: "anthropic-messages";
  /** Its own defect in these versions, which its trial leaves out: a sentence for the page, with what a user can set. */
  defect?: string;
  /** Pattern of its requests beside the conversation, which the suite answers apart. */
  beside?: string;
}

/** By the name of the program. */
export const TRIED = {
  codex: {
    label: "Codex",
    npm: "@openai/codex",
    from: "0.169.0",
    to: "0.171.0",
    runtime: "codex",
    suite: "runtime",
  },
  claude: {
    label: "Claude Code",
    npm: "@anthropic-ai/claude-code",
    from: "2.1.330",
    to: "2.1.332",
    runtime: "claude-cli",
    suite: "runtime",
  },
  opencode: {
    label: "OpenCode",
    npm: "opencode-ai",
    from: "1.18.33",
    to: "1.18.33",
    runtime: "acp",
    suite: "wire",
  },
  pi: { label: "pi", npm: "@earendil-works/pi-coding-agent", from: "0.87.1", to: "1.6.0", suite: "wire" },
  copilot: {
    label: "Copilot CLI",
    npm: "@github/copilot",
    from: "1.0.102",
    to: "1.0.102",
    runtime: "acp",
    suite: "wire",
  },
  gemini: {
    label: "Gemini CLI",
    npm: "@google/gemini-cli",
    from: "0.61.0",
    to: "0.61.0",
    runtime: "acp",
    suite: "wire",
  },
  qwen: {
    label: "Qwen Code",
    npm: "@qwen-code/qwen-code",
    from: "0.24.4",
    to: "0.24.4",
    runtime: "acp",
    suite: "wire",
    defect:
      "With `-p` its shell reports the end of a command before the output is read, so that results of short commands are empty at times, without Pagurus as well (3 of 10). Set `tools.shell.enableInteractiveShell` to `true` in its settings, as the trial does.",
  },
  droid: { label: "Droid", npm: "droid", from: "0.215.0", to: "0.215.0", runtime: "acp" },
  "pi-acp": { label: "pi-acp", npm: "pi-acp", from: "0.0.34", to: "0.0.34", runtime: "acp" },
  acpx: { label: "acpx", npm: "acpx", from: "0.1.15", to: "0.19.1", suite: "client" },
  "codex-acp": {
    label: "codex-acp",
    npm: "@agentclientprotocol/codex-acp",
    from: "2.6.0",
    to: "2.6.0",
    runtime: "acp",
    suite: "runtime",
  },
  "claude-agent-acp": {
    label: "claude-agent-acp",
    npm: "@agentclientprotocol/claude-agent-acp",
    from: "0.100.0",
    to: "0.101.0",
    runtime: "acp",
    suite: "runtime",
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

/** The command that tries a program here, by the name of its runtime or its own; undefined when no suite can. */
export function trialOf(id: string, { suite, runtime }: TriedProgram): string | undefined {
  if (suite === undefined) return undefined;
  const isRuntime = suite === "runtime" && runtime !== undefined && runtime !== "acp";
  return `pagurus runtimes test ${isRuntime ? runtime : id}`;
}

export function isListed(id: string): id is TriedId {
  return Object.hasOwn(TRIED, id);
}

/** Whether the program has a suite of its own: it is tried itself, and not a runtime. */
export function isOwnSuite(id: string): boolean {
  const program: TriedProgram | undefined = isListed(id) ? TRIED[id] : undefined;
  return program?.suite === "wire" || program?.suite === "client";
}

/** A sentence about a version outside of the range; undefined for one inside it, and for a program that is not listed. */
export function untriedNote(id: string, version: string): string | undefined {
  if (!isListed(id)) return undefined;
  const program: TriedProgram = TRIED[id];
  if (isTried(program, version)) return undefined;
  const { label, from, to } = program;
  const range = from === to ? from : `${from} to ${to}`;
  const trial = trialOf(id, program);
  const remedy = trial === undefined ? "if it fails, install one of these" : `${trial} tries it`;
  return `${label} ${version} runs, and Pagurus was tried with ${range}; ${remedy}.`;
}
