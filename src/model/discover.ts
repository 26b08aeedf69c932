/** What this machine offers when nothing is configured: keys in the environment, local servers, installed agents. */
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import type { PagurusConfig } from "../config/types.ts";
import { KNOWN_PROVIDERS } from "./catalog.ts";
import type { Env } from "./credentials.ts";
import { ollamaBaseUrl } from "./endpoint.ts";
import { OFFLINE_REF } from "./offline.ts";

export interface Discovery {
  kind: "key" | "config" | "server" | "agent";
  /** Provider id, or the id of an installed agent (`codex`, `claude-cli`). */
  id: string;
  /** Where it was found: a variable's name, a configuration key, an address, a path. */
  source: string;
  /** Model ids that a local server serves. */
  models?: string[];
  /** The model that a run would use; absent where none can be proposed. */
  ref?: string;
}

export interface DiscoverOptions {
  /** Ask local servers. Default: unless `PAGURUS_NO_PROBE` is `1`. */
  probe?: boolean;
  /** For each server. Default 150 ms. */
  timeoutMs?: number;
}

const PROBE_TIMEOUT_MS = 150;
const LOCAL_SERVERS = ["ollama", "lmstudio"] as const;
const AGENTS = [
  { id: "codex", command: "codex" },
  { id: "claude-cli", command: "claude" },
] as const;
/** Served models that cannot hold a conversation. */
const NO_CHAT = /embed|rerank|whisper|tts|clip|bge-|minilm/i;

/** Everything found, in the order in which a default model is chosen from it. Never throws; keys are not read out. */
export async function discover(
  config: PagurusConfig,
  env: Env,
  options: DiscoverOptions = {},
): Promise<Discovery[]> {
  const found = [...configuredProviders(config), ...environmentKeys(env)];
  if (options.probe ?? env["PAGURUS_NO_PROBE"] !== "1") {
    const timeoutMs = options.timeoutMs ?? PROBE_TIMEOUT_MS;
    const servers = await Promise.all(LOCAL_SERVERS.map((id) => probe(id, config, env, timeoutMs)));
    found.push(...servers.filter((server) => server !== undefined));
  }
  return [...found, ...installedAgents(env)];
}

/**
 * The model of a run that names none: `agents.defaults.model`, else the first discovered one, else the built-in
 * offline model. `source` is for people.
 */
export async function defaultModel(
  config: PagurusConfig,
  env: Env,
  options: DiscoverOptions = {},
): Promise<{ ref: string; source: string }> {
  const configured = config.agents?.defaults?.model;
  const ref = typeof configured === "string" ? configured : configured?.primary;
  if (ref) return { ref, source: "agents.defaults.model" };
  // Keys come first and cost nothing to find; servers are asked only when there is none.
  const withoutProbe = await discover(config, env, { ...options, probe: false });
  const first =
    withoutProbe.find((entry) => entry.ref) ?? (await discover(config, env, options)).find((e) => e.ref);
  if (first?.ref) return { ref: first.ref, source: `found ${first.source}` };
  return { ref: OFFLINE_REF, source: "no model was found" };
}

function configuredProviders(config: PagurusConfig): Discovery[] {
  const found: Discovery[] = [];
  for (const [id, entry] of Object.entries(config.models?.providers ?? {})) {
    const model = entry.models?.[0]?.id ?? (entry.apiKey === undefined ? undefined : defaultModelOf(id));
    if (!model) continue;
    found.push({ kind: "config", id, source: `models.providers.${id}`, ref: `${id}/${model}` });
  }
  return found;
}

function environmentKeys(env: Env): Discovery[] {
  const found: Discovery[] = [];
  for (const [id, provider] of Object.entries(KNOWN_PROVIDERS)) {
    const name = provider.keyEnv.find((key) => env[key]?.trim());
    if (name === undefined) continue;
    const { defaultModel: model } = provider;
    found.push({ kind: "key", id, source: name, ...(model ? { ref: `${id}/${model}` } : {}) });
  }
  return found;
}

function defaultModelOf(provider: string): string | undefined {
  return Object.hasOwn(KNOWN_PROVIDERS, provider) ? KNOWN_PROVIDERS[provider]?.defaultModel : undefined;
}

async function probe(
  id: (typeof LOCAL_SERVERS)[number],
  config: PagurusConfig,
  env: Env,
  timeoutMs: number,
): Promise<Discovery | undefined> {
  const base = config.models?.providers?.[id]?.baseUrl ?? localBaseUrl(id, env);
  if (base === undefined) return undefined;
  try {
    const response = await fetch(`${base.replace(/\/+$/, "")}/models`, {
      signal: AbortSignal.timeout(timeoutMs),
    });
    const models = response.ok ? modelIds(await response.json()) : undefined;
    if (!models) return undefined;
    const chat = models.find((model) => !NO_CHAT.test(model));
    return { kind: "server", id, source: base, models, ...(chat ? { ref: `${id}/${chat}` } : {}) };
  } catch {
    // Nothing listens there, or it is too slow to be a local server: not found is an answer, not a failure.
    return undefined;
  }
}

function modelIds(body: unknown): string[] | undefined {
  const data = (body as { data?: unknown } | null)?.data;
  if (!Array.isArray(data)) return undefined;
  return data
    .map((entry: unknown) => (entry as { id?: unknown } | null)?.id)
    .filter((id): id is string => typeof id === "string");
}

function localBaseUrl(id: (typeof LOCAL_SERVERS)[number], env: Env): string | undefined {
  return (id === "ollama" ? ollamaBaseUrl(env) : undefined) ?? KNOWN_PROVIDERS[id]?.baseUrl;
}

function installedAgents(env: Env): Discovery[] {
  const found: Discovery[] = [];
  for (const { id, command } of AGENTS) {
    const path = onPath(command, env);
    if (path !== undefined) found.push({ kind: "agent", id, source: path });
  }
  return found;
}

function onPath(command: string, env: Env): string | undefined {
  for (const folder of (env["PATH"] ?? "").split(delimiter)) {
    if (folder === "") continue;
    const path = join(folder, command);
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // Not in this folder; the next may have it.
      continue;
    }
  }
  return undefined;
}
