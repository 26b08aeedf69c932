import { hash } from "node:crypto";
import { basename, join } from "node:path";
import type { HarnessTurn } from "@pagurus/contract/harness/harness";
import type { ModelInfo } from "@pagurus/contract/model";
import type { WireRoute } from "@pagurus/contract/harness/wire";
import { childEnvironment } from "@pagurus/core/platform/child-environment";
import type { Agent } from "./agents.ts";
import { isSameModel, type AskedModel } from "./acp-model.ts";
import type { AcpOptions, Endpoint } from "./acp-options.ts";
import { untrustedFolder } from "./agents/folder-rule.ts";
import type { FolderAccess } from "./agents/known-agent.ts";
import { unknownAgentFolder } from "./agents/known-agents.ts";

/** How an agent reaches the model. */
export interface Access {
  /** Identity of the process: turns with the same key share one. */
  key: string;
  endpoint: Endpoint | undefined;
  api: ModelInfo["api"];
  /** Environment that sets the agent's endpoint or names the model. */
  env: Readonly<Record<string, string>>;
  /** Environment for the permission mode. */
  modeEnv?: Readonly<Record<string, string>>;
  /** Keeps the agent from the files of an untrusted folder. */
  folder?: FolderAccess | undefined;
  /** The endpoint is sent to the agent (`providers/set`), where it supports that. */
  isAsked: boolean;
  /** Requests go to the endpoint through a route of the host's gateway, which is opened for the process. */
  wire?: { modelId: string; open(): Promise<WireRoute> } | undefined;
}

const MERGED = "CODEX_CONFIG";

/** Throws what resolving the model throws, `runtime_unsupported`. */
export function accessOf(
  agent: Agent,
  { model: { api, id, ...model }, cwd }: { model: ModelInfo; cwd: string },
  options: Pick<AcpOptions, "endpoint" | "env" | "home" | "trusts">,
): Access {
  const endpoint = agent.entry.login === "own" ? undefined : options.endpoint({ api, id, ...model });
  const env = leading(agent, { api, id: agent.entry.model ?? id }, endpoint, options.env);
  const key = endpoint === undefined ? "" : hash("sha256", JSON.stringify([api, endpoint, env]));
  const isAsked = endpoint !== undefined && agent.known?.isReachedByEnv !== true;
  const folder = folderAccess(agent, cwd, options);
  return folder
    ? { key: `${key}\nuntrusted`, endpoint, api, env, isAsked, folder }
    : { key, endpoint, api, env, isAsked };
}

/** Throws `runtime_unsupported` for an agent that cannot be kept from what the folder would run. */
function folderAccess(
  { id, label, known, entry }: Agent,
  cwd: string,
  { env, home, trusts }: Pick<AcpOptions, "env" | "home" | "trusts">,
): FolderAccess | undefined {
  if (trusts(cwd)) return undefined;
  const seen = { ...env, ...entry.env };
  const program = basename(entry.command ?? id);
  const agent = known ?? { label, folder: unknownAgentFolder([id, program]) };
  return untrustedFolder(agent, { cwd, env: seen, files: join(home, "runtimes", "acp") });
}

/** The same for a turn: an agent may need a process for each permission mode, or for each session. */
export function turnAccess(
  { entry, known }: Agent,
  access: Access,
  { permissionMode, sessionKey }: Pick<HarnessTurn, "permissionMode" | "sessionKey">,
): Access {
  const own = entry.env ?? {};
  const modeEnv = Object.entries(known?.modeEnv?.(permissionMode) ?? {}).filter(
    ([name]) => !Object.hasOwn(own, name),
  );
  const names = [
    ...(modeEnv.length > 0 ? [`mode ${permissionMode}`] : []),
    ...(known?.keepsPast ? [`session ${sessionKey}`] : []),
  ];
  return { ...access, modeEnv: Object.fromEntries(modeEnv), key: [...names, access.key].join("\n") };
}

/** Environment that points an agent to the endpoint. */
function leading(
  { entry, known }: Agent,
  { api, id }: Pick<ModelInfo, "api" | "id">,
  endpoint: Endpoint | undefined,
  env: AcpOptions["env"],
): Record<string, string> {
  const own = entry.env ?? {};
  const led = endpoint && known?.access?.({ api, id, endpoint, env: { ...env, ...own } });
  // The user's own settings for the agent win; its configuration was merged into ours.
  const made = Object.entries(led ?? {}).filter(([name]) => name === MERGED || !Object.hasOwn(own, name));
  return Object.fromEntries(made);
}

/** The same through a route of the gateway, which replaces this access by the host's credentials. */
export function routedAccess(
  agent: Agent,
  access: Access,
  { baseUrl, headers }: WireRoute,
  hostEnv: AcpOptions["env"],
): Access {
  const endpoint = { baseUrl, headers: { authorization: "Bearer none", ...headers } };
  const { api, wire } = access;
  const env = leading(agent, { api, id: wire?.modelId ?? "" }, endpoint, hostEnv);
  const isLed = Object.keys(env).some((name) => name.endsWith("_BASE_URL"));
  return { ...access, endpoint, env, isAsked: !(isLed && agent.known?.isReachedByEnv === true) };
}

/** Model that the turn asks the agent for. */
export function askedModel(
  agent: Agent,
  { id }: Pick<ModelInfo, "id">,
  env: Readonly<Record<string, string | undefined>>,
): AskedModel {
  const asked = agent.entry.model ?? id;
  const named = agent.known?.modelIn?.(env);
  return { id: asked, isNamed: named !== undefined && isSameModel(named, asked) };
}

/** Whole environment of the agent's process: what every child gets, its own entry, and the access to the model. */
export function environmentOf(
  { entry, known }: Agent,
  access: Access,
  { env, passedOn = [] }: Pick<AcpOptions, "env" | "passedOn">,
): Record<string, string> {
  const isLed = known?.strays !== undefined && Object.keys(access.env).length > 0;
  const seen = Object.entries(childEnvironment(env, [...(known?.variables?.(env) ?? []), ...passedOn]));
  const kept = isLed ? seen.filter(([name]) => !known.strays?.test(name)) : seen;
  return {
    ...Object.fromEntries(kept),
    ...entry.env,
    ...access.env,
    ...access.modeEnv,
    ...access.folder?.env,
  };
}
