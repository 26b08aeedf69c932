/** The sessions of an agent as one caller may use them: each call checks the session, and lists hold only what the caller may see. */
import type { Authority, Scope } from "@pagurus/contract/host/authority";
import type { SharedRecords } from "@pagurus/contract/session/shared-records";
import type { SearchHit, SessionHold, SessionStore } from "@pagurus/contract/session/store";
import type { SessionReader, SessionRecord, SessionWriter } from "@pagurus/contract/session/writer";
import { allowsSession, beyond, checkSession, isUnlimited } from "./authority.ts";

export interface StoreCaller {
  authority: Authority;
  /** Throws `token_invalid` where the authority has ended or its scope does not include the needed one. */
  need(scope: Scope, what: string): void;
  /** Throws `token_invalid` for a folder that the caller may not name. */
  checkFolder(path: string, sessionKey?: string): void;
}

export class AuthorizedStore implements SessionStore {
  readonly #store: SessionStore;
  readonly #caller: StoreCaller;
  /** Its records are of all sessions. */
  readonly shared?: SharedRecords;

  constructor(store: SessionStore, caller: StoreCaller) {
    this.#store = store;
    this.#caller = caller;
    if (store.shared && isUnlimited(caller.authority)) this.shared = store.shared;
  }

  #check(scope: Scope, what: string, ...sessionKeys: readonly string[]): SessionStore {
    this.#caller.need(scope, what);
    for (const key of sessionKeys) checkSession(this.#caller.authority, key);
    return this.#store;
  }

  #visible(records: SessionRecord[]): SessionRecord[] {
    const { authority } = this.#caller;
    return records.filter(({ sessionKey }) => allowsSession(authority, sessionKey));
  }

  openWriter(sessionKey: string, options: Parameters<SessionStore["openWriter"]>[1]): SessionWriter {
    this.#caller.checkFolder(options.cwd, sessionKey);
    return this.#check("chat", "write to a session", sessionKey).openWriter(sessionKey, options);
  }

  openReader(sessionKey: string, sessionId?: string): SessionReader {
    return this.#check("read", "read a session", sessionKey).openReader(sessionKey, sessionId);
  }

  list(): SessionRecord[] {
    return this.#visible(this.#check("read", "list sessions").list());
  }

  find(sessionKey: string): SessionRecord | undefined {
    return this.#check("read", "look for a session", sessionKey).find(sessionKey);
  }

  /** The limit counts what the caller may see: a hit that it may not see leaves no gap. */
  search(query: string, options: Parameters<SessionStore["search"]>[1] = {}): SearchHit[] {
    const { authority } = this.#caller;
    const { sessionKey, allows: asked = () => true } = options;
    const store = this.#check("read", "search", ...(sessionKey === undefined ? [] : [sessionKey]));
    if (authority.sessions === "*") return store.search(query, options);
    const allows = (key: string): boolean => allowsSession(authority, key) && asked(key);
    // Again, for a store that does not know the filter.
    return store.search(query, { ...options, allows }).filter((hit) => allows(hit.sessionKey));
  }

  renew(sessionKey: string, options: { cwd: string }): SessionRecord {
    this.#caller.checkFolder(options.cwd, sessionKey);
    return this.#check("chat", "renew a session", sessionKey).renew(sessionKey, options);
  }

  reserveId(): string {
    return this.#check("chat", "create a session").reserveId();
  }

  inFolder(folder: string): SessionRecord[] {
    this.#caller.checkFolder(folder);
    return this.#visible(this.#check("read", "list sessions").inFolder(folder));
  }

  firstKey(folder: string): string {
    this.#caller.checkFolder(folder);
    return this.#check("read", "ask for a session's key").firstKey(folder);
  }

  hold(sessionKey: string, folder?: string): SessionHold {
    if (folder !== undefined) this.#caller.checkFolder(folder, sessionKey);
    return this.#check("chat", "claim a session", sessionKey).hold(sessionKey, folder);
  }

  begin(folder: string): SessionHold {
    this.#caller.checkFolder(folder);
    const hold = this.#check("chat", "begin a session").begin(folder);
    if (allowsSession(this.#caller.authority, hold.sessionKey)) return hold;
    hold.release();
    throw beyond(`use the session ${JSON.stringify(hold.sessionKey)}`, "name a key that its token allows");
  }

  create(sessionKey: string, options: Parameters<SessionStore["create"]>[1]): SessionRecord {
    this.#caller.checkFolder(options.cwd, sessionKey);
    if (options.folder !== undefined) this.#caller.checkFolder(options.folder, sessionKey);
    return this.#check("chat", "create a session", sessionKey).create(sessionKey, options);
  }

  async fork(
    sessionKey: string,
    newKey: string,
    options?: Parameters<SessionStore["fork"]>[2],
  ): Promise<SessionRecord> {
    return this.#check("chat", "fork a session", sessionKey, newKey).fork(sessionKey, newKey, options);
  }

  /** A successor names a file of this machine. */
  rotate(...[writer, successor, carry]: Parameters<SessionStore["rotate"]>): SessionWriter {
    this.#needFiles();
    const { sessionKey } = writer.record;
    return this.#check("chat", "replace a transcript", sessionKey).rotate(writer, successor, carry);
  }

  delete(sessionKey: string): { sessions: number; bytes: number } {
    return this.#check("admin", "delete a session", sessionKey).delete(sessionKey);
  }

  export(sessionKey: string, format: "jsonl" | "markdown"): AsyncIterable<Uint8Array> {
    return this.#check("read", "export a session", sessionKey).export(sessionKey, format);
  }

  async import(...[source, options]: Parameters<SessionStore["import"]>): Promise<SessionRecord> {
    const { sessionKey } = options ?? {};
    if (typeof source === "string") this.#needFiles();
    if (sessionKey === undefined && !isUnlimited(this.#caller.authority))
      throw beyond("import a conversation under a key of its own", "name a key that its token allows");
    const keys = sessionKey === undefined ? [] : [sessionKey];
    return this.#check("chat", "import a conversation", ...keys).import(source, options);
  }

  /** The store is the host's: a caller only stops using it. */
  close(): void {}

  #needFiles(): void {
    if (this.#caller.authority.folders !== "any")
      throw beyond("name a file of this machine", "only its owner and an unlimited token of scope admin may");
  }
}
