/** A login that a person starts: finds the authorization server, lets the person agree in a browser, and stores the tokens. */
import type * as Mcp from "@modelcontextprotocol/client";
import { packageVersion } from "@pagurus/core/platform/package-version";
import type { HttpSettings } from "../mcp-settings.ts";
import { serverFetch } from "../http-transport.ts";
import { deviceTokens } from "./device-login.ts";
import { LoginStore, type WantedLogin } from "./login-store.ts";
import { LoginFailed } from "./login-errors.ts";
import type { LoginRequest } from "./login-request.ts";
import { LoopbackRedirect } from "./loopback-redirect.ts";
import { StoredProvider, type ProviderOptions } from "./stored-provider.ts";
import { defined } from "@pagurus/core/data/defined";

/** Time for a person in a browser, ms. */
const PERSON_MS = 10 * 60_000;

export interface LoginResult {
  /** The authorization server. */
  issuer: string;
  scope?: string;
  expiresAt?: number;
}

/** Throws `LoginFailed`, the SDK's errors and those of `fetch`. Stores nothing until tokens have arrived. */
export async function logIn(request: LoginRequest): Promise<LoginResult> {
  const { settings, home, name } = request;
  const library = await import("@modelcontextprotocol/client");
  const signal = AbortSignal.any([request.signal, AbortSignal.timeout(PERSON_MS)]);
  const store = new LoginStore(home, name, settings.url);
  const fetch = serverFetch(settings, { forLogin: true, signal });
  const [before, now] = [store.read().wanted, await challenge(library, settings, fetch)];
  const wanted = { ...before, ...now, scope: library.computeScopeUnion(before?.scope, now.scope) };
  const { oauth } = settings;
  const common = { library, store, oauth };
  if (oauth.grant === "client_credentials") {
    const provider = new StoredProvider(common, { fresh: true });
    await authorize(provider, { library, settings, fetch, wanted });
  } else if (request.device === true)
    await deviceTokens({ ...common, settings, fetch, wanted, show: request.show, signal });
  else await byBrowser({ ...request, signal }, common, { fetch, wanted });
  const { discovery, tokens, expiresAt } = store.read();
  return { issuer: issuerOf(discovery), ...defined({ scope: tokens?.scope, expiresAt }) };
}

function issuerOf(discovery: Mcp.OAuthDiscoveryState | undefined): string {
  return discovery?.authorizationServerMetadata?.issuer ?? discovery?.authorizationServerUrl ?? "";
}

/** Sends a request without a token, and reads the metadata's address and the scopes from the refusal. */
async function challenge(
  library: typeof Mcp,
  { url }: HttpSettings,
  fetch: Mcp.FetchLike,
): Promise<WantedLogin> {
  const params = {
    protocolVersion: library.LATEST_PROTOCOL_VERSION,
    capabilities: {},
    clientInfo: { name: "pagurus", version: packageVersion() },
  };
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize", params }),
  });
  await response.body?.cancel();
  if (response.status !== 401 && response.status !== 403) return {};
  const { scope, resourceMetadataUrl } = library.extractWWWAuthenticateParams(response);
  return {
    ...defined({ scope, resourceMetadataUrl: resourceMetadataUrl?.href }),
  };
}

interface AuthorizeOptions {
  library: typeof Mcp;
  settings: HttpSettings;
  fetch: Mcp.FetchLike;
  wanted: WantedLogin;
}

/** The first step, or the last one with an answer. */
async function authorize(
  provider: Mcp.OAuthClientProvider,
  { library, settings, fetch, wanted }: AuthorizeOptions,
  answer?: { code: string; iss?: string },
): Promise<Mcp.AuthResult> {
  const scope = library.computeScopeUnion(settings.oauth.scope, wanted.scope);
  const options: Mcp.AuthOptions = {
    serverUrl: settings.url,
    fetchFn: fetch,
    forceReauthorization: true,
    ...defined({ scope }),
    ...(wanted.resourceMetadataUrl === undefined
      ? {}
      : { resourceMetadataUrl: new URL(wanted.resourceMetadataUrl) }),
    ...(answer && { authorizationCode: answer.code, ...defined({ iss: answer.iss }) }),
  };
  try {
    return await library.auth(provider, options);
  } catch (error) {
    if (!isOwnIssuer(library, error, settings.url)) throw error;
    return await library.auth(provider, { ...options, skipIssuerMetadataValidation: true });
  }
}

/**
 * Whether a server of the revision of March 2025, which is its own authorization server, names itself with a path. Only then may the
 * name differ from the address of its metadata.
 */
function isOwnIssuer(library: typeof Mcp, error: unknown, { origin }: URL): boolean {
  if (!(error instanceof library.IssuerMismatchError) || error.kind !== "metadata") return false;
  const { expected = "", received = "" } = error;
  return expected.replace(/\/$/, "") === origin && URL.parse(received)?.origin === origin;
}

async function byBrowser(
  { settings, show, signal }: LoginRequest,
  common: Omit<ProviderOptions, "redirectUrl" | "onAuthorize">,
  { fetch, wanted }: Pick<AuthorizeOptions, "fetch" | "wanted">,
): Promise<void> {
  const { library, store, oauth } = common;
  let isOurs = (_state: string | null): boolean => false;
  const port = oauth.callbackPort ?? store.read().port;
  const redirect = await LoopbackRedirect.open(port, (answer) => isOurs(answer.get("state")));
  try {
    if (oauth.callbackPort !== undefined && Number(redirect.url.port) !== oauth.callbackPort)
      throw new LoginFailed(`needs the port ${oauth.callbackPort} for the login, which is in use`);
    const provider: StoredProvider = new StoredProvider(
      {
        ...common,
        redirectUrl: redirect.url,
        onAuthorize: (address) =>
          show({
            address,
            issuer: issuerOf(provider.discoveryState()),
            paste: (pasted) => redirect.take(pasted),
          }),
      },
      { fresh: true },
    );
    isOurs = (state) => provider.isState(state);
    const options = { library, settings, fetch, wanted };
    if ((await authorize(provider, options)) === "AUTHORIZED") return;
    const answer = await redirect.answer(signal);
    const code = answer.get("code");
    if (code === null) throw new LoginFailed(`received no login: ${refusal(answer)}`);
    const iss = answer.get("iss");
    await authorize(provider, options, { code, ...defined({ iss: iss ?? undefined }) });
  } finally {
    redirect.close();
  }
}

function refusal(answer: URLSearchParams): string {
  return answer.get("error_description") ?? answer.get("error") ?? "the answer has no code";
}
