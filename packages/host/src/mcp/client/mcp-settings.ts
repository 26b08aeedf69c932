/** Configuration of a server, with the environment expanded. */
import { readFileSync } from "node:fs";
import { expandPath } from "@pagurus/core/config/config-paths";
import type { McpServerConfig } from "@pagurus/core/config/config-types";
import { LONGEST_TIMER_MS } from "@pagurus/core/platform/deadline";
import { childEnvironment } from "@pagurus/core/platform/child-environment";
import { serverSecrets } from "./mcp-words.ts";
import { currentFolder } from "@pagurus/core/platform/surroundings";

export type Env = Readonly<Record<string, string | undefined>>;

export interface StdioSettings {
  kind: "stdio";
  command: string;
  args: string[];
  env: Record<string, string>;
  cwd: string | undefined;
}

/** How the user logs in to a server; see `McpOAuthConfig`. */
export interface OAuthSettings {
  /** False: no login at all, as when a header has a key. */
  enabled: boolean;
  grant: "authorization_code" | "client_credentials";
  clientId?: string | undefined;
  clientSecret?: string | undefined;
  scope?: string | undefined;
  issuer?: string | undefined;
  clientMetadataUrl?: string | undefined;
  callbackPort?: number | undefined;
  /** PEM. */
  privateKey?: string | undefined;
  algorithm: string;
}

export interface HttpSettings {
  kind: "http" | "sse";
  url: URL;
  headers: Record<string, string>;
  oauth: OAuthSettings;
}

export interface ServerSettings {
  transport: StdioSettings | HttpSettings;
  /** Timeout of a call without an answer or progress, ms. */
  timeoutMs: number;
  /** Timeout of a call, however much progress it reports, ms. */
  longestCallMs: number;
  /** Timeout of a start, until the tools are known, ms. */
  connectTimeoutMs: number;
  /** Values that are removed from every sentence, longest first. */
  secrets: string[];
}

const TIMEOUT_MS = 120_000;
/** Default of `longestCallMs`, as a multiple of `timeoutMs`. */
const LONGEST_CALL_TIMEOUTS = 10;
/** Long, since a program may be fetched from a registry first. */
const CONNECT_TIMEOUT_MS = 60_000;
/** Why a server cannot be used as it is configured, as the end of a sentence. */
export class SettingsError extends Error {}

/** Expands `${NAME}` and `${NAME:-default}`; a variable that is not set is an error, never an empty value. */
function expandVariables(value: string, key: string, env: Env, found: (secret: string) => void): string {
  return value.replaceAll(
    /\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}/g,
    (_whole, name: string, fallback?: string) => {
      const set = env[name];
      if (set !== undefined && set !== "") {
        found(set);
        return set;
      }
      if (fallback !== undefined) return fallback;
      throw new SettingsError(
        `cannot be used: its "${key}" refers to the environment variable ${name}, which is not set`,
      );
    },
  );
}

/** What is started or called, with the environment expanded; a variable that is not set stays as it is written. */
export function placeOf({ command, args, cwd, workingDirectory, url }: McpServerConfig, env: Env): string[] {
  const words = [command, ...(args ?? []), cwd ?? workingDirectory, url];
  return words.map((word = "") => {
    try {
      return expandVariables(word, "", env, () => undefined);
    } catch {
      // The start reports which one.
      return word;
    }
  });
}

/** Throws `SettingsError`. */
export function readSettings(
  config: McpServerConfig,
  home: string,
  env: Env,
  startIn = currentFolder(),
): ServerSettings {
  const secrets = new Set<string>();
  const put = (value: string, key: string): string =>
    expandVariables(value, key, env, (secret) => secrets.add(secret));
  const putAll = (
    values: Record<string, string | number | boolean> | undefined,
    key: string,
  ): [string, string][] =>
    Object.entries(values ?? {}).map(([name, value]) => {
      const text = put(String(value), `${key}.${name}`);
      secrets.add(text);
      return [name, text];
    });
  const transport =
    config.url === undefined
      ? stdioSettings(config, { home, startIn, env, put, putAll })
      : {
          kind: isSse(config) ? ("sse" as const) : ("http" as const),
          url: urlOf(put(config.url, "url")),
          headers: Object.fromEntries(putAll(config.headers, "headers")),
          oauth: oauthSettings(config.oauth, home, put),
        };
  if (transport.kind !== "stdio" && transport.oauth.clientSecret !== undefined)
    secrets.add(transport.oauth.clientSecret);
  const timeoutMs = config.timeoutMs ?? config.requestTimeoutMs ?? config.timeout ?? TIMEOUT_MS;
  return {
    transport,
    timeoutMs,
    // Never below the time that a silent call has.
    longestCallMs: Math.min(
      LONGEST_TIMER_MS,
      Math.max(timeoutMs, config.longestCallMs ?? LONGEST_CALL_TIMEOUTS * timeoutMs),
    ),
    connectTimeoutMs: config.connectTimeoutMs ?? config.connectionTimeoutMs ?? CONNECT_TIMEOUT_MS,
    secrets: serverSecrets([
      ...secrets,
      ...(transport.kind === "stdio" ? [] : transport.url.searchParams.values()),
    ]),
  };
}

function stdioSettings(
  config: McpServerConfig,
  {
    home,
    startIn,
    env,
    put,
    putAll,
  }: {
    home: string;
    startIn: string;
    env: Env;
    put(value: string, key: string): string;
    putAll(values: McpServerConfig["env"], key: string): [string, string][];
  },
): StdioSettings {
  const cwd = config.cwd ?? config.workingDirectory;
  return {
    kind: "stdio",
    command: put(config.command ?? "", "command"),
    args: (config.args ?? []).map((arg, index) => put(arg, `args[${index}]`)),
    env: { ...childEnvironment(env), ...Object.fromEntries(putAll(config.env, "env")) },
    cwd: cwd === undefined ? startIn : expandPath(put(cwd, "cwd"), home),
  };
}

function oauthSettings(
  config: McpServerConfig["oauth"],
  home: string,
  put: (value: string, key: string) => string,
): OAuthSettings {
  const { grant, privateKey, algorithm, ...rest } = config || {};
  const texts = (["clientId", "clientSecret", "scope"] as const).flatMap((key) => {
    const value = rest[key];
    return value === undefined ? [] : [[key, put(value, `oauth.${key}`)]];
  });
  return {
    enabled: config !== false,
    grant: grant ?? "authorization_code",
    algorithm: algorithm ?? "ES256",
    ...rest,
    ...Object.fromEntries(texts),
    ...(privateKey && { privateKey: keyIn(expandPath(put(privateKey.file, "oauth.privateKey.file"), home)) }),
  };
}

function keyIn(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new SettingsError(
      `cannot be used: its "oauth.privateKey.file" cannot be read (${(error as NodeJS.ErrnoException).code ?? "unknown error"})`,
    );
  }
}

function isSse({ type, transport }: McpServerConfig): boolean {
  return (type ?? transport) === "sse";
}

function urlOf(text: string): URL {
  const url = URL.parse(text);
  // `fetch` rejects such an address, and its message contains the password.
  if (url && `${url.username}${url.password}` !== "")
    throw new SettingsError('cannot be used: its "url" has a user name or password; put them into "headers"');
  if (url?.protocol === "http:" || url?.protocol === "https:") return url;
  throw new SettingsError('cannot be used: its "url" is not an http or https address');
}
