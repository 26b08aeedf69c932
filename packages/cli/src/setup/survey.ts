/** Finds agents, keys, servers and conversations on this machine. Writes nothing and reads no key or login. */
import { isBundledProgram } from "@pagurus/core/config/bundled";
import { formatKeyPath, type KeyPath } from "@pagurus/core/config/key-path";
import type { PagurusConfig } from "@pagurus/core/config/config-types";
import { plural } from "@pagurus/core/data/plain-numbers";
import { discover, type Discovery } from "@pagurus/core/model/discover";
import { KNOWN_PROVIDERS } from "@pagurus/core/model/model-catalog";
import { OFFLINE_REF } from "@pagurus/core/model/offline";
import { describeModel, servedAt } from "@pagurus/core/model/resolve";
import { shellWord } from "@pagurus/core/platform/shell-word";
import { bytes } from "@pagurus/host/command/layout";
import {
  foundConversations,
  installedAgents,
  openclawHome,
  type Conversations,
  type InstalledAgent,
} from "./agent-places.ts";

/** Probes of local servers may take longer here than at the start of a turn, ms. */
const PROBE_MS = 1_000;

type Env = Readonly<Record<string, string | undefined>>;

const SERVERS: Readonly<Record<string, string>> = {
  ollama: "Ollama",
  lmstudio: "LM Studio",
  vllm: "vLLM",
  llamacpp: "llama.cpp",
};

export interface Setting {
  path: KeyPath;
  value: unknown;
}

/** One way to get answers. */
export interface Choice {
  kind: "keep" | "key" | "login" | "server" | "wire" | "paste" | "offline";
  label: string;
  detail: string;
  /** Model ref; absent for a key that is yet to be pasted. */
  ref?: string;
  /** Changes of the configuration. */
  settings: readonly Setting[];
  /** Program that runs the turns, or that is wrapped. */
  agent?: InstalledAgent;
}

export interface Survey {
  choices: readonly Choice[];
  conversations: readonly Conversations[];
  /** Pairs of a name and a fact, for people. */
  found: readonly (readonly [string, string])[];
}

const MODEL: KeyPath = ["agents", "defaults", "model"];

function modelSetting(ref: string): Setting {
  return { path: MODEL, value: ref };
}

function keyChoices(found: readonly Discovery[], agents: readonly InstalledAgent[]): Choice[] {
  const codex = agents.find(({ id }) => id === "codex");
  return found.flatMap(({ kind, id, source, ref }): Choice[] => {
    if (kind !== "key" || ref === undefined) return [];
    const by = id === "openai" && codex ? ", run by Codex" : "";
    return [
      {
        kind: "key",
        label: `The key in ${source}`,
        detail: `${ref}${by}`,
        ref,
        settings: [modelSetting(ref)],
      },
    ];
  });
}

/** The default model of a provider. */
function defaultRef(provider: string): string {
  return `${provider}/${KNOWN_PROVIDERS[provider]?.defaultModel ?? ""}`;
}

/** Settings with which an agent runs turns with its own login. */
const BY_LOGIN: Readonly<Record<string, { ref: string; settings: readonly Setting[] }>> = {
  codex: { ref: defaultRef("openai"), settings: [] },
  claude: {
    ref: defaultRef("anthropic"),
    settings: [
      {
        path: ["agents", "defaults", "models", defaultRef("anthropic"), "agentRuntime", "id"],
        value: "claude-cli",
      },
      { path: ["plugins", "entries", "claude-cli", "config", "login"], value: "own" },
    ],
  },
};

/** Agents whose own login runs turns. With a key, or another address of the provider, they would use that. */
function loginChoices(agents: readonly InstalledAgent[], config: PagurusConfig, env: Env): Choice[] {
  return agents.flatMap((agent): Choice[] => {
    const way = Object.hasOwn(BY_LOGIN, agent.id) ? BY_LOGIN[agent.id] : undefined;
    if (agent.isLoggedIn !== true || !way || !usesOwnLogin(way.ref, config, env)) return [];
    const { ref, settings } = way;
    return [
      {
        kind: "login",
        label: `${agent.label} with your own login`,
        detail: ref,
        ref,
        agent,
        settings: [modelSetting(ref), ...settings],
      },
    ];
  });
}

