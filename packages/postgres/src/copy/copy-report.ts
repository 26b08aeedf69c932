/** What a copy did with each conversation. */
import { isPagurusError } from "@pagurus/contract/errors";
import type { SessionHold, SessionStore } from "@pagurus/contract/session/store";
import { defined } from "@pagurus/core/data/defined";

/**
 * `copied`: something was written. `present`: the target has all of it. `in_use`: a live program or host has it. `different`: the target has
 * other content, which was not touched. Of the last two nothing was written.
 */
export type CopyStatus = "copied" | "present" | "in_use" | "different";

/** One key of an agent with all its generations. */
export interface CopiedKey {
  agent: string;
  key: string;
  status: CopyStatus;
  /** Generations that were compared or copied. */
  sessions: number;
  /** Bytes that were written. */
  bytes: number;
  /** One sentence, without contents; absent where there is nothing to explain. */
  detail?: string;
}

export interface CopyOptions {
  home: string;
  schema: string;
  /** Called after each key. */
  tell(copied: CopiedKey): void;
}

export interface Written {
  bytes: number;
  detail?: string;
}

/** Ids of an agent's sessions here that both sides have after a copy. */
export function sessionsOf(store: SessionStore, of: string, copied: readonly CopiedKey[]): string[] {
  const isOnBoth = ({ agent, status }: CopiedKey): boolean =>
    agent === of && (status === "copied" || status === "present");
  const both = new Set(copied.filter(isOnBoth).map(({ key }) => key));
  return store
    .list()
    .filter(({ sessionKey }) => both.has(sessionKey))
    .map(({ sessionId }) => sessionId);
}

/** Ends the copy of one key; its sentence is the detail. */
export class Refused extends Error {
  override readonly name = "Refused";
  readonly status: "in_use" | "different";

  constructor(status: "in_use" | "different", sentence: string) {
    super(sentence);
    this.status = status;
  }
}

/** Keeps live programs of this machine away from a conversation while it is copied. Throws `Refused` where one has it. */
export function holdKey(store: SessionStore, key: string): SessionHold {
  try {
    return store.hold(key);
  } catch (error) {
    if (isPagurusError(error) && error.code === "session_locked") throw new Refused("in_use", error.message);
    throw error;
  }
}

/** PostgreSQL's code for a key that is in use. */
const UNIQUE_VIOLATION = "23505";

/** Runs the copy of one key and turns a refusal into its report. */
export async function reportedCopy(
  agent: string,
  key: string,
  sessions: number,
  work: () => Promise<Written>,
): Promise<CopiedKey> {
  try {
    const { bytes, detail } = await work();
    const status = bytes > 0 ? "copied" : "present";
    return { agent, key, status, sessions, bytes, ...defined({ detail }) };
  } catch (error) {
    const refused = isUniqueViolation(error)
      ? new Refused("different", `Another program has just created a session of the key ${key}.`)
      : error;
    if (!(refused instanceof Refused)) throw error;
    return { agent, key, status: refused.status, sessions, bytes: 0, detail: refused.message };
  }
}

function isUniqueViolation(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === UNIQUE_VIOLATION;
}
