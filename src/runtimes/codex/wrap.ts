/** The user's own Codex, pointed to the model gateway: by settings on its command line, secrets in its environment alone. */
import { basename } from "node:path";
import { PagurusError } from "../../contract/errors.ts";
import type {
  ProgramWrap,
  WrapLaunch,
  WrappedProgram,
  WrapProvider,
  WrapRefusal,
  WrapRequest,
  WrapRoute,
  WrapTools,
} from "../../contract/wrap.ts";
import { freeName } from "../../native/free-name.ts";
import { CatalogFiles, NO_COMPACTION } from "./catalog.ts";
import { fields, text, type Fields } from "./fields.ts";
import { findCodex, type FoundCodex } from "./find.ts";
import { readArguments, toml, withSettings } from "./wrap-arguments.ts";
import { providerTable, readSetUp, stringsOf, type CodexSetUp } from "./wrap-config.ts";

const OPENAI = "openai";
const OPENAI_ADDRESS = "https://api.openai.com/v1";
const CHATGPT_ADDRESS = "https://chatgpt.com/backend-api/";
/** In the place of a provider whose own table cannot be changed, such as one that is built in. */
const STAND_IN = "pagurus";
/** Of a model that the user leaves to Codex: any that its catalog may have. */
const SOME_MODEL = "gpt-5.5";
const SECRET = "PAGURUS_WIRE_SECRET";

interface Surveyed {
  request: WrapRequest;
  found: FoundCodex;
  setUp: CodexSetUp;
  providerId: string;
  /** Undefined for the built-in one of OpenAI. */
  table: Fields | undefined;
  model: string | undefined;
}

export const codexWrap: ProgramWrap = { id: "codex", label: "Codex", api: "openai-responses", survey };

async function survey(request: WrapRequest): Promise<WrappedProgram> {
  const { command, args, env, cwd } = request;
  const said = readArguments(args, cwd);
  const found = findCodex(basename(command) === command ? { env } : { env, command });
  if ("reason" in found) throw new PagurusError("runtime_failed", found.reason);
  const setUp = await readSetUp(found, said, env);
  const { config } = setUp;
  const providerId = text(config["model_provider"]) || OPENAI;
  const table = providerTable(config, providerId);
  const model = said.model ?? (text(config["model"]) || undefined);
  const surveyed: Surveyed = { request, found, setUp, providerId, table, model };
  const refusal = refusalOf(surveyed);
  return {
    provider: providerOf(surveyed),
    cwd: said.cwd,
    models: model === undefined ? [] : [model],
    ...(refusal ? { refusal } : {}),
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
      reason: `Codex asks the provider "${providerId}", whose requests are not governed yet; choose another with -c model_provider=…, or run codex without pagurus wire.`,
    };
  const usesLogin = table === undefined || table["requires_openai_auth"] === true;
  if (!usesLogin || !setUp.isSubscribed) return undefined;
  return {
    kind: "login",
    reason:
      "Codex is logged in by subscription (ChatGPT), which only it may use; log in with an API key (codex login --with-api-key) to have its conversation governed, or name --observe to let it pass as it is.",
  };
}

function providerOf({ request: { env }, setUp, providerId, table }: Surveyed): WrapProvider {
  if (table === undefined) {
    const { config, isSubscribed } = setUp;
    const address = isSubscribed
      ? `${(text(config["chatgpt_base_url"]) || CHATGPT_ADDRESS).replace(/\/+$/, "")}/codex`
      : text(config["openai_base_url"]) || OPENAI_ADDRESS;
    return { id: OPENAI, baseUrl: address, ...(env["OPENAI_API_KEY"] ? { keyEnv: "OPENAI_API_KEY" } : {}) };
  }
  const keyEnv = text(table["env_key"]);
  const byVariable = Object.entries(stringsOf(table["env_http_headers"]))
    .filter(([, name]) => env[name])
    .map(([header, name]) => [header, `\${${name}}`] as const);
  return {
    id: providerId,
    baseUrl: text(table["base_url"]) || OPENAI_ADDRESS,
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
  const id = canReplace ? providerId : STAND_IN;
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

/** The user's own provider at another address. Literal secrets of it go by the environment, as do those of the route. */
function tableFor(
  { table, providerId }: Surveyed,
  route: WrapRoute,
  hide: (value: string) => string,
): Fields {
  const { http_headers, env_http_headers, experimental_bearer_token, ...own } = table ?? {
    requires_openai_auth: true,
  };
  const literal = { ...stringsOf(http_headers), ...route.headers };
  const bearer = text(experimental_bearer_token);
  const login = route.answersAll ? { requires_openai_auth: false, env_key: null, auth: null } : {};
  return {
    ...own,
    ...(bearer === "" ? {} : { env_key: hide(bearer) }),
    ...login,
    name: nameOf(text(fields(table)["name"]) || providerId),
    base_url: route.baseUrl,
    wire_api: "responses",
    supports_websockets: false,
    env_http_headers: {
      ...stringsOf(env_http_headers),
      ...Object.fromEntries(Object.entries(literal).map(([name, value]) => [name, hide(value)])),
    },
  };
}

/** Under these names Codex leaves its compaction to the provider, in a form that only the provider can read. */
function nameOf(name: string): string {
  return /^(?:openai|azure)$/i.test(name) ? `${name} by way of Pagurus` : name;
}

/** The host's own hooks and rules see each call: Codex need not ask its user, too. */
function toolSettings(
  { name, command, args, env }: WrapTools,
  { config }: CodexSetUp,
): Record<string, string> {
  const free = freeName(name, new Set(Object.keys(fields(config["mcp_servers"]))));
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
