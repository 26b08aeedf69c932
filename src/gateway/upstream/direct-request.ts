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
  ..."anthropic-beta anthropic-dangerous-direct-browser-access anthropic-version openai-beta x-goog-api-client".split(
    " ",
  ),
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

/** A version at the end of a base, and at the start of a request's path: Google's clients write it themselves. */
const BASE_VERSION = /\/v1(?:alpha|beta)?$/;
const OWN_VERSION = /^\/(?:(?:up|down)load\/)?v1(?:alpha|beta)\/|^\/v1\/(?:models|tunedModels)\/[^/]+:/;
/** Parameters of a query in which Google's clients may have a key. */
const KEY_PARAMETER = /^(?:key|access_token|oauth_token)=/;

/**
 * Joins base and request path; keeps both queries. A version of the request replaces the base's. A key in the query is the harness's
 * credential, and not sent to a model of the host.
 */
export function pathAt({ url, isHosts }: DirectTarget, path: string): string {
  const mark = path.indexOf("?");
  const plain = mark < 0 ? path : path.slice(0, mark);
  const full = plain.startsWith("/") ? plain : `/${plain}`;
  const whole = url.pathname.replace(/\/+$/, "");
  const base = OWN_VERSION.test(full) ? whole.replace(BASE_VERSION, "") : whole;
  const own = mark < 0 ? [] : path.slice(mark + 1).split("&");
  const kept = isHosts ? own.filter((part) => !KEY_PARAMETER.test(part)) : own;
  const parts = url.search === "" ? kept : [...kept, url.search.slice(1)];
  return parts.length === 0 ? `${base}${full}` : `${base}${full}?${parts.join("&")}`;
}

const LENGTH_HEADER = "content-length";

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
    const name = kept[at] ?? "";
    const value = kept[at + 1] ?? "";
    const isLength = name.length === LENGTH_HEADER.length && name.toLowerCase() === LENGTH_HEADER;
    if (isLength && isSized) continue;
    headers.push(name, isLength ? String(length) : value);
    isSized ||= isLength;
  }
  if (!isSized && (length > 0 || !/^(?:GET|HEAD|DELETE|OPTIONS)$/.test(request.method)))
    headers.push("Content-Length", String(length));
  for (const [name, value] of own) headers.push(name, value);
  return headers;
}
