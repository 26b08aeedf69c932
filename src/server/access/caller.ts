/** Who sends a request, and what they may do. */

/** Each scope includes the ones before it. */
export const SCOPES = ["read", "chat", "admin"] as const;
export type Scope = (typeof SCOPES)[number];

export interface Caller {
  /** Id of the token; `local` for this user's own commands, `browser` for a browser that `pagurus open` has signed in. */
  tokenId: string;
  scope: Scope;
  /** Pattern of session keys, with `*` for any characters. */
  sessions: string;
}

/** Whether a scope includes another. */
export function allowsScope(scope: Scope, needed: Scope): boolean {
  return SCOPES.indexOf(scope) >= SCOPES.indexOf(needed);
}

/** Whether a caller may see a session. A pattern matches whole keys. */
export function allowsSession({ sessions }: Pick<Caller, "sessions">, sessionKey: string): boolean {
  if (sessions === "*") return true;
  const [first = "", ...rest] = sessions.split("*");
  if (rest.length === 0) return sessionKey === sessions;
  if (!sessionKey.startsWith(first)) return false;
  const last = rest.pop() ?? "";
  let at = first.length;
  for (const part of rest) {
    const found = sessionKey.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return sessionKey.length - last.length >= at && sessionKey.endsWith(last);
}

/** Whether a caller may see each session that a pattern matches. */
export function allowsPattern(caller: Pick<Caller, "sessions">, pattern: string): boolean {
  // Only a `*` of the caller's pattern matches a `*`, and then also whatever is in its place.
  return allowsSession(caller, pattern);
}
