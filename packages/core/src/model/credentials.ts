import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { PagurusError } from "@pagurus/contract/errors";
import type { ProviderConfig } from "../config/config-types.ts";
import { withVariables } from "../platform/configured-secret.ts";
import type { KnownProvider } from "./model-catalog.ts";
import { Secret } from "./secret.ts";

export type Env = Readonly<Record<string, string | undefined>>;

interface FoundKey {
  secret: Secret<string>;
  /** Its environment variable or configuration key. */
  source: string;
}

/**
 * A provider's key: from the configuration, else from the environment. Undefined if none is needed: a local or custom
 * endpoint, or one that authenticates by a configured header. Throws `credential_missing`.
 */
export function resolveKey(
  provider: string,
  known: KnownProvider | undefined,
  configured: ProviderConfig | undefined,
  env: Env,
): FoundKey | undefined {
  const configKey = `models.providers.${provider}.apiKey`;
  if (configured?.apiKey !== undefined) {
    const value =
      typeof configured.apiKey === "string"
        ? withVariables(configured.apiKey, configKey, env)
        : readKeyFile(configured.apiKey.file, configKey, env);
    if (value.trim() === "") throw missingCredential(`The key in ${configKey} is empty; set it.`, configKey);
    return { secret: new Secret(value.trim()), source: configKey };
  }
  for (const name of known?.keyEnv ?? []) {
    const value = env[name]?.trim();
    if (value) return { secret: new Secret(value), source: name };
  }
  const authenticatesByHeader = Object.keys(configured?.headers ?? {}).some((name) =>
    /^(?:authorization|x-api-key|x-goog-api-key|api-key)$/i.test(name),
  );
  if (!known || known.keyEnv.length === 0 || authenticatesByHeader) return undefined;
  throw missingCredential(
    `The provider "${provider}" needs a key; set the environment variable ${known.keyEnv.join(" or ")}, ` +
      `or ${configKey} in the configuration.`,
    configKey,
  );
}

/** The configured headers, with `${ENV}` references resolved. All are treated as secret: any may contain a key. */
export function resolveHeaders(
  configured: Readonly<Record<string, string>> | undefined,
  configKey: string,
  env: Env,
): Secret<Readonly<Record<string, string>>> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(configured ?? {}))
    headers[name] = withVariables(value, `${configKey}.${name}`, env);
  return new Secret(headers);
}

function readKeyFile(file: string, configKey: string, env: Env): string {
  const home = env["HOME"] ?? homedir();
  const path = file.startsWith("~/") ? join(home, file.slice(2)) : file;
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw missingCredential(
      `The key file ${path} of ${configKey} cannot be read; create it or correct the path.`,
      path,
      cause,
    );
  }
}

function missingCredential(message: string, what: string, cause?: unknown): PagurusError {
  return new PagurusError("credential_missing", message, { details: { missing: what }, cause });
}
