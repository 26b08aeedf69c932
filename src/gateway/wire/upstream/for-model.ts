/** How a model of the catalog is asked by a harness that speaks some protocol: directly, or in its own words. */
import type { WireApi } from "../../../contract/wire.ts";
import type { ResolvedModel } from "../../../model/types.ts";
import { directUpstream, type DirectAgents } from "./direct.ts";
import { translatingUpstream } from "./translate/upstream.ts";
import type { Upstream } from "./upstream.ts";

/** Calls in all, the first one included, as long as nothing of an answer has come. */
const ATTEMPTS = 3;
const SHORTEST_SECRET = 16;

/** `agents`: connections that are shared with other upstreams. Throws `config_invalid`. */
export function upstreamFor(
  model: ResolvedModel,
  api: WireApi,
  sessionKey: string,
  agents?: DirectAgents,
): Upstream {
  const { info, baseUrl } = model;
  const secrets = secretsOf(model);
  if (info.api !== api) return translatingUpstream({ model, sessionKey, secrets });
  return directUpstream({
    baseUrl,
    headers: credentials(model),
    isHosts: true,
    label: info.ref,
    attempts: ATTEMPTS,
    secrets,
    ...(agents ? { agents } : {}),
  });
}

/** Values that no capture may hold; a shorter one of a header may be a word of the conversation. */
function secretsOf({ apiKey, headers }: ResolvedModel): string[] {
  const values = Object.values(headers.reveal()).map((value) => value.replace(/^(?:bearer|basic)\s+/i, ""));
  return [...(apiKey ? [apiKey.reveal()] : []), ...values.filter((value) => value.length >= SHORTEST_SECRET)];
}

/** The host's own key and headers, as the protocol sends them; a header of the configuration stands for the key's. */
function credentials({ info, apiKey, headers }: ResolvedModel): Record<string, string> {
  const told = headers.reveal();
  const name = info.api === "anthropic-messages" ? "x-api-key" : "authorization";
  const key = apiKey?.reveal();
  if (key === undefined || Object.keys(told).some((each) => each.toLowerCase() === name)) return { ...told };
  return { [name]: name === "x-api-key" ? key : `Bearer ${key}`, ...told };
}
