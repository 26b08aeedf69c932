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

/** Lower-case names that `connection: a, b` lists as hop-by-hop. */
function named(rawHeaders: readonly string[]): Set<string> {
  const names = new Set<string>();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.toLowerCase() !== "connection") continue;
    for (const name of (rawHeaders[at + 1] ?? "").split(",")) names.add(name.trim().toLowerCase());
  }
  // A peer must not remove the length that frames its message.
  names.delete("content-length");
  return names;
}

/** The list without hop-by-hop headers, and without those for which `drop` (called with the lower-case name) returns true. */
export function endToEnd(
  rawHeaders: readonly string[],
  drop: (name: string, value: string) => boolean = () => false,
): string[] {
  const hops = named(rawHeaders);
  const kept: string[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? "";
    const value = rawHeaders[at + 1] ?? "";
    const lower = name.toLowerCase();
    if (OF_CONNECTION.has(lower) || lower.startsWith("proxy-") || hops.has(lower)) continue;
    if (!drop(lower, value)) kept.push(name, value);
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
