/** What of a message's headers belongs to one connection, and what goes on. Lists hold names and values by turns. */

/** Carries a run token; never goes on to a model. */
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

/** Names, in lower case, that `connection: a, b` says are of this connection alone. */
function named(rawHeaders: readonly string[]): Set<string> {
  const names = new Set<string>();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.toLowerCase() !== "connection") continue;
    for (const name of (rawHeaders[at + 1] ?? "").split(",")) names.add(name.trim().toLowerCase());
  }
  // A peer cannot take the length away that frames its message.
  names.delete("content-length");
  return names;
}

/** The list without headers of the connection, and without those that `drop` (given the name in lower case) names. */
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

/** The first value of a header, the name in lower case. */
export function valueOf(rawHeaders: readonly string[], name: string): string | undefined {
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]?.toLowerCase() === name) return rawHeaders[at + 1];
  return undefined;
}

/** What `authorization: Bearer <credential>` holds. */
export function bearer(value: string): string | undefined {
  return /^bearer +(\S+) *$/i.exec(value)?.[1];
}
