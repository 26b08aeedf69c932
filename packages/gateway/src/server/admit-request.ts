/** Authenticates a request from its head alone: origin, host and token. */
import type { IncomingMessage } from "node:http";
import type { WireHeaders } from "../dialect/wire-dialect.ts";
import type { CallTarget } from "./gateway-call.ts";
import { bearer, headersWithout, TOKEN_HEADER } from "./headers.ts";
import type { RunTokens } from "./run-tokens.ts";

/** A request's address without a leading token and version. */
interface Address {
  path: string;
  query: string;
  /** Token of `/t/<token>/…`. */
  token?: string;
}

/** Version of a base URL. A method of a model of Google's has the version that its client asks for. */
const VERSION = /^\/v1(?=\/|$)(?!\/(?:models|tunedModels)\/[^/]+:)/;

export function addressOf(url: string): Address {
  const mark = url.indexOf("?");
  const whole = mark === -1 ? url : url.slice(0, mark);
  const query = mark === -1 ? "" : url.slice(mark);
  const held = /^\/t\/([^/]*)(.*)$/s.exec(whole);
  const rest = held?.[2] ?? whole;
  const path = VERSION.test(rest) ? rest.slice(3) : rest;
  return { path: path === "" ? "/" : path, query, ...(held?.[1] === undefined ? {} : { token: held[1] }) };
}

/** Whether the request was addressed to this server, and not to a site's own host name that resolves to this machine. */
function isForUs(request: IncomingMessage, port: number): boolean {
  const host = request.headers.host?.toLowerCase();
  return host === `127.0.0.1:${port}` || host === `localhost:${port}`;
}

/** Why a request is refused regardless of its token; undefined: it is not. */
export function refusal(request: IncomingMessage, port: number): string | undefined {
  if (!isForUs(request, port)) return "The request is for another host than this one.";
  // Harnesses never send it; browsers do for a page's requests to another origin.
  if (request.headers.origin !== undefined) return "Requests of web pages are not served.";
  return request.url?.startsWith("/") === true ? undefined : "The request has no path.";
}

interface Found<T> {
  owner: T;
  /** Lower-case names of the headers that contained the token. */
  heldBy: ReadonlySet<string>;
}

/** The headers that may contain a token; ours first. */
const HOLDERS = [TOKEN_HEADER, "authorization", "x-api-key", "x-goog-api-key"] as const;

function found<T>(
  { headers }: IncomingMessage,
  tokens: RunTokens<T>,
  inPath: string | undefined,
): Found<T> | undefined {
  const heldBy = new Set<string>([TOKEN_HEADER]);
  const isOurs = headers[TOKEN_HEADER] !== undefined;
  let owner: T | undefined;
  for (const name of HOLDERS) {
    const value = headers[name];
    if (typeof value !== "string") continue;
    const token = name === "authorization" ? bearer(value) : value;
    const owns = token === undefined ? undefined : tokens.ownerOf(token);
    if (owns === undefined) continue;
    heldBy.add(name);
    // A wrong token in our own header is not replaced by another one.
    if (!isOurs || name === TOKEN_HEADER) owner ??= owns;
  }
  if (owner === undefined && !isOurs && inPath !== undefined) owner = tokens.ownerOf(inPath);
  return owner === undefined ? undefined : { owner, heldBy };
}

/** A request without its token. A request that passes unread never needs its headers by name. */
class AdmittedTarget implements CallTarget {
  readonly path: string;
  readonly query: string;
  readonly rawHeaders: readonly string[];
  readonly #all: IncomingMessage["headers"];
  readonly #heldBy: ReadonlySet<string>;
  #headers: WireHeaders | undefined;

  constructor(
    { path, query }: Address,
    { headers, rawHeaders }: IncomingMessage,
    heldBy: ReadonlySet<string>,
  ) {
    this.path = path;
    this.query = query;
    this.#all = headers;
    this.#heldBy = heldBy;
    this.rawHeaders = headersWithout(rawHeaders, heldBy);
  }

  get headers(): WireHeaders {
    if (this.#headers !== undefined) return this.#headers;
    const headers = { ...this.#all };
    for (const name of this.#heldBy) delete headers[name];
    return (this.#headers = headers);
  }
}

/** The token's owner, and the request without the token; undefined if none of the tokens is valid. */
export function admitted<T>(
  request: IncomingMessage,
  address: Address,
  tokens: RunTokens<T>,
): { owner: T; target: CallTarget } | undefined {
  const who = found(request, tokens, address.token);
  return who && { owner: who.owner, target: new AdmittedTarget(address, request, who.heldBy) };
}
