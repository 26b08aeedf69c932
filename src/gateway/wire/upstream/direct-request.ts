/** A request of a harness as the model's endpoint gets it. */
import type { UpstreamRequest } from "./upstream.ts";
import { endToEnd, TOKEN_HEADER } from "../server/headers.ts";

const CREDENTIALS: ReadonlySet<string> = new Set(["authorization", "x-api-key"]);

export interface DirectTarget {
  url: URL;
  /** Of the host's configuration; they stand for the harness's own credentials. */
  headers: Readonly<Record<string, string>>;
  /** The harness's credentials are not for it. */
  isHosts: boolean;
}

/** Base and request path joined, queries of both kept. */
export function pathAt({ url }: DirectTarget, path: string): string {
  const base = url.pathname.replace(/\/+$/, "");
  const query = url.search.slice(1);
  const joined = `${base}${path.startsWith("/") ? "" : "/"}${path}`;
  return query === "" ? joined : `${joined}${joined.includes("?") ? "&" : "?"}${query}`;
}

/** Names, values, order and case stay; the length is made new where it stood. */
export function headersFor(target: DirectTarget, request: UpstreamRequest): string[] {
  const own = Object.entries(target.headers);
  const replaced = new Set(own.map(([name]) => name.toLowerCase()));
  const drops = (name: string): boolean =>
    name === TOKEN_HEADER ||
    name === "host" ||
    // The body is at hand: nobody has to be asked whether it may come.
    name === "expect" ||
    replaced.has(name) ||
    (target.isHosts && CREDENTIALS.has(name));
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
