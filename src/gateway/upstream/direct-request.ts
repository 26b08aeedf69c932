/** Builds the request that the model's endpoint gets from a harness's request. */
import type { UpstreamRequest } from "./upstream.ts";
import { endToEnd, TOKEN_HEADER } from "../server/headers.ts";

/**
 * Headers of a harness that may be sent to another provider: of the protocol, the program and the conversation. Any other may be a
 * credential, an account, or the user's own.
 */
const PROTOCOL: ReadonlySet<string> = new Set([
  ..."accept accept-charset accept-encoding accept-language cache-control content-encoding content-length".split(
    " ",
  ),
  ..."content-type date priority traceparent tracestate user-agent".split(" "),
  ..."anthropic-beta anthropic-dangerous-direct-browser-access anthropic-version openai-beta".split(" "),
  ..."idempotency-key originator session-id session_id thread-id conversation_id version x-app x-client-request-id".split(
    " ",
  ),
  "x-claude-code-session-id",
]);
const CLIENT_LIBRARY = "x-stainless-";

function isOfProtocol(name: string): boolean {
  return PROTOCOL.has(name) || name.startsWith(CLIENT_LIBRARY);
}

export interface DirectTarget {
  url: URL;
  /** Headers of the host's configuration; they replace the harness's credentials. */
  headers: Readonly<Record<string, string>>;
  /** The harness's credentials must not be sent there. */
  isHosts: boolean;
}

/** Joins base and request path; keeps both queries. */
export function pathAt({ url }: DirectTarget, path: string): string {
  const base = url.pathname.replace(/\/+$/, "");
  const query = url.search.slice(1);
  const joined = `${base}${path.startsWith("/") ? "" : "/"}${path}`;
  return query === "" ? joined : `${joined}${joined.includes("?") ? "&" : "?"}${query}`;
}

/** Forwarded headers keep name, value, order and case; the length is updated in place. */
export function headersFor(target: DirectTarget, request: UpstreamRequest): string[] {
  const own = Object.entries(target.headers);
  const replaced = new Set(own.map(([name]) => name.toLowerCase()));
  const drops = (name: string): boolean =>
    name === TOKEN_HEADER ||
    name === "host" ||
    // The body is complete: there is no need to wait for `100 Continue`.
    name === "expect" ||
    replaced.has(name) ||
    (target.isHosts && !isOfProtocol(name));
  const length = request.body.reduce((sum, part) => sum + part.length, 0);
  const kept = endToEnd(request.rawHeaders, drops);
  const headers = ["Host", target.url.host];
  let isSized = false;
  for (let at = 0; at + 1 < kept.length; at += 2) {
    const [name = "", value = ""] = [kept[at], kept[at + 1]];
    const isLength = name.toLowerCase() === "content-length";
    if (isLength && isSized) continue;
    headers.push(name, isLength ? String(length) : value);
    isSized ||= isLength;
  }
  if (!isSized && (length > 0 || !/^(?:GET|HEAD|DELETE|OPTIONS)$/.test(request.method)))
    headers.push("Content-Length", String(length));
  for (const [name, value] of own) headers.push(name, value);
  return headers;
}
