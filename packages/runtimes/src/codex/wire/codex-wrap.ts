/** Points the user's own Codex to the model gateway by settings on its command line, with secrets in its environment alone. */
import { basename } from "node:path";
import { PagurusError } from "@pagurus/contract/errors";
import type {
  ProgramWrap,
  WrapLaunch,
  WrappedProgram,
  WrapProvider,
  WrapRefusal,
  WrapRequest,
  WrapRoute,
  WrapTools,
} from "@pagurus/contract/harness/wrap";
import { type Fields, recordOf, stringOf } from "@pagurus/core/data/record-fields";
import { freeName } from "@pagurus/core/native/free-name";
import { CatalogFiles, NO_COMPACTION } from "../codex-catalog.ts";
import { findCodex, type FoundCodex } from "../find-codex.ts";
import { readArguments, toml, withSettings } from "./codex-wrap-arguments.ts";
import {
  codexSettingOrigin,
  providerTable,
  readSetUp,
  stringsOf,
  type CodexSetUp,
} from "./codex-wrap-config.ts";
import { defined } from "@pagurus/core/data/defined";

const OPENAI = "openai";
const OPENAI_ADDRESS = "https://api.openai.com/v1";
const CHATGPT_ADDRESS = "https://chatgpt.com/backend-api/";
/** Replaces a provider whose own table cannot be changed, such as a built-in one. */
const REPLACEMENT = "pagurus";
/** For a model that the user leaves to Codex: any that its catalog may have. */
const SOME_MODEL = "gpt-5.5";
const SECRET = "PAGURUS_WIRE_SECRET";

interface Surveyed {
  request: WrapRequest;
  found: FoundCodex;
  setUp: CodexSetUp;
  providerId: string;
  /** Undefined for OpenAI's built-in one. */
  table: Fields | undefined;
  model: string | undefined;
}

export const codexWrap: ProgramWrap = { id: "codex", label: "Codex", api: "openai-responses", survey };

async function survey(request: WrapRequest): Promise<WrappedProgram> {
  const { command, args, env, cwd } = request;
  const parsed = readArguments(args, cwd);
  const found = findCodex(basename(command) === command ? { env } : { env, command });
  if ("reason" in found) throw new PagurusError("runtime_failed", found.reason);
  const setUp = await readSetUp(found, parsed, env);
  const { config } = setUp;
  const providerId = stringOf(config["model_provider"]) || OPENAI;
  const table = providerTable(config, providerId);
  const model = parsed.model ?? (stringOf(config["model"]) || undefined);
  const surveyed: Surveyed = { request, found, setUp, providerId, table, model };
  const refusal = refusalOf(surveyed);
  return {
    provider: providerOf(surveyed),
    cwd: parsed.cwd,
    resumes: parsed.resumes === true,
    models: model === undefined ? [] : [model],
    ...defined({ refusal }),
    launch: (route) => launch(surveyed, route),
  };
}

function refusalOf({ setUp, providerId, table }: Surveyed): WrapRefusal | undefined {
  const isElsewhere =
    table === undefined
      ? providerId !== OPENAI
      : table["aws"] !== undefined || table["gateway_oauth"] !== undefined;
  if (isElsewhere)
    return {
      kind: "place",
      reason: `Codex uses the provider "${providerId}", whose requests are not governed yet; choose another with -c model_provider=…, or run codex without pagurus wire.`,
    };
  const usesLogin = table === undefined || table["requires_openai_auth"] === true;
  if (!usesLogin || !setUp.isSubscribed) return undefined;
  return {
    kind: "login",
    login: OPENAI,
    reason:
      "Codex is logged in by subscription (ChatGPT), whose terms allow it to Codex alone; log in with an API key (codex login --with-api-key) to have its conversation governed, pass --login (or set wire.ownLogin) if your terms allow this, or pass --observe to let it pass unchanged.",
  };
}

