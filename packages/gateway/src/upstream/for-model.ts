/** Selects the upstream for a model of the catalog and a harness's protocol: direct, or with translation. */
import type { WireApi } from "@pagurus/contract/harness/wire";
import { withoutAuthScheme } from "@pagurus/core/data/secret-mask";
import { keyHeader } from "@pagurus/core/model/quirks/key-header";
import type { ResolvedModel } from "@pagurus/core/model/provider-types";
import { directUpstream, type DirectAgents } from "./direct.ts";
import { translatingUpstream } from "./translate/translate-upstream.ts";
import { ATTEMPTS, type Upstream } from "./upstream.ts";
import { defined } from "@pagurus/core/data/defined";

const SHORTEST_TOKEN = 16;

export interface UpstreamOptions {
  /** Connections shared with other upstreams. */
  agents?: DirectAgents | undefined;
  /** Maximum attempts of an upstream without translation. Default: those of a request to a model; 1 if each may be paid for. */
  attempts?: number;
}

/** Throws `config_invalid`. */
export function upstreamFor(
  model: ResolvedModel,
  api: WireApi,
  sessionKey: string,
  { agents, attempts = ATTEMPTS }: UpstreamOptions = {},
): Upstream {
  const { info, baseUrl } = model;
  const secrets = captureSecrets(model);
  if (info.api !== api) return translatingUpstream({ model, sessionKey, secrets });
  return directUpstream({
    baseUrl,
    headers: credentials(model),
    isHosts: true,
    label: info.ref,
    attempts,
    secrets,
    diagnosesCache: model.diagnosesCache === true,
    ...defined({ agents }),
  });
}

/** Values that must not be in captures; a shorter header value may be a word of the conversation. */
function captureSecrets({ apiKey, headers }: ResolvedModel): string[] {
  const values = Object.values(headers.reveal()).map((value) => withoutAuthScheme(value));
  return [...(apiKey ? [apiKey.reveal()] : []), ...values.filter((value) => value.length >= SHORTEST_TOKEN)];
}

/** The host's own key and headers, as the protocol sends them; a configured header overrides the key's. */
function credentials({ info, apiKey, headers }: ResolvedModel): Record<string, string> {
  const configured = headers.reveal();
  const own = keyHeader(info.api, apiKey?.reveal());
  const isConfigured = Object.keys(configured).some((name) => Object.hasOwn(own, name.toLowerCase()));
  return { ...(isConfigured ? {} : own), ...configured };
}
