/** A login by a code that a person enters on another device (RFC 8628), where the authorization server offers it. */
import { setTimeout as wait } from "node:timers/promises";
import type * as Mcp from "@modelcontextprotocol/client";
import { asString, isRecord } from "@pagurus/core/data/record-fields";
import type { HttpSettings } from "../mcp-settings.ts";
import { expiryOf, type LoginStore, type WantedLogin } from "./login-store.ts";
import type { LoginRequest } from "./login-request.ts";
import { LoginFailed } from "./login-errors.ts";
import { defined } from "@pagurus/core/data/defined";

const GRANT = "urn:ietf:params:oauth:grant-type:device_code";
/** Interval of the questions if the server names none, and what it adds when they are too many, ms. */
const INTERVAL_MS = 5_000;

export interface DeviceOptions {
  library: typeof Mcp;
  store: LoginStore;
  settings: HttpSettings;
  fetch: Mcp.FetchLike;
  wanted: WantedLogin;
  show: LoginRequest["show"];
  signal: AbortSignal;
}

type Fields = Record<string, unknown>;

async function post(
  { fetch, signal }: DeviceOptions,
  address: string | URL,
  params: Record<string, string | undefined>,
): Promise<Fields> {
  const body = new URLSearchParams(
    Object.entries(params).filter((pair): pair is [string, string] => pair[1] !== undefined),
  );
  const headers = { "content-type": "application/x-www-form-urlencoded", accept: "application/json" };
  const response = await fetch(address, { method: "POST", headers, body, signal });
  const answer: unknown = await response.json().catch(() => undefined);
  if (isRecord(answer)) return answer;
  throw new LoginFailed(`got no answer to its login (HTTP ${response.status})`);
}

interface Found {
  discovery: Mcp.OAuthDiscoveryState;
  issuer: string;
  deviceEndpoint: URL;
  tokenEndpoint: URL;
  client: Mcp.StoredOAuthClientInformation;
}

async function discovered({ library, settings, fetch, wanted }: DeviceOptions): Promise<Found> {
  const { oauth, url } = settings;
  const info = await library.discoverOAuthServerInfo(url, {
    fetchFn: fetch,
    ...(wanted.resourceMetadataUrl === undefined
      ? {}
      : { resourceMetadataUrl: new URL(wanted.resourceMetadataUrl) }),
  });
  const metadata = info.authorizationServerMetadata;
  const offered = asString((metadata as Fields | undefined)?.["device_authorization_endpoint"]);
  if (!metadata || offered === undefined)
    throw new LoginFailed("offers no login by device; leave out --device");
  const client = oauth.clientId
    ? { client_id: oauth.clientId, ...(oauth.clientSecret ? { client_secret: oauth.clientSecret } : {}) }
    : await library.registerClient(info.authorizationServerUrl, {
        metadata,
        fetchFn: fetch,
        clientMetadata: {
          client_name: "Pagurus",
          redirect_uris: [],
          grant_types: [GRANT, "refresh_token"],
          token_endpoint_auth_method: "none",
        },
      });
  return {
    discovery: { ...info, authorizationServerUrl: String(info.authorizationServerUrl) },
    issuer: metadata.issuer,
    deviceEndpoint: library.assertSecureTokenEndpoint(offered),
    tokenEndpoint: library.assertSecureTokenEndpoint(metadata.token_endpoint),
    client: { ...client, issuer: metadata.issuer },
  };
}

/** Stores the tokens. Throws `LoginFailed`. */
export async function deviceTokens(options: DeviceOptions): Promise<void> {
  const { library, store, settings, wanted, show } = options;
  const { discovery, issuer, deviceEndpoint, tokenEndpoint, client } = await discovered(options);
  const resource = discovery.resourceMetadata?.resource ?? settings.url.href;
  const scopes = discovery.resourceMetadata?.scopes_supported?.join(" ");
  const scope = library.computeScopeUnion(settings.oauth.scope, wanted.scope) ?? scopes;
  const who = { client_id: client.client_id, client_secret: client.client_secret, resource };
  const started = await post(options, deviceEndpoint, { ...who, scope });
  const code = asString(started["device_code"]);
  const page = URL.parse(asString(started["verification_uri"]) ?? "");
  if (code === undefined || !page || !/^https?:$/.test(page.protocol))
    throw new LoginFailed(`received no login: ${wordsOf(started)}`);
  const userCode = asString(started["user_code"]);
  show({ address: page, issuer, ...defined({ code: userCode }) });
  const tokens = await polled(
    options,
    { ...who, device_code: code, grant_type: GRANT },
    started,
    tokenEndpoint,
  );
  const stamped = { ...tokens, issuer };
  store.write({
    ...store.read(),
    wanted: undefined,
    discovery,
    client,
    resource,
    tokens: stamped,
    expiresAt: expiryOf(tokens),
  });
}

function wordsOf(answer: Fields): string {
  return asString(answer["error_description"]) ?? asString(answer["error"]) ?? "the answer has no code";
}

async function polled(
  options: DeviceOptions,
  params: Record<string, string | undefined>,
  { interval }: Fields,
  endpoint: URL,
): Promise<Mcp.OAuthTokens> {
  let ms = typeof interval === "number" && interval >= 0 ? interval * 1_000 : INTERVAL_MS;
  for (;;) {
    await wait(ms, undefined, { signal: options.signal });
    const answer = await post(options, endpoint, params);
    if (answer["error"] === "slow_down") ms += INTERVAL_MS;
    else if (answer["error"] !== "authorization_pending") return tokensOf(answer);
  }
}

function tokensOf(answer: Fields): Mcp.OAuthTokens {
  const [token, refresh, scope] = ["access_token", "refresh_token", "scope"].map((key) =>
    asString(answer[key]),
  );
  if (token === undefined || token === "") throw new LoginFailed(`received no login: ${wordsOf(answer)}`);
  const seconds = Number(answer["expires_in"]);
  return {
    access_token: token,
    token_type: asString(answer["token_type"]) ?? "Bearer",
    ...defined({ refresh_token: refresh, scope }),
    ...(Number.isFinite(seconds) && seconds > 0 ? { expires_in: seconds } : {}),
  };
}