function providerOf({ request: { env }, setUp, providerId, table }: Surveyed): WrapProvider {
  if (table === undefined) {
    const { config, isSubscribed } = setUp;
    const address = isSubscribed
      ? `${(stringOf(config["chatgpt_base_url"]) || CHATGPT_ADDRESS).replace(/\/+$/, "")}/codex`
      : stringOf(config["openai_base_url"]) || OPENAI_ADDRESS;
    const from =
      codexSettingOrigin(setUp, isSubscribed ? "chatgpt_base_url" : "openai_base_url") ?? "built-in";
    return {
      id: OPENAI,
      baseUrl: address,
      from,
      ...(env["OPENAI_API_KEY"] ? { keyEnv: "OPENAI_API_KEY" } : {}),
    };
  }
  const keyEnv = stringOf(table["env_key"]);
  const set = stringOf(table["base_url"]);
  const from = set === "" ? "built-in" : codexSettingOrigin(setUp, `model_providers.${providerId}.base_url`);
  const byVariable = Object.entries(stringsOf(table["env_http_headers"]))
    .filter(([, name]) => env[name])
    .map(([header, name]) => [header, `\${${name}}`] as const);
  return {
    id: providerId,
    baseUrl: set || OPENAI_ADDRESS,
    ...defined({ from }),
    ...(keyEnv !== "" && env[keyEnv] ? { keyEnv } : {}),
    headers: { ...stringsOf(table["http_headers"]), ...Object.fromEntries(byVariable) },
  };
}

async function launch(surveyed: Surveyed, route: WrapRoute): Promise<WrapLaunch> {
  const { request, found, table, providerId } = surveyed;
  const secrets: Record<string, string> = {};
  const hide = (value: string): string => {
    const name = `${SECRET}_${Object.keys(secrets).length + 1}`;
    secrets[name] = value;
    return name;
  };
  const canReplace = table !== undefined && /^[\w-]+$/.test(providerId) && !route.answersAll;
  const id = canReplace ? providerId : REPLACEMENT;
  const settings = {
    [`model_providers.${id}`]: toml(tableFor(surveyed, route, hide)),
    model_provider: toml(id),
    ...(route.governs ? { model_catalog_json: toml(await catalogFile(surveyed)) } : {}),
    ...(route.compacts === true ? noCompaction() : {}),
    ...(route.tools ? toolSettings(route.tools, surveyed.setUp) : {}),
  };
  return {
    command: found.command,
    args: [...found.args, ...withSettings(request.args, settings)],
    env: { ...request.env, ...secrets },
  };
}

/** The user's own provider at another address. Its literal secrets are passed in the environment, as are those of the route. */
function tableFor(
  { table, providerId }: Surveyed,
  route: WrapRoute,
  hide: (value: string) => string,
): Fields {
  const { http_headers, env_http_headers, experimental_bearer_token, ...own } = table ?? {
    requires_openai_auth: true,
  };
  const literal = { ...stringsOf(http_headers), ...route.headers };
  const bearer = stringOf(experimental_bearer_token);
  const login = route.answersAll ? { requires_openai_auth: false, env_key: null, auth: null } : {};
  return {
    ...own,
    ...(bearer === "" ? {} : { env_key: hide(bearer) }),
    ...login,
    name: nameOf(stringOf(recordOf(table)["name"]) || providerId),
    base_url: route.baseUrl,
    wire_api: "responses",
    supports_websockets: false,
    env_http_headers: {
      ...stringsOf(env_http_headers),
      ...Object.fromEntries(Object.entries(literal).map(([name, value]) => [name, hide(value)])),
    },
  };
}

/** For these provider names Codex leaves its compaction to the provider, in a form that only the provider can read. */
function nameOf(name: string): string {
  return /^(?:openai|azure)$/i.test(name) ? `${name} by way of Pagurus` : name;
}

/** The host's own hooks and rules see each call, so Codex need not prompt its user, too. */
function toolSettings(
  { name, command, args, env }: WrapTools,
  { config }: CodexSetUp,
): Record<string, string> {
  const free = freeName(name, new Set(Object.keys(recordOf(config["mcp_servers"]))));
  const server = { command, args, env, default_tools_approval_mode: "approve" };
  return { [`mcp_servers.${free}`]: toml(server) };
}

function noCompaction(): Record<string, string> {
  return Object.fromEntries(Object.entries(NO_COMPACTION).map(([key, value]) => [key, toml(value)]));
}

function catalogFile({ request, found, setUp, model }: Surveyed): Promise<string> {
  const args = [...found.args, ...setUp.settings.flatMap((each) => ["-c", each])];
  const catalogs = new CatalogFiles(request.folder, () => ({
    command: found.command,
    args,
    env: request.env,
  }));
  return catalogs.file(model ?? SOME_MODEL);
}
