import { PagurusError } from "@pagurus/contract/errors";

/** Letters and digits of any script, and the separators of other hosts' key schemes; never in a file name. */
const KEY = /^[\p{L}\p{N}_+@#][\p{L}\p{N}\p{M}._:@+/#=~-]{0,199}$/u;
/** Most keys. V8 compiles it in no time, and the pattern above in 2 ms. */
const PLAIN_KEY = /^[A-Za-z0-9_+@#][A-Za-z0-9._:@+/#=~-]{0,199}$/;
const SESSION_ID = /^[0-9a-z]{16}$/;
/** An id that an engine chose: no path, no hidden file. */
const GIVEN_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
/** An id with such an ending would make its transcript another session's file. */
const FILE_ENDINGS = /\.(jsonl|lock|key|torn|quarantine|receipts|mailbox|mirror|spend|tmp)$/i;

export function isSessionKey(key: string): boolean {
  return PLAIN_KEY.test(key) || KEY.test(key);
}

/** Throws `session_key_invalid` for a key that is empty, too long, or has spaces or control characters. */
export function assertSessionKey(key: string): void {
  if (isSessionKey(key)) return;
  throw new PagurusError(
    "session_key_invalid",
    `The session key ${JSON.stringify(key.slice(0, 80))} is not valid; it begins with a letter, a digit or one of _ + @ #, and has up to 200 letters, digits and . _ : @ + / # = ~ - without spaces.${hintFor(key)}`,
  );
}

/** The nearest valid key. */
function hintFor(key: string): string {
  const near = key
    .trim()
    .replaceAll(/[^\p{L}\p{N}\p{M}._:@+/#=~-]+/gu, "-")
    .replace(/^[^\p{L}\p{N}_+@#]+/u, "")
    .slice(0, 200);
  return isSessionKey(near) ? ` Did you mean ${JSON.stringify(near)}?` : "";
}

/** True for an id that may name session files: one that was made here, or one that an engine chose for a successor. */
export function isSessionId(text: string): boolean {
  return GIVEN_ID.test(text) && !FILE_ENDINGS.test(text) && !text.endsWith(".");
}

/** Throws `usage_invalid` for an id that cannot name session files. */
export function assertSessionId(sessionId: string): void {
  if (isSessionId(sessionId)) return;
  throw new PagurusError(
    "usage_invalid",
    `The session id ${JSON.stringify(sessionId.slice(0, 80))} is not valid; take one that the store reserved.`,
  );
}

/** True for an id as `IdSource` makes it: a transcript of that name is a session, whatever its content. */
export function isOwnId(text: string): boolean {
  return SESSION_ID.test(text);
}

/** The key of a session that lost its own: only its file is left. */
export function recoveredKey(sessionId: string): string {
  return `recovered:${sessionId}`;
}
