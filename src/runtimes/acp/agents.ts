/** The known agents, where their programs are, and which one runs a turn. Starts no program. */
import { resolve } from "node:path";
import { PagurusError } from "../../contract/errors.ts";
import type { ModelInfo } from "../../contract/model.ts";
import {
  claudeVariables,
  codexVariables,
  GEMINI_VARIABLES,
  OPENCODE_VARIABLES,
} from "../../native/own-variables.ts";
import { executable, onPath } from "../../platform/executables.ts";
import type { AcpSettings, AgentEntry, Endpoint } from "./acp-options.ts";

export type PermissionMode = "ask" | "deny" | "auto" | "read-only";

interface KnownAgent {
  label: string;
  program: string;
  args: readonly string[];
  install: string;
  /** Modes in which the agent asks for whatever the permission mode does not allow. */
  modes?: Readonly<Record<PermissionMode, string>>;
  /** Environment that points the agent to the model of an endpoint; undefined when it cannot use that model. */
  access?(model: ServedModel): Record<string, string> | undefined;
  /** Its environment is enough: no endpoint request is sent. */
  isReachedByEnv?: boolean;
  /** Variables of the user's shell that would redirect it, or send another provider's key to the endpoint. */
  strays?: RegExp;
  /** Names of its own variables. */
  variables?(env: Env): readonly string[];
}

interface ServedModel {
  api: ModelInfo["api"];
  id: string;
  endpoint: Endpoint;
  env: Readonly<Record<string, string | undefined>>;
}

function keyOf({ headers }: Endpoint): string {
  return (headers["authorization"] ?? "").replace(/^Bearer /, "");
}

function otherHeaders({ headers }: Endpoint): [string, string][] {
  return Object.entries(headers).filter(([name]) => name !== "authorization");
}

/** Claude Code sends its key in the provider's form only when the key comes from its environment. */
function claudeAccess({ api, endpoint }: ServedModel): Record<string, string> | undefined {
  if (api !== "anthropic-messages") return undefined;
  const custom = otherHeaders(endpoint).map(([name, value]) => `${name}: ${value}`);
  return {
    ANTHROPIC_BASE_URL: endpoint.baseUrl.replace(/\/v1\/?$/, ""),
    ANTHROPIC_API_KEY: keyOf(endpoint),
    ...(custom.length === 0 ? {} : { ANTHROPIC_CUSTOM_HEADERS: custom.join("\n") }),
  };
}

/** Codex can be configured for an unknown model only in its configuration. */
function codexAccess({ api, id, env }: ServedModel): Record<string, string> | undefined {
  if (api !== "openai-responses") return undefined;
  return { CODEX_CONFIG: JSON.stringify({ ...jsonObject(env["CODEX_CONFIG"]), model: id }) };
}

function jsonObject(text: string | undefined): object {
  try {
    const value: unknown = JSON.parse(text ?? "{}");
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    // The agent would not have read it either.
    return {};
  }
}

function geminiAccess({ api, endpoint }: ServedModel): Record<string, string> | undefined {
  if (api !== "google-generative-ai") return undefined;
  const baseUrl = endpoint.baseUrl.replace(/\/v1(?:beta)?\/?$/, "");
  return { GEMINI_API_KEY: keyOf(endpoint), GOOGLE_GEMINI_BASE_URL: baseUrl };
}

/** Names of models stay, and so does the folder with its settings. */
const CLAUDE_STRAYS =
  /^(?:ANTHROPIC_(?:API_KEY|AUTH_TOKEN|CUSTOM_HEADERS|UNIX_SOCKET|\w*BASE_URL)|CLAUDECODE|CLAUDE_CODE_(?:USE_|OAUTH_|SKIP_|ENTRYPOINT)\w*|AWS_BEARER_TOKEN_BEDROCK)$/;
const GEMINI_STRAYS = /^(?:GEMINI_API_KEY|GOOGLE_API_KEY|GOOGLE_GENAI_USE_\w+|GOOGLE_GEMINI_BASE_URL)$/;
const CLAUDE_MODES = { ask: "default", auto: "default", deny: "default", "read-only": "default" } as const;
/** In `agent`, its own default, another model decides in our place; `read-only` asks for every write. */
const CODEX_MODES = {
  ask: "read-only",
  auto: "workspace-write",
  deny: "read-only",
  "read-only": "read-only",
} as const;

