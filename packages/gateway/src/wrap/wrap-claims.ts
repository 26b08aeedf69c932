/** Claims of the conversations that a wrapped program uses while it runs. */
import type { ClaimRequest, SessionClaim } from "@pagurus/contract/session/claim";
import type { HarnessBinding, TurnThread } from "@pagurus/contract/harness/harness";
import type { Pagurus } from "@pagurus/contract/host/host";
import { toPagurusError } from "@pagurus/contract/errors";
import type { SessionStore } from "@pagurus/contract/session/store";
import type { SessionRecord } from "@pagurus/contract/session/writer";
import { readBinding } from "@pagurus/host/stores/files/bindings";

/** Maximum number of a program's conversation names that a session stores. */
const MOST_CLAIM_NAMES = 50;

export class WrapClaims {
  readonly #pagurus: Pick<Pagurus, "claim">;
  readonly #place: { agentId: string; cwd: string };
  readonly #claims = new Map<string, SessionClaim>();

  constructor(pagurus: Pick<Pagurus, "claim">, place: { agentId: string; cwd: string }) {
    this.#pagurus = pagurus;
    this.#place = place;
  }

  /** Throws as `Pagurus.claim`. */
  async claim(request: Pick<ClaimRequest, "sessionKey" | "how">): Promise<SessionClaim> {
    const claim = await this.#pagurus.claim({ ...this.#place, ...request });
    this.#claims.set(claim.sessionKey, claim);
    return claim;
  }

  /** False if another live program or turn has claimed the conversation. */
  async take(sessionKey: string): Promise<boolean> {
    if (this.#claims.has(sessionKey)) return true;
    try {
      await this.claim({ sessionKey });
      return true;
    } catch (error) {
      if (toPagurusError(error).code === "session_locked") return false;
      throw error;
    }
  }

  /** Creates a conversation in the folder and returns its key. */
  async begin(): Promise<string> {
    return (await this.claim({ how: "new" })).sessionKey;
  }

  release(): void {
    for (const claim of this.#claims.values()) claim.release();
    this.#claims.clear();
  }
}

/** Stores the program's name for the conversation, so that a resume finds the session. */
export function noteName(thread: TurnThread, threadId: string | undefined): void {
  if (threadId === undefined || threadId === "") return;
  const names = namesOf(thread.binding());
  if (names.at(-1) === threadId) return;
  const kept = [...names.filter((name) => name !== threadId), threadId].slice(-MOST_CLAIM_NAMES);
  thread.bind({ nativeId: threadId, state: { names: kept } });
}

function namesOf(binding: HarnessBinding | undefined): string[] {
  if (!binding) return [];
  const { names } = binding.state;
  const known = Array.isArray(names) ? names.filter((name) => typeof name === "string") : [];
  return known.length > 0 ? known : [binding.nativeId];
}

/** The program's names for the conversations in a session. */
export function namesIn(record: SessionRecord, runtime: string): string[] {
  try {
    return namesOf(readBinding(record, runtime));
  } catch {
    // An unreadable file has no names; the turn that writes it reports the error.
    return [];
  }
}

/** The sessions with the program's conversation of that name, last used first; a session and its copies share the name. */
export function sessionsNamed(store: SessionStore, runtime: string, threadId: string): SessionRecord[] {
  if (threadId === "") return [];
  return store.list().filter((record) => record.current && namesIn(record, runtime).includes(threadId));
}
