/** The SDK's view of a stored login: who we are, and the tokens. Keeps changes back until tokens have arrived. */
import { randomBytes, timingSafeEqual } from "node:crypto";
import type * as Mcp from "@modelcontextprotocol/client";
import type { OAuthSettings } from "../mcp-settings.ts";
import { LoginFailed } from "./login-errors.ts";
import { expiryOf, type LoginStore, type StoredLogin } from "./login-store.ts";
import { defined } from "@pagurus/core/data/defined";

export interface ProviderOptions {
  library: typeof Mcp;
  store: LoginStore;
  oauth: OAuthSettings;
  /** Address that the browser returns to; undefined for a grant without a browser. */
  redirectUrl?: URL | undefined;
  /** Called with the address for the browser. */
  onAuthorize?: (address: URL) => void;
}

export class StoredProvider implements Mcp.OAuthClientProvider {
  readonly #options: ProviderOptions;
  readonly #state = randomBytes(24).toString("base64url");
  #login: StoredLogin;
  #verifier = "";
  /** The configured address of this program's own metadata. */
  readonly clientMetadataUrl?: string;
  readonly addClientAuthentication?: Mcp.AddClientAuthentication;

  /** `fresh`: discovers the authorization server again and ignores the tokens of the last login. */
  constructor(options: ProviderOptions, { fresh }: { fresh: boolean }) {
    this.#options = options;
    const { store, oauth, redirectUrl, library } = options;
    const { discovery, tokens, client, ...rest } = store.read();
    const isSamePort = redirectUrl === undefined || rest.port === Number(redirectUrl.port);
    this.#login = {
      ...rest,
      ...(isSamePort ? { client } : {}),
      ...(fresh ? {} : { discovery, tokens }),
      ...(redirectUrl ? { port: Number(redirectUrl.port) } : {}),
    };
    if (oauth.clientMetadataUrl !== undefined) this.clientMetadataUrl = oauth.clientMetadataUrl;
    if (oauth.privateKey !== undefined)
      this.addClientAuthentication = library.createPrivateKeyJwtAuth({
        issuer: oauth.clientId ?? "",
        subject: oauth.clientId ?? "",
        privateKey: oauth.privateKey,
        alg: oauth.algorithm,
      });
  }

  get redirectUrl(): string | undefined {
    return this.#options.redirectUrl?.href;
  }

  get clientMetadata(): Mcp.OAuthClientMetadata {
    const { oauth, redirectUrl } = this.#options;
    const grants = redirectUrl ? ["authorization_code", "refresh_token"] : ["client_credentials"];
    return {
      client_name: "Pagurus",
      redirect_uris: redirectUrl ? [redirectUrl.href] : [],
      grant_types: grants,
      ...(redirectUrl ? { response_types: ["code"] } : {}),
      ...defined({ scope: oauth.scope }),
    };
  }

  state(): string {
    return this.#state;
  }

  /** Whether a returned state is the one of this login. */
  isState(state: string | null): boolean {
    const [given, own] = [Buffer.from(state ?? ""), Buffer.from(this.#state)];
    return given.length === own.length && timingSafeEqual(given, own);
  }

  clientInformation(): Mcp.StoredOAuthClientInformation | undefined {
    const { clientId, clientSecret, issuer: configured } = this.#options.oauth;
    if (clientId === undefined) return this.#login.client;
    // One without an issuer belongs to the server that the login found.
    const issuer = configured ?? this.#login.discovery?.authorizationServerMetadata?.issuer;
    return { client_id: clientId, ...defined({ client_secret: clientSecret, issuer }) };
  }

  saveClientInformation(client: Mcp.StoredOAuthClientInformation): void {
    // A configured client is never replaced.
    if (this.#options.oauth.clientId === undefined) this.#login = { ...this.#login, client };
  }

  tokens(): Mcp.StoredOAuthTokens | undefined {
    return this.#login.tokens;
  }

  /** Throws `store_write_failed`. */
  saveTokens(tokens: Mcp.StoredOAuthTokens): void {
    const { wanted: _wanted, ...rest } = this.#login;
    this.#login = { ...rest, tokens, expiresAt: expiryOf(tokens) };
    this.#options.store.write(this.#login);
  }

  /** Throws for an address that is no web page, such as a local program's. */
  redirectToAuthorization(address: URL): void {
    if (address.protocol !== "https:" && address.protocol !== "http:")
      throw new LoginFailed(
        `was not logged in to: its login page has an address that begins with ${address.protocol}`,
      );
    this.#options.onAuthorize?.(address);
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  codeVerifier(): string {
    return this.#verifier;
  }

  saveResourceUrl(resource: string): void {
    this.#login = { ...this.#login, resource };
  }

  saveDiscoveryState(discovery: Mcp.OAuthDiscoveryState): void {
    this.#login = { ...this.#login, discovery };
  }

  discoveryState(): Mcp.OAuthDiscoveryState | undefined {
    return this.#login.discovery;
  }

  invalidateCredentials(scope: "all" | "client" | "tokens" | "verifier" | "discovery"): void {
    const { client, tokens, discovery, ...rest } = this.#login;
    const isGone = (part: string): boolean => scope === "all" || scope === part;
    this.#login = {
      ...rest,
      ...(isGone("client") ? {} : { client }),
      ...(isGone("tokens") ? {} : { tokens }),
      ...(isGone("discovery") ? {} : { discovery }),
    };
  }

  /** Parameters of the token request of a grant without a browser. */
  prepareTokenRequest(scope?: string): URLSearchParams | undefined {
    if (this.#options.redirectUrl) return undefined;
    const params = new URLSearchParams({ grant_type: "client_credentials" });
    const asked = this.#options.oauth.scope ?? scope;
    if (asked !== undefined) params.set("scope", asked);
    return params;
  }
}
