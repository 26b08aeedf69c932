/** Programs that have something open at the server, by the token or login that they came with. */
import { defined } from "@pagurus/core/data/defined";
import type { Connection, Token } from "@pagurus/api/types";
import { isTokenId } from "../access/tokens.ts";

/** `open`: number of open things by id; `tokens`: those that are valid or were used. */
export function connectedPrograms(open: ReadonlyMap<string, number>, tokens: readonly Token[]): Connection[] {
  const named = tokens
    .filter(({ id, usedAt }) => open.has(id) || usedAt !== undefined)
    .map(({ id, name, usedAt }): Connection => ({
      id,
      name,
      kind: id.startsWith("browser-") ? "browser" : "token",
      open: open.get(id) ?? 0,
      ...defined({ usedAt: usedAt === undefined ? undefined : new Date(usedAt).toISOString() }),
    }));
  const known = new Set(tokens.map(({ id }) => id));
  const others = [...open]
    .filter(([id]) => !known.has(id))
    .map(([id, count]): Connection => {
      const isBrowser = isTokenId(id);
      return {
        id,
        name: isBrowser ? "A browser" : "Commands of this user",
        kind: isBrowser ? "browser" : "local",
        open: count,
      };
    });
  return [...named, ...others].toSorted((a, b) => b.open - a.open);
}
