/** How a user has set Codex up, as the program itself reads it. */
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { PagurusError, toPagurusError } from "../../contract/errors.ts";
import { HARNESS_CONTRACT } from "../../contract/version.ts";
import { RpcChild } from "../../rpc/child.ts";
import { METHOD_NOT_FOUND, RpcError, RpcPeer } from "../../rpc/peer.ts";
import { fields, text, type Fields } from "./fields.ts";
import type { FoundCodex } from "./find.ts";
import { QUIET_ARGUMENTS } from "./network.ts";
import type { GetAccountParams, GetAccountResponse, InitializeParams } from "./protocol.ts";
import type { CodexArguments } from "./wrap-arguments.ts";

const DEADLINE_MS = 30_000;
/** Settings of a profile that say which model is asked, and where. */
const OF_PROFILE = ["model", "model_provider", "openai_base_url", "model_catalog_json"];

export interface CodexSetUp {
  /** Effective configuration. */
  config: Fields;
  /** Its login is one to ChatGPT. */
  isSubscribed: boolean;
  /** `-c` settings that stand for the user's own. */
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
      request: () => Promise.reject(new RpcError("nothing is answered here", METHOD_NOT_FOUND)),
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
    const { config } = fields(await ask("config/read", { includeLayers: false, cwd }));
    const isSubscribed = loginInFile(env) ?? (await loginTold(ask)) === "chatgpt";
    return { config: fields(config), isSubscribed, settings: own };
  } catch (error) {
    throw new PagurusError(
      "runtime_failed",
      `Codex does not tell how it is set up (\`${found.command} app-server\`): ${toPagurusError(error).message}`,
      { cause: error },
    );
  } finally {
    await child.end();
  }
}

/** What the file of the login says, without asking anybody; undefined where there is none. Only its kind is looked at. */
function loginInFile(env: Readonly<Record<string, string | undefined>>): boolean | undefined {
  try {
    const login = fields(JSON.parse(readFileSync(join(codexHome(env), "auth.json"), "utf8")) as unknown);
    const mode = text(login["auth_mode"]);
    if (mode !== "") return /^chatgpt/i.test(mode);
    return text(login["OPENAI_API_KEY"]) === "" && text(fields(login["tokens"])["access_token"]) !== "";
  } catch {
    return undefined;
  }
}

/** Of a login that is kept elsewhere. Codex may ask its maker for it, so that it can fail. */
async function loginTold(
  ask: (method: string, params: unknown) => Promise<unknown>,
): Promise<string | undefined> {
  const params: GetAccountParams = { refreshToken: false };
  const told = (await ask("account/read", params).catch(() => undefined)) as GetAccountResponse | undefined;
  return told?.account?.type;
}

function codexHome(env: Readonly<Record<string, string | undefined>>): string {
  return env["CODEX_HOME"] ?? join(env["HOME"] ?? homedir(), ".codex");
}

/** A profile is a file of its own that the app-server does not take; only what says which model is asked is read of it. */
function profileSettings(profile: string, env: Readonly<Record<string, string | undefined>>): string[] {
  const file = join(codexHome(env), `${profile}.config.toml`);
  let toml: string;
  try {
    toml = readFileSync(file, "utf8");
  } catch {
    // Codex says itself what is wrong with it.
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

/** A provider's table without what is not set. */
export function providerTable(config: Fields, id: string): Fields | undefined {
  const table = fields(config["model_providers"])[id];
  if (table === undefined || table === null) return undefined;
  return Object.fromEntries(Object.entries(fields(table)).filter(([, value]) => value !== null));
}

export function stringsOf(value: unknown): Record<string, string> {
  return Object.fromEntries(Object.entries(fields(value)).map(([name, each]) => [name, text(each)]));
}
