import { PagurusError } from "@pagurus/contract/errors";
import type { ModelInfo } from "@pagurus/contract/model";
import type { ProviderConfig } from "../config/config-types.ts";
import type { KnownProvider } from "./model-catalog.ts";
import type { Env } from "./credentials.ts";
import type { Quirks } from "./quirks/quirk-kinds.ts";
import { quirksOf } from "./quirks/quirk-table.ts";

/**
 * Base URL of a model: the configuration's, else the environment's, else the provider's own. Adds a missing version path that a
 * protocol's official clients add, so that an address that works there (ANTHROPIC_BASE_URL, OPENAI_BASE_URL) works here. Throws
 * `config_invalid`.
 */
export function baseUrlOf(
  info: ModelInfo,
  known: KnownProvider | undefined,
  configured: ProviderConfig | undefined,
  env: Env,
): string {
  const configKey = `models.providers.${info.provider}.baseUrl`;
  const quirks = quirksOf(info);
  const given = configured?.baseUrl ?? environmentAddress(quirks, known, env) ?? known?.baseUrl;
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
  const complete = /\/v\d+\w*$/.test(path) || (path !== "" && !quirks.versionsAnyPath);
  return `${url.origin}${complete ? path : path + quirks.versionPath}`;
}

/** Address of a provider in the environment; undefined if none is set. */
export function environmentAddress(
  { addressOf }: Quirks,
  known: KnownProvider | undefined,
  env: Env,
): string | undefined {
  if (addressOf) return addressOf(env);
  const value = known?.baseUrlEnv ? env[known.baseUrlEnv] : undefined;
  return value === "" ? undefined : value;
}
