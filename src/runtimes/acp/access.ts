import { hash } from "node:crypto";
import type { ModelInfo } from "../../contract/model.ts";
import type { WireRoute } from "../../contract/wire.ts";
import type { Agent } from "./agents.ts";
import type { AcpOptions, Endpoint } from "./options.ts";

/** How an agent reaches the model. */
export interface Access {
  /** Tells processes apart. */
  key: string;
  endpoint: Endpoint | undefined;
  api: ModelInfo["api"];
  /** Environment that points the agent there, or names the model. */
  env: Readonly<Record<string, string>>;
  /** The agent is asked to take the endpoint, where it can. */
  isAsked: boolean;
  /** The endpoint is asked through a route of the host's gateway, which is opened for the process. */
  wire?: { modelId: string; open(): Promise<WireRoute> } | undefined;
}

const MERGED = "CODEX_CONFIG";

/** Throws what resolving the model throws. */
export function accessOf(
  agent: Agent,
  { api, id, ...model }: ModelInfo,
  options: Pick<AcpOptions, "endpoint" | "env">,
): Access {
  const endpoint = agent.entry.login === "own" ? undefined : options.endpoint({ api, id, ...model });
  const env = leading(agent, { api, id }, endpoint, options.env);
  const key = endpoint === undefined ? "" : hash("sha256", JSON.stringify([api, endpoint, env]));
  return { key, endpoint, api, env, isAsked: endpoint !== undefined && agent.known?.isReachedByEnv !== true };
}

/** Environment that leads an agent there. */
function leading(
  { entry, known }: Agent,
  { api, id }: Pick<ModelInfo, "api" | "id">,
  endpoint: Endpoint | undefined,
  env: AcpOptions["env"],
): Record<string, string> {
  const own = entry.env ?? {};
  const led = endpoint && known?.access?.({ api, id, endpoint, env: { ...env, ...own } });
  // What the user has set for the agent stays; its configuration was taken into ours.
  const made = Object.entries(led ?? {}).filter(([name]) => name === MERGED || !Object.hasOwn(own, name));
  return Object.fromEntries(made);
}

/** The same through a route of the gateway, which puts the host's credentials in the place of this one. */
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

/** The whole environment of the agent's process: the host's, the agent's own entry, and what leads to the model. */
export function environmentOf(
  { entry, known }: Agent,
  access: Access,
  env: AcpOptions["env"],
): Record<string, string | undefined> {
  const isLed = known?.strays !== undefined && Object.keys(access.env).length > 0;
  const kept = isLed
    ? Object.entries(env).filter(([name]) => !known.strays?.test(name))
    : Object.entries(env);
  return { ...Object.fromEntries(kept), ...entry.env, ...access.env };
}
