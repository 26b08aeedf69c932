/** Separates a message's hop-by-hop headers from those that are forwarded. Lists contain alternating names and values. */

/** Contains a run token; never forwarded to a model. */
export const TOKEN_HEADER = "x-pagurus-token";

const OF_CONNECTION: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

const NO_NAMES: ReadonlySet<string> = new Set();

/** Lower-case names that `connection: a, b` lists as hop-by-hop. */
function named(lowerNames: readonly string[], rawHeaders: readonly string[]): ReadonlySet<string> {
  let names: Set<string> | undefined;
  for (const [index, lower] of lowerNames.entries()) {
    if (lower !== "connection") continue;
    names ??= new Set();
    for (const name of (rawHeaders[2 * index + 1] ?? "").split(",")) names.add(name.trim().toLowerCase());
  }
  // A peer must not remove the length that frames its message.
  names?.delete("content-length");
  return names ?? NO_NAMES;
}

/** The list without hop-by-hop headers, and without those for which `drop` (called with the lower-case name) returns true. */
export function endToEnd(
  rawHeaders: readonly string[],
  drop?: (name: string, value: string) => boolean,
): string[] {
  const lowerNames: string[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) lowerNames.push(rawHeaders[at]?.toLowerCase() ?? "");
  const hops = named(lowerNames, rawHeaders);
  const kept: string[] = [];
  for (const [index, lower] of lowerNames.entries()) {
    if (OF_CONNECTION.has(lower) || lower.startsWith("proxy-") || hops.has(lower)) continue;
    const value = rawHeaders[2 * index + 1] ?? "";
    if (drop?.(lower, value) !== true) kept.push(rawHeaders[2 * index] ?? "", value);
  }
  return kept;
}

/** The list without the headers of these lower-case names. */
export function headersWithout(rawHeaders: readonly string[], names: ReadonlySet<string>): string[] {
  const kept: string[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? "";
    if (!names.has(name.toLowerCase())) kept.push(name, rawHeaders[at + 1] ?? "");
  }
  return kept;
}

/** The first value of a header; lower-case name. */
export function valueOf(rawHeaders: readonly string[], name: string): string | undefined {
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]?.toLowerCase() === name) return rawHeaders[at + 1];
  return undefined;
}

/** The credential of `authorization: Bearer <credential>`. */
export function bearer(value: string): string | undefined {
  return /^bearer +(\S+) *$/i.exec(value)?.[1];
}
