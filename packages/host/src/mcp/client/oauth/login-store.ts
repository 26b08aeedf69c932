/** Logins to MCP servers: tokens and the registered client, one file for each server, readable by the user alone. */
import { createHash } from "node:crypto";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type * as Mcp from "@modelcontextprotocol/client";
import { attempt } from "@pagurus/core/data/attempt";
import { isRecord } from "@pagurus/core/data/record-fields";
import { ensurePrivateDir, writeFileAtomic } from "@pagurus/core/platform/atomic-files";

/** Permissions that the server asked for, for the next login. */
export interface WantedLogin {
  scope?: string | undefined;
  /** Address of the metadata that names the authorization server. */
  resourceMetadataUrl?: string | undefined;
}

/** State of the login to one server. Without `tokens` a login is needed. */
export interface StoredLogin {
  /** Address of the MCP server. */
  server: string;
  /** Authorization server and its metadata, as found by the login; later refreshes use these alone. */
  discovery?: Mcp.OAuthDiscoveryState | undefined;
  client?: Mcp.StoredOAuthClientInformation | undefined;
  tokens?: Mcp.StoredOAuthTokens | undefined;
  /** Milliseconds since the epoch; absent if the server named no lifetime. */
  expiresAt?: number | undefined;
  /** Value of the `resource` parameter of token requests. */
  resource?: string | undefined;
  /** Port of the redirect address that the client was registered with. */
  port?: number | undefined;
  wanted?: WantedLogin | undefined;
}

export class LoginStore {
  readonly #folder: string;
  readonly #file: string;
  readonly #server: string;

  /** Another address is another login: a token never goes to an address that it was not made for. */
  constructor(home: string, name: string, url: URL) {
    this.#server = `${url.origin}${url.pathname}`;
    this.#folder = join(home, "credentials", "mcp");
    const key = createHash("sha256").update(JSON.stringify([name, this.#server]));
    this.#file = join(this.#folder, `${key.digest("hex").slice(0, 24)}.json`);
  }

  /** Reads it again each time, since another process may have refreshed it. A damaged file counts as no login. */
  read(): StoredLogin {
    const value: unknown = attempt((): unknown => JSON.parse(readFileSync(this.#file, "utf8")));
    if (!isRecord(value) || value["server"] !== this.#server) return { server: this.#server };
    const { tokens, ...rest } = value as unknown as StoredLogin;
    const isUsable = typeof tokens?.access_token === "string" && tokens.access_token !== "";
    return { ...rest, ...(isUsable ? { tokens } : {}) };
  }

  /** Throws `store_write_failed`. */
  write(login: StoredLogin): void {
    ensurePrivateDir(this.#folder);
    writeFileAtomic(this.#file, `${JSON.stringify({ ...login, server: this.#server })}\n`);
  }

  /** False if there was no login. */
  forget(): boolean {
    const had = this.read().tokens !== undefined;
    rmSync(this.#file, { force: true });
    return had;
  }

  /** Values that no sentence may contain. */
  secrets(): string[] {
    const { tokens, client } = this.read();
    const found = [tokens?.access_token, tokens?.refresh_token, client?.client_secret];
    return found.filter((value) => value !== undefined);
  }
}

/** The moment at which a token expires. */
export function expiryOf({ expires_in: seconds }: Mcp.OAuthTokens, now = Date.now()): number | undefined {
  return seconds === undefined ? undefined : now + seconds * 1_000;
}
