import { PagurusError } from "../contract/errors.ts";

/** Letters and digits of any script, and what the key schemes of hosts use between them; never in a file name. */
const KEY = /^[\p{L}\p{N}_+@#][\p{L}\p{N}\p{M}._:@+/#=~-]{0,199}$/u;
const SESSION_ID = /^[0-9a-z]{16}$/;

export function isSessionKey(key: string): boolean {
  return KEY.test(key);
}

/** Throws `session_key_invalid` for a key that is empty, too long, or has spaces or control characters. */
export function assertSessionKey(key: string): void {
  if (isSessionKey(key)) return;
  throw new PagurusError(
    "session_key_invalid",
    `The session key ${JSON.stringify(key.slice(0, 80))} is not valid; it begins with a letter, a digit or one of _ + @ #, and has up to 200 letters, digits and . _ : @ + / # = ~ - without spaces.`,
  );
}

/** True for an id that `IdSource` made; only such names are taken for session files. */
export function isSessionId(text: string): boolean {
  return SESSION_ID.test(text);
}

/** The key of a session that lost its own; nothing but its file says that it exists. */
export function recoveredKey(sessionId: string): string {
  return `recovered:${sessionId}`;
}