function usesOwnLogin(ref: string, config: PagurusConfig, env: Env): boolean {
  try {
    return servedAt(describeModel(ref, config), config, env) === undefined;
  } catch {
    // The host has an address and no key for it, which a turn would be refused for.
    return false;
  }
}

function serverChoices(found: readonly Discovery[]): Choice[] {
  return found.flatMap(({ kind, id, ref }): Choice[] => {
    if (kind !== "server" || ref === undefined) return [];
    const label = `${SERVERS[id] ?? id} on this machine`;
    return [{ kind: "server", label, detail: ref, ref, settings: [modelSetting(ref)] }];
  });
}

/** Agents in their own terminal, with what they are logged in with; those that run turns with their login are offered for that. */
function wireChoices(agents: readonly InstalledAgent[], logins: readonly Choice[]): Choice[] {
  return agents.flatMap((agent): Choice[] => {
    if (!isBundledProgram(agent.id) || logins.some((login) => login.agent?.id === agent.id)) return [];
    const label = `${agent.label} in its own terminal`;
    return [{ kind: "wire", label, detail: wireCommand(agent), agent, settings: [] }];
  });
}

function wireCommand({ id }: InstalledAgent): string {
  return `pagurus wire -- ${id}`;
}

function keepChoice(config: PagurusConfig): Choice[] {
  const configured = config.agents?.defaults?.model;
  const ref = typeof configured === "string" ? configured : configured?.primary;
  if (ref === undefined) return [];
  return [{ kind: "keep", label: "Keep the configured model", detail: ref, ref, settings: [] }];
}

const PASTE: Choice = {
  kind: "paste",
  label: "Paste an API key",
  detail: "Anthropic, OpenAI, Google, OpenRouter",
  settings: [],
};
const OFFLINE: Choice = {
  kind: "offline",
  label: "Look around without a model",
  detail: "quotes from your files",
  ref: OFFLINE_REF,
  settings: [],
};

function loginFact({ isLoggedIn, login }: InstalledAgent): string {
  if (isLoggedIn === undefined) return "installed";
  if (isLoggedIn) return "your own login";
  return `no login found${login === undefined ? "" : ` (${login})`}`;
}

/** Never throws. */
export async function survey(config: PagurusConfig, env: Env): Promise<Survey> {
  const probe = env["PAGURUS_NO_PROBE"] === "1" ? false : "all";
  const discovered = await discover(config, env, { probe, timeoutMs: PROBE_MS });
  const agents = installedAgents(env);
  const conversations = foundConversations(env);
  const logins = loginChoices(agents, config, env);
  const choices = [
    ...keepChoice(config),
    ...keyChoices(discovered, agents),
    ...logins,
    ...serverChoices(discovered),
    ...wireChoices(agents, logins),
    PASTE,
    OFFLINE,
  ];
  return { choices, conversations, found: setupFacts({ discovered, agents, conversations, env }) };
}

function setupFacts({
  discovered,
  agents,
  conversations,
  env,
}: {
  discovered: readonly Discovery[];
  agents: readonly InstalledAgent[];
  conversations: readonly Conversations[];
  env: Env;
}): [string, string][] {
  const openclaw = openclawHome(env);
  return [
    ...agents.map((agent): [string, string] => [agent.label, loginFact(agent)]),
    ...discovered.flatMap(({ kind, id, source, models = [] }): [string, string][] => {
      if (kind === "key") return [[source, "a key"]];
      if (kind !== "server") return [];
      return [[SERVERS[id] ?? id, `${plural(models.length, "model")} at ${source}`]];
    }),
    ...conversations.map((each): [string, string] => [
      "Conversations",
      `${each.files.length} of ${each.label}, ${bytes(each.bytes)}`,
    ]),
    ...(openclaw === undefined
      ? []
      : [
          ["OpenClaw", `${openclaw}; pagurus migrate openclaw --dry-run shows what comes along`] as [
            string,
            string,
          ],
        ]),
  ];
}

/** Commands that make a choice. */
export function choiceCommands({ kind, agent, settings }: Choice): string[] {
  return kind === "wire" && agent ? [wireCommand(agent)] : settings.map(settingCommand);
}

function settingCommand({ path, value }: Setting): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return `pagurus config set ${shellWord(formatKeyPath(path))} ${shellWord(text)}`;
}

/** The command that imports all conversations of an agent. */
export function importCommand({ folder }: Conversations): string {
  return `pagurus sessions import ${shellWord(folder)}`;
}
