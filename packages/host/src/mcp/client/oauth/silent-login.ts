/**
 * Uses a stored login in turns: sends its token and refreshes it at the authorization server that the login found. Never opens a browser,
 * and never asks an address that a server names.
 */
import type * as Mcp from "@modelcontextprotocol/client";
import type { OAuthSettings } from "../mcp-settings.ts";
import { expiryOf, type LoginStore, type StoredLogin } from "./login-store.ts";
import { LoginNeeded } from "./login-errors.ts";
import { StoredProvider } from "./stored-provider.ts";
import { defined } from "@pagurus/core/data/defined";

/** A token that expires within this time is refreshed before it is used, ms. */
const EARLY_MS = 30_000;

export interface SilentOptions {
  library: typeof Mcp;
  store: LoginStore;
  oauth: OAuthSettings;
  fetch: Mcp.FetchLike;
}

type Unauthorized = Parameters<NonNullable<Mcp.AuthProvider["onUnauthorized"]>>[0];

export class SilentLogin implements Mcp.AuthProvider {
  readonly #options: SilentOptions;
  /** The token that was last handed out. */
  #used: string | undefined;
  #refreshing: Promise<void> | undefined;

  constructor(options: SilentOptions) {
    this.#options = options;
  }

  async token(): Promise<string | undefined> {
    const { expiresAt, tokens } = this.#options.store.read();
    const isOld = expiresAt !== undefined && expiresAt - EARLY_MS < Date.now();
    // The server decides about an old token that cannot be refreshed.
    if (tokens && isOld) await this.#refreshed().catch(() => undefined);
    this.#used = this.#options.store.read().tokens?.access_token;
    return this.#used;
  }

  /** Called for HTTP 401. Throws `LoginNeeded`. */
  async onUnauthorized({ response }: Unauthorized): Promise<void> {
    const { store, library } = this.#options;
    const { tokens } = store.read();
    // Another process has refreshed it meanwhile.
    if (tokens && tokens.access_token !== this.#used) return;
    try {
      await this.#refreshed();
    } catch {
      const { scope, resourceMetadataUrl } = library.extractWWWAuthenticateParams(response);
      this.wants({ scope, resourceMetadataUrl: resourceMetadataUrl?.href });
      throw new LoginNeeded("asks for a login");
    }
  }

  /** Stores what the server asked for, which the next login requests. */
  wants({ scope, resourceMetadataUrl }: NonNullable<StoredLogin["wanted"]>): void {
    const { store, library } = this.#options;
    const login = store.read();
    const all = library.computeScopeUnion(login.wanted?.scope, login.tokens?.scope, scope);
    const address = resourceMetadataUrl ?? login.wanted?.resourceMetadataUrl;
    store.write({ ...login, wanted: { scope: all, resourceMetadataUrl: address } });
  }

  /** One refresh at a time. Rejects if there is nothing to refresh with, or the server refuses it. */
  #refreshed(): Promise<void> {
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  async #refresh(): Promise<void> {
    const { store, oauth, library, fetch: fetchFn } = this.#options;
    const login = store.read();
    const { discovery, resource, tokens } = login;
    const provider = new StoredProvider({ library, store, oauth }, { fresh: false });
    const server = discovery?.authorizationServerUrl;
    if (server === undefined) throw new LoginNeeded("asks for a login");
    const metadata = discovery?.authorizationServerMetadata;
    const common = { fetchFn, ...defined({ metadata, resource }) };
    const client = provider.clientInformation();
    if (oauth.grant === "client_credentials") {
      const scope = login.wanted?.scope ?? tokens?.scope;
      const made = await library.fetchToken(provider, server, { ...common, ...defined({ scope }) });
      store.write({ ...login, tokens: { ...tokens, ...made }, expiresAt: expiryOf(made) });
      return;
    }
    const refreshToken = tokens?.refresh_token;
    if (refreshToken === undefined || !client) throw new LoginNeeded("asks for a login");
    const { addClientAuthentication } = provider;
    try {
      const made = await library.refreshAuthorization(server, {
        ...common,
        clientInformation: client,
        refreshToken,
        ...defined({ addClientAuthentication }),
      });
      store.write({ ...login, tokens: { ...tokens, ...made }, expiresAt: expiryOf(made) });
    } catch (error) {
      // A refresh token is for one use where it rotates: another process may have used it first.
      if (store.read().tokens?.access_token === tokens?.access_token) throw error;
    }
  }
}