const KNOWN: Readonly<Record<string, KnownAgent>> = {
  claude: {
    label: "Claude Agent",
    program: "claude-agent-acp",
    args: [],
    install: "npm install -g @agentclientprotocol/claude-agent-acp",
    modes: CLAUDE_MODES,
    access: claudeAccess,
    isReachedByEnv: true,
    strays: CLAUDE_STRAYS,
    variables: claudeVariables,
  },
  codex: {
    label: "Codex (ACP)",
    program: "codex-acp",
    args: [],
    install: "npm install -g @agentclientprotocol/codex-acp",
    modes: CODEX_MODES,
    access: codexAccess,
    variables: codexVariables,
  },
  gemini: {
    label: "Gemini CLI",
    program: "gemini",
    args: ["--acp"],
    install: "npm install -g @google/gemini-cli",
    access: geminiAccess,
    isReachedByEnv: true,
    strays: GEMINI_STRAYS,
    variables: () => GEMINI_VARIABLES,
  },
  opencode: {
    label: "OpenCode",
    program: "opencode",
    args: ["acp"],
    install: "npm install -g opencode-ai",
    variables: () => OPENCODE_VARIABLES,
  },
};
/** Names that others use for known agents. */
const ALIASES: Readonly<Record<string, string>> = {
  "claude-agent-acp": "claude",
  "claude-code": "claude",
  "codex-acp": "codex",
  "gemini-cli": "gemini",
};
/** The default agent for the models of a provider. */
const BY_PROVIDER: Readonly<Record<string, string>> = {
  anthropic: "claude",
  openai: "codex",
  google: "gemini",
};

/** An agent with its configuration. */
export interface Agent {
  id: string;
  label: string;
  entry: AgentEntry;
  known: KnownAgent | undefined;
}

export interface FoundProgram {
  command: string;
  args: readonly string[];
}

/**
 * The agent of a turn: the policy's, the configured one, the only one, or the one of the model's provider. Throws
 * `config_invalid`.
 */
export function agentFor(
  settings: AcpSettings,
  wanted: string | undefined,
  model: Pick<ModelInfo, "ref" | "provider">,
): Agent {
  const configured = Object.keys(settings.agents);
  const only = configured.length === 1 ? configured[0] : undefined;
  const named = wanted ?? settings.agentId ?? only ?? BY_PROVIDER[model.provider];
  if (named === undefined)
    throw new PagurusError(
      "config_invalid",
      `No ACP agent is configured for ${model.ref}; name one in agentRuntime.agentId of the model or in plugins.entries.acp.config.agentId.`,
      { details: { model: model.ref } },
    );
  return agentOf(settings, named);
}

/** Throws `config_invalid` for an id that is neither configured nor known. */
function agentOf({ agents }: AcpSettings, named: string): Agent {
  const id = Object.hasOwn(agents, named) ? named : canonical(named);
  const known = knownAgent(id);
  const entry = (Object.hasOwn(agents, id) ? agents[id] : undefined) ?? {};
  if (!known && entry.command === undefined)
    throw new PagurusError(
      "config_invalid",
      `The ACP agent "${named}" is neither known (${Object.keys(KNOWN).join(", ")}) nor configured with a command; set plugins.entries.acp.config.agents.${named}.command.`,
      { details: { agentId: named } },
    );
  return { id, label: known?.label ?? `The ACP agent "${id}"`, entry, known };
}

function canonical(name: string): string {
  const plain = name.trim().toLowerCase();
  return (Object.hasOwn(ALIASES, plain) ? ALIASES[plain] : undefined) ?? plain;
}

function knownAgent(id: string): KnownAgent | undefined {
  const name = canonical(id);
  return Object.hasOwn(KNOWN, name) ? KNOWN[name] : undefined;
}

/** Every agent that a turn could use. */
export function allAgents(settings: AcpSettings): Agent[] {
  const ids = new Set([...Object.keys(settings.agents), ...Object.keys(KNOWN)]);
  return [...ids].flatMap((id) => {
    const { command } = settings.agents[id] ?? {};
    return command !== undefined || knownAgent(id) ? [agentOf(settings, id)] : [];
  });
}

type Env = Readonly<Record<string, string | undefined>>;

/** Path of the agent's program, as configured, else from PATH. */
export function findProgram({ id, entry, known }: Agent, env: Env): FoundProgram | { reason: string } {
  const name = entry.command ?? known?.program ?? id;
  const args = entry.args ?? known?.args ?? [];
  const path = entry.env?.["PATH"] ?? env["PATH"] ?? env["Path"];
  const command = /[/\\]/.test(name) ? executable(resolve(entry.cwd ?? ".", name)) : onPath(name, path);
  if (command !== undefined) return { command, args };
  const where = `plugins.entries.acp.config.agents.${id}.command`;
  const remedy =
    known && entry.command === undefined
      ? `install it with \`${known.install}\`, or name its program in ${where}`
      : `correct ${where}`;
  return { reason: `The ACP agent "${id}" cannot be started: \`${name}\` was not found; ${remedy}.` };
}
