/** Discovers the models of this machine when nothing is configured: keys in the environment, local servers, installed agents. */
import { findProgram } from "../platform/executables.ts";
import type { PagurusConfig } from "../config/config-types.ts";
import { fieldOf } from "../data/record-fields.ts";
import { KNOWN_PROVIDERS, type KnownProvider } from "./model-catalog.ts";
import type { Env } from "./credentials.ts";
import { environmentAddress } from "./model-endpoint.ts";
import type { ResolvedModel } from "./provider-types.ts";
import { resolveModel } from "./resolve.ts";
import { isConversational } from "./surfaces/known-surfaces.ts";
import { quirksOf } from "./quirks/quirk-table.ts";

export interface Discovery {
  kind: "key" | "config" | "server" | "agent";
  /** Provider id, or the id of an installed agent (`codex`, `claude-cli`). */
  id: string;
  /** Origin: a variable's name, a configuration key, an address, a path. */
  source: string;
  /** Model ids that a local server serves. */
  models?: string[];
  /** Default model; absent if none can be proposed. */
  ref?: string;
}

export interface DiscoverOptions {
  /**
   * Whether to probe local servers. Default: unless `PAGURUS_NO_PROBE` is `1`. `"all"`: also those whose default port other programs use,
   * such as 8080.
   */
  probe?: boolean | "all";
  /** Timeout per server. Default 150 ms. */
  timeoutMs?: number;
}

const PROBE_TIMEOUT_MS = 150;
const LIST_TIMEOUT_MS = 2_000;
const AGENTS = [
  { id: "codex", command: "codex" },
  { id: "claude-cli", command: "claude" },
] as const;
/** Served models without chat. */
const NO_CHAT = /embed|rerank|whisper|tts|clip|bge-|minilm/i;

/** All results, in the order of preference for a default model. Never throws; keys are not read. */
export async function discover(
  config: PagurusConfig,
  env: Env,
  options: DiscoverOptions = {},
): Promise<Discovery[]> {
  const found = [...configuredProviders(config), ...environmentKeys(env)];
  const wanted = options.probe ?? env["PAGURUS_NO_PROBE"] !== "1";
  if (wanted !== false) {
    const timeoutMs = options.timeoutMs ?? PROBE_TIMEOUT_MS;
    const local = Object.entries(KNOWN_PROVIDERS).filter(
      ([, { probed, keyEnv }]) => probed ?? (wanted === "all" && keyEnv.length === 0),
    );
    const servers = await Promise.all(
      local.map(([id, known]) => probe(id, localAddress(id, known, config, env), timeoutMs)),
    );
    found.push(...servers.filter((server) => server !== undefined));
  }
  return [...found, ...installedAgents(env)];
}

function configuredProviders(config: PagurusConfig): Discovery[] {
  const found: Discovery[] = [];
  for (const [id, entry] of Object.entries(config.models?.providers ?? {})) {
    const first = entry.models?.find((each) => isConversational(id, each));
    const model = first?.id ?? (entry.apiKey === undefined ? undefined : defaultModelOf(id));
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

function localAddress(id: string, known: KnownProvider, config: PagurusConfig, env: Env): string {
  const configured = config.models?.providers?.[id]?.baseUrl;
  const quirks = quirksOf({ api: known.api, provider: id, id: "" });
  return configured ?? environmentAddress(quirks, known, env) ?? known.baseUrl;
}

/** Model ids that the server of a ref lists; undefined if it lists none within `timeoutMs`. Throws as `resolveModel`. */
export async function servedModels(
  ref: string,
  { config, env, timeoutMs = LIST_TIMEOUT_MS }: { config: PagurusConfig; env: Env; timeoutMs?: number },
): Promise<readonly string[] | undefined> {
  const model = resolveModel(ref, config, env);
  if (model.baseUrl === "" || model.info.api.startsWith("google-")) return undefined;
  try {
    const response = await requestModels(model, { timeoutMs, redirect: "error" });
    const body: unknown = response.ok ? await response.json() : undefined;
    // One page of several does not say which models are missing.
    const ids = fieldOf(body, "has_more") === true ? undefined : modelIds(body);
    return ids && ids.length > 0 ? ids : undefined;
  } catch {
    // A server without a list is a valid result.
    return undefined;
  }
}

/** Asks the provider of a model for its list. Throws as `fetch`; the caller reads or cancels the body. */
export async function requestModels(
  { baseUrl, apiKey, headers, info }: ResolvedModel,
  { timeoutMs, redirect }: { timeoutMs: number; redirect: "error" | "manual" },
): Promise<Response> {
  const protocol = await quirksOf(info).loadProtocol();
  return await fetch(modelsAddress(baseUrl), {
    headers: { ...headers.reveal(), ...protocol.headers(apiKey?.reveal()) },
    redirect,
    signal: AbortSignal.timeout(timeoutMs),
  });
}

function modelsAddress(base: string): string {
  return `${base.replace(/\/+$/, "")}/models`;
}

async function probe(id: string, base: string, timeoutMs: number): Promise<Discovery | undefined> {
  try {
    const response = await fetch(modelsAddress(base), {
      redirect: "error",
      signal: AbortSignal.timeout(timeoutMs),
    });
    const models = response.ok ? modelIds(await response.json()) : undefined;
    if (!models) return undefined;
    const chat = models.find((model) => !NO_CHAT.test(model));
    return { kind: "server", id, source: base, models, ...(chat ? { ref: `${id}/${chat}` } : {}) };
  } catch {
    // No server listens there, or it is too slow to be local: a valid result, not a failure.
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

function installedAgents(env: Env): Discovery[] {
  const found: Discovery[] = [];
  for (const { id, command } of AGENTS) {
    const path = findProgram(command, { env }).file;
    if (path !== undefined) found.push({ kind: "agent", id, source: path });
  }
  return found;
}
