import { PagurusError } from "../contract/errors.ts";
import type { ModelInfo } from "../contract/model.ts";
import type { ProviderConfig } from "../config/types.ts";
import type { KnownProvider } from "./catalog.ts";
import type { Env } from "./credentials.ts";

/**
 * Where a model is served: the configuration's address, else the environment's, else the provider's own. The version
 * path that a protocol's official clients add themselves is added when it is missing, so that an address which works
 * there (ANTHROPIC_BASE_URL, OPENAI_BASE_URL) works here. Throws `config_invalid`.
 */
export function baseUrlOf(
  info: ModelInfo,
  known: KnownProvider | undefined,
  configured: ProviderConfig | undefined,
  env: Env,
): string {
  const configKey = `models.providers.${info.provider}.baseUrl`;
  const given = configured?.baseUrl ?? fromEnvironment(info.provider, known, env) ?? known?.baseUrl;
  if (given === undefined) {
    throw new PagurusError(
      "config_invalid",
      `The provider "${info.provider}" has no address; set ${configKey}.`,
    );
  }
  if (!URL.canParse(given)) {
    const where = known?.baseUrlEnv ? `${configKey} or ${known.baseUrlEnv}` : configKey;
    throw new PagurusError(
      "config_invalid",
      `The address of the provider "${info.provider}" is not a URL; correct ${where}.`,
    );
  }
  const url = new URL(given);
  const path = url.pathname.replace(/\/+$/, "");
  const version = info.api === "google-generative-ai" ? "/v1beta" : "/v1";
  const complete = /\/v\d+\w*$/.test(path) || (path !== "" && info.api !== "anthropic-messages");
  return `${url.origin}${complete ? path : path + version}`;
}

function fromEnvironment(provider: string, known: KnownProvider | undefined, env: Env): string | undefined {
  if (provider === "ollama") return ollamaBaseUrl(env);
  const value = known?.baseUrlEnv ? env[known.baseUrlEnv] : undefined;
  return value === "" ? undefined : value;
}

/**
 * `OLLAMA_HOST` as Ollama's own client reads it: scheme, host and port are each optional, and the address that a
 * server binds to for all interfaces means this machine.
 */
export function ollamaBaseUrl(env: Env): string | undefined {
  const host = env["OLLAMA_HOST"]?.trim();
  if (!host) return undefined;
  const withScheme = /^https?:\/\//i.test(host)
    ? host
    : `http://${host.startsWith(":") ? `127.0.0.1${host}` : host}`;
  if (!URL.canParse(withScheme)) return undefined;
  const url = new URL(withScheme);
  if (url.hostname === "0.0.0.0" || url.hostname === "[::]") url.hostname = "127.0.0.1";
  if (url.port === "" && !/^https?:\/\//i.test(host)) url.port = "11434";
  return `${url.origin}${url.pathname.replace(/\/+$/, "")}/v1`;
}
