/** The user's configuration of Codex, as the program itself reads it. */
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { PagurusError, toPagurusError } from "@pagurus/contract/errors";
import type { SettingOrigin } from "@pagurus/contract/harness/wrap-origin";
import { HARNESS_CONTRACT } from "@pagurus/contract/version";
import { type Fields, recordOf, stringOf } from "@pagurus/core/data/record-fields";
import { RpcChild } from "@pagurus/core/rpc/rpc-child";
import { METHOD_NOT_FOUND, RpcError, RpcPeer } from "@pagurus/core/rpc/peer";
import type { FoundCodex } from "../find-codex.ts";
import { QUIET_ARGUMENTS } from "../app-server/codex-network.ts";
import type { GetAccountParams, GetAccountResponse, InitializeParams } from "../protocol.ts";
import type { CodexArguments } from "./codex-wrap-arguments.ts";

const DEADLINE_MS = 30_000;
/** Settings of a profile that select the model and its address. */
const OF_PROFILE = ["model", "model_provider", "openai_base_url", "model_catalog_json"];

export interface CodexSetUp {
  /** Effective configuration. */
  config: Fields;
  /** Where Codex has each setting from, by its path, for example `model_providers.mine.base_url`. */
  origins: Fields;
  /** Its login is one to ChatGPT. */
  isSubscribed: boolean;
  /** `-c` settings that replace the user's own. */
  settings: string[];
}

/** Throws `runtime_failed`, `usage_invalid`. */
export async function readSetUp(
  found: FoundCodex,
  { settings, profile, cwd, model }: CodexArguments,
  env: Readonly<Record<string, string | undefined>>,
): Promise<CodexSetUp> {
  const own = [
    ...(profile === undefined ? [] : profileSettings(profile, env)),
    ...settings,
    ...(model === undefined ? [] : [`model=${JSON.stringify(model)}`]),
  ];
  const child = await RpcChild.start({
    command: found.command,
    args: [...found.args, ...own.flatMap((each) => ["-c", each]), "app-server", ...QUIET_ARGUMENTS],
    env,
    cwd,
    label: "Codex",
  });
  try {
    const peer = new RpcPeer(child, {
      notification: () => undefined,
      request: () => Promise.reject(new RpcError("no requests are answered here", METHOD_NOT_FOUND)),
      ended: () => child.reasonOfEnd(),
    });
    const ask = (method: string, params: unknown): Promise<unknown> =>
      peer.request(method, params, { deadlineMs: DEADLINE_MS });
    const introduction: InitializeParams = {
      clientInfo: { name: "pagurus", title: "Pagurus", version: HARNESS_CONTRACT },
      capabilities: { experimentalApi: true, requestAttestation: false },
    };
    await ask("initialize", introduction);
    peer.notify("initialized");
    const { config, origins } = recordOf(await ask("config/read", { includeLayers: false, cwd }));
    const isSubscribed = loginInFile(env) ?? (await loginReported(ask)) === "chatgpt";
    return { config: recordOf(config), origins: recordOf(origins), isSubscribed, settings: own };
  } catch (error) {
    throw new PagurusError(
      "runtime_failed",
      `Codex does not report its configuration (\`${found.command} app-server\`): ${toPagurusError(error).message}`,
      { cause: error },
    );
  } finally {
    await child.end();
  }
}

/** Reads the kind of login from its file, without a request; undefined when there is none. */
function loginInFile(env: Readonly<Record<string, string | undefined>>): boolean | undefined {
  try {
    const login = recordOf(JSON.parse(readFileSync(join(codexHome(env), "auth.json"), "utf8")) as unknown);
    const mode = stringOf(login["auth_mode"]);
    if (mode !== "") return /^chatgpt/i.test(mode);
    return (
      stringOf(login["OPENAI_API_KEY"]) === "" && stringOf(recordOf(login["tokens"])["access_token"]) !== ""
    );
  } catch {
    return undefined;
  }
}

/** For a login that is stored elsewhere. Codex may ask its vendor, so the request can fail. */
async function loginReported(
  ask: (method: string, params: unknown) => Promise<unknown>,
): Promise<string | undefined> {
  const params: GetAccountParams = { refreshToken: false };
  const account = (await ask("account/read", params).catch(() => undefined)) as
    | GetAccountResponse
    | undefined;
  return account?.account?.type;
}

function codexHome(env: Readonly<Record<string, string | undefined>>): string {
  return env["CODEX_HOME"] ?? join(env["HOME"] ?? homedir(), ".codex");
}

/** A profile is a file of its own that the app-server does not accept; only the settings that select the model are read. */
function profileSettings(profile: string, env: Readonly<Record<string, string | undefined>>): string[] {
  const file = join(codexHome(env), `${profile}.config.toml`);
  let toml: string;
  try {
    toml = readFileSync(file, "utf8");
  } catch {
    // Codex reports the error itself.
    return [];
  }
  if (/^\s*\[\s*model_providers\b/m.test(toml))
    throw new PagurusError(
      "usage_invalid",
      `The profile ${profile} defines a provider of its own, which is not followed; define it in config.toml, or name it with -c model_provider=….`,
      { details: { file } },
    );
  const [top = ""] = toml.split(/^\s*\[/m, 1);
  return OF_PROFILE.flatMap((key) => {
    const value = new RegExp(`^\\s*${key}\\s*=\\s*(.+?)\\s*$`, "m").exec(top)?.[1];
    return value === undefined ? [] : [`${key}=${value}`];
  });
}

/** A provider's table without unset values. */
export function providerTable(config: Fields, id: string): Fields | undefined {
  const table = recordOf(config["model_providers"])[id];
  if (table === undefined || table === null) return undefined;
  return Object.fromEntries(Object.entries(recordOf(table)).filter(([, value]) => value !== null));
}

/** Where a setting was made; undefined for one that Codex has by itself. It reports those of a folder only if it trusts the folder. */
export function codexSettingOrigin({ origins }: CodexSetUp, path: string): SettingOrigin | undefined {
  if (!Object.hasOwn(origins, path)) return undefined;
  const type = stringOf(recordOf(recordOf(origins[path])["name"])["type"]);
  if (type === "sessionFlags") return "arguments";
  return type === "user" || type === "system" || /^(?:mdm|legacyManaged)/.test(type) ? "user" : "project";
}

export function stringsOf(value: unknown): Record<string, string> {
  return Object.fromEntries(Object.entries(recordOf(value)).map(([name, each]) => [name, stringOf(each)]));
}
