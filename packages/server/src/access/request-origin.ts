/**
 * Which Host and Origin a request may have: a page of another site must not reach the server through the user's browser, also not
 * by a name that it lets resolve to this machine.
 */
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";

export interface AllowedOrigins {
  /** Names of this server besides those of the loopback, without a port. */
  hosts: ReadonlySet<string>;
  /** Any address may be the host: the server listens on more than the loopback. */
  anyAddress: boolean;
  /** Origins of other sites' pages that may call it. */
  origins: ReadonlySet<string>;
}

const LOOPBACK: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"]);

function hostName(host: string): string {
  return host.replace(/:\d*$/, "").toLowerCase();
}

/** Why a request is refused, as a sentence; undefined where it may pass. */
export function originProblem(request: IncomingMessage, allowed: AllowedOrigins): string | undefined {
  const { host, origin } = request.headers;
  const name = host === undefined ? "" : hostName(host);
  const isAddress = allowed.anyAddress && isIP(name.replace(/^\[|\]$/g, "")) !== 0;
  if (!LOOPBACK.has(name) && !allowed.hosts.has(name) && !isAddress)
    return `The server does not answer to the host name ${JSON.stringify(name)}; use its address, or add the name to server.allowedHosts.`;
  if (origin === undefined || isOwn(origin, host ?? "") || allowed.origins.has(origin)) return undefined;
  return `Pages of ${JSON.stringify(origin)} may not call this server; add the origin to server.allowedOrigins.`;
}

function isOwn(origin: string, host: string): boolean {
  const at = origin.indexOf("://");
  return at > 0 && origin.slice(at + 3).toLowerCase() === host.toLowerCase();
}

/** CORS headers for a page that may call; none for others. */
export function corsHeaders(origin: string | undefined, { origins }: AllowedOrigins): Record<string, string> {
  if (origin === undefined || !origins.has(origin)) return {};
  return {
    "access-control-allow-origin": origin,
    "access-control-allow-headers":
      "authorization, content-type, idempotency-key, last-event-id, x-pagurus-session",
    "access-control-allow-methods": "GET, POST, DELETE",
    vary: "origin",
  };
}
