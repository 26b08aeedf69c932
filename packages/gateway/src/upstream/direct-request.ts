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

/** A version at the end of a base, and at the start of a request's path: Google's clients write it themselves. */
const BASE_VERSION = /\/v1(?:alpha|beta)?$/;
const OWN_VERSION = /^\/(?:(?:up|down)load\/)?v1(?:alpha|beta)\/|^\/v1\/(?:models|tunedModels)\/[^/]+:/;
/** Parameters of a query in which Google's clients may have a key. */
const KEY_PARAMETER = /^(?:key|access_token|oauth_token)=/;

const LENGTH_HEADER = "content-length";

/** An endpoint, with what of each request depends on it alone. */
export class DirectTarget {
  readonly url: URL;
  /** The harness's credentials must not be sent there. */
  readonly isHosts: boolean;
  readonly #host: string;
  readonly #base: string;
  readonly #search: string;
  /** Names and values of the headers of the host's configuration; they replace the harness's credentials. */
  readonly #own: readonly string[];
  readonly #dropped: ReadonlySet<string>;

  constructor(url: URL, headers: Readonly<Record<string, string>>, isHosts: boolean) {
    this.url = url;
    this.isHosts = isHosts;
    this.#host = url.host;
    this.#base = url.pathname.replace(/\/+$/, "");
    this.#search = url.search.slice(1);
    this.#own = Object.entries(headers).flat();
    const own = Object.keys(headers).map((name) => name.toLowerCase());
    // The body is complete: there is no need to wait for `100 Continue`, which `expect` asks for.
    this.#dropped = new Set([TOKEN_HEADER, "host", "expect", ...own]);
  }

  /**
   * Joins base and request path; keeps both queries. A version of the request replaces the base's. A key in the query is the harness's
   * credential, and not sent to a model of the host.
   */
  pathAt(path: string): string {
    const mark = path.indexOf("?");
    const plain = mark < 0 ? path : path.slice(0, mark);
    const full = plain.startsWith("/") ? plain : `/${plain}`;
    const base = OWN_VERSION.test(full) ? this.#base.replace(BASE_VERSION, "") : this.#base;
    const own = mark < 0 ? [] : path.slice(mark + 1).split("&");
    const parts = this.isHosts ? own.filter((part) => !KEY_PARAMETER.test(part)) : own;
    if (this.#search !== "") parts.push(this.#search);
    return parts.length === 0 ? `${base}${full}` : `${base}${full}?${parts.join("&")}`;
  }

  /** Forwarded headers keep name, value, order and case; the length is updated in place. */
  headersFor({ method, rawHeaders, body }: UpstreamRequest): string[] {
    let length = 0;
    for (const part of body) length += part.length;
    const kept = endToEnd(
      rawHeaders,
      (name) => this.#dropped.has(name) || (this.isHosts && !isOfProtocol(name)),
    );
    const headers = ["Host", this.#host];
    let isSized = false;
    for (let at = 0; at + 1 < kept.length; at += 2) {
      const name = kept[at] ?? "";
      const isLength = name.length === LENGTH_HEADER.length && name.toLowerCase() === LENGTH_HEADER;
      if (isLength && isSized) continue;
      headers.push(name, isLength ? String(length) : (kept[at + 1] ?? ""));
      isSized ||= isLength;
    }
    if (!isSized && (length > 0 || !/^(?:GET|HEAD|DELETE|OPTIONS)$/.test(method)))
      headers.push("Content-Length", String(length));
    headers.push(...this.#own);
    return headers;
  }
}
