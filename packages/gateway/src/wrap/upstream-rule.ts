/**
 * Decides whether a wrapped program's requests may go to the address that it is set to: one function for every program, also for one
 * of a plugin and one that its user describes. Refuses whatever it does not know.
 */
import { PagurusError } from "@pagurus/contract/errors";
import type { WireApi } from "@pagurus/contract/harness/wire";
import type { WrappedProgram } from "@pagurus/contract/harness/wrap";

/** Hosts of each maker that its own login is for; no other host gets it. */
const LOGIN_HOSTS: Readonly<Record<string, readonly string[]>> = {
  anthropic: ["api.anthropic.com"],
  openai: ["api.openai.com", "chatgpt.com"],
  google: ["generativelanguage.googleapis.com", "cloudcode-pa.googleapis.com"],
  "github-copilot": [
    "api.githubcopilot.com",
    "api.individual.githubcopilot.com",
    "api.business.githubcopilot.com",
    "api.enterprise.githubcopilot.com",
  ],
};

/** Host of each protocol's own provider. */
const PROVIDER_HOSTS: Readonly<Record<WireApi, string>> = {
  "openai-responses": "api.openai.com",
  "openai-completions": "api.openai.com",
  "anthropic-messages": "api.anthropic.com",
  "google-generative-ai": "generativelanguage.googleapis.com",
};

export interface UpstreamQuestion {
  program: WrappedProgram;
  api: WireApi;
  label: string;
  /** Whether the user trusts the folder; the program's own record takes precedence. */
  folderTrusted: boolean;
  /** `wire.loginHosts`: further hosts that get a program's login, for example `gateway.example.org` or `127.0.0.1:8080`. */
  loginHosts?: readonly string[] | undefined;
}

/** Throws `runtime_unsupported` with the host's name for an address that may not get the program's requests. */
export function checkUpstream({
  program,
  api,
  label,
  folderTrusted,
  loginHosts = [],
}: UpstreamQuestion): void {
  const { provider, refusal } = program;
  const url = URL.parse(provider.baseUrl);
  if (!url)
    throw refused(`The address of ${label}'s provider, "${provider.baseUrl}", is no URL; correct it.`);
  const { host, protocol } = url;
  if (refusal?.kind === "login") {
    const maker = refusal.login ?? provider.id;
    const own = (Object.hasOwn(LOGIN_HOSTS, maker) && LOGIN_HOSTS[maker]) || [];
    if ((protocol === "https:" && own.includes(host)) || loginHosts.includes(host)) return;
    throw refused(
      `${label} is logged in by subscription and set to ${host}, which is no host of that login; use an API key there, or name the host in wire.loginHosts.`,
    );
  }
  const isProviders = protocol === "https:" && host === PROVIDER_HOSTS[api];
  const isUsers = provider.from !== undefined && provider.from !== "project";
  if (isProviders || isUsers || (program.folderTrusted ?? folderTrusted)) return;
  throw refused(
    provider.from === undefined
      ? `${label} is set to ${host}, and its wrap does not say where that was set; trust the folder with pagurus trust add if it may decide that.`
      : `A file of this folder sets ${label} to ${host}, and the folder is not trusted; trust it with pagurus trust add if it may decide that.`,
  );
}

function refused(sentence: string): PagurusError {
  return new PagurusError("runtime_unsupported", sentence);
}
