/** The conversations that a client sees: those of its folder, or all that its caller may see. */
import { resolve } from "node:path";
import { PagurusError } from "@pagurus/contract/errors";
import type { SearchHit, SessionStore } from "@pagurus/contract/session/store";
import type { SessionReader, SessionRecord } from "@pagurus/contract/session/writer";

/** Every read of a client goes through one, so that no word of another folder is in an answer. */
export class VisibleSessions {
  readonly #store: SessionStore;
  readonly #folder: string | undefined;

  /** `folder` absent: every conversation of the store. */
  constructor(store: SessionStore, folder?: string) {
    this.#store = store;
    this.#folder = folder === undefined ? undefined : resolve(folder);
  }

  /** Where the conversations are, for sentences: `in /work/shop`. */
  get place(): string {
    return this.#folder === undefined ? "here" : `in ${this.#folder}`;
  }

  /** Every generation, last used first. Throws `store_read_failed`. */
  list(): SessionRecord[] {
    return this.#store.list().filter((record) => this.#isVisible(record));
  }

  /** Throws `session_not_found`, the same for a conversation of another folder. */
  open(sessionKey: string, sessionId?: string): { record: SessionRecord; reader: SessionReader } {
    const ofKey = this.#store.list().filter((record) => record.sessionKey === sessionKey);
    const record = ofKey.find((each) =>
      sessionId === undefined ? each.current : each.sessionId === sessionId,
    );
    // A key's generations may be of several folders.
    if (!record || !this.#isVisible(record))
      throw new PagurusError(
        "session_not_found",
        `There is no conversation ${JSON.stringify(sessionId ?? sessionKey)} ${this.place}; the tool sessions lists them.`,
      );
    return { record, reader: this.#store.openReader(sessionKey, record.sessionId) };
  }

  /** Best first. Throws `session_not_found` for a key that is not visible, `store_read_failed`. */
  search(query: string, { limit, sessionKey }: { limit: number; sessionKey?: string }): SearchHit[] {
    const records = this.list();
    const visible = new Set(records.map(({ sessionId }) => sessionId));
    const keys = new Set(records.map((record) => record.sessionKey));
    if (sessionKey !== undefined && !keys.has(sessionKey)) this.open(sessionKey);
    const allows = (key: string): boolean => keys.has(key) && (sessionKey ?? key) === key;
    return this.#store.search(query, { limit, allows }).filter((hit) => visible.has(hit.sessionId));
  }

  /** A key that was made for a folder belongs to it, any other one to the folder that it was used in. */
  #isVisible({ folder, cwd }: SessionRecord): boolean {
    return this.#folder === undefined || resolve(folder ?? cwd) === this.#folder;
  }
}
