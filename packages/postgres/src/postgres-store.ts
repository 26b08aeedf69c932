/** The store of sessions that several hosts share. Loaded only where the configuration names a database. */
import { hash } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { isPagurusError } from "@pagurus/contract/errors";
import type { NativeHistory } from "@pagurus/contract/harness/native";
import type { FoundSession, SharedRecords, SharedSearch } from "@pagurus/contract/session/shared-records";
import type { SearchHit, SessionHold, SessionStore, Successor } from "@pagurus/contract/session/store";
import type { NewEntry } from "@pagurus/contract/session/transcript";
import type { SessionReader, SessionRecord, SessionWriter } from "@pagurus/contract/session/writer";
import { ensurePrivateDir } from "@pagurus/core/platform/atomic-files";
import { allSessions, generations, sessionRow } from "@pagurus/host/stores/files/index/index-rows";
import type { SessionIndex } from "@pagurus/host/stores/files/index/session-index";
import {
  EmbeddedSessionStore,
  type ImportOptions,
  type SessionStoreOptions,
} from "@pagurus/host/stores/files/session-store";
import { sessionSpendFile } from "@pagurus/host/stores/files/spend/spend-scopes";
import { Bridge } from "./bridge.ts";
import { HostRecords } from "./host-records.ts";
import { MirrorState } from "./mirror-state.ts";
import { targetOf, type PostgresSettings, type Target } from "./settings.ts";
import { heldElsewhere, SharedSessions } from "./shared-sessions.ts";

/** Sessions that one search fetches at most. */
const MOST_FETCHED = 50;

/** The agents of a host share the thread of a database. */
const bridges = new Map<string, Bridge>();

function bridgeTo(target: Target): Bridge {
  const name = JSON.stringify(target);
  const bridge = bridges.get(name) ?? new Bridge(target);
  bridges.set(name, bridge);
  return bridge;
}

/**
 * Opens the sessions of agents in PostgreSQL. Nothing is connected before the first call that needs it. Throws `config_invalid` for settings
 * that are wrong.
 */
export function postgresStores(
  settings: PostgresSettings,
  env: Readonly<Record<string, string | undefined>> = {},
): (options: SessionStoreOptions) => SessionStore {
  const target = targetOf(settings, env);
  return (options) => new PostgresSessionStore(options, target);
}

/**
 * Each call first brings the mirrors that it needs up to date; then the embedded store answers from them. Throws `store_read_failed` where the
 * database cannot be reached.
 */
class PostgresSessionStore implements SessionStore {
  readonly shared: SharedRecords;
  readonly #files: EmbeddedSessionStore;
  readonly #sessions: SharedSessions;
  readonly #bridge: Bridge;

  constructor(options: SessionStoreOptions, target: Target) {
    // One folder for each database, apart from the sessions of the embedded store.
    const { username } = new URL(target.url);
    const name = hash("sha256", `${username} ${target.place} ${target.schema}`, "hex").slice(0, 12);
    const agentDir = join(options.agentDir, "mirrors", name);
    this.#bridge = bridgeTo(target);
    this.#bridge.use(this);
    const { agentId: agent, now = Date.now } = options;
    const mirrors = new MirrorState(join(agentDir, "sessions"));
    this.#sessions = new SharedSessions({
      bridge: this.#bridge,
      agent,
      mirrors,
      now,
      onRemoved: (id) => rmSync(sessionSpendFile(options.agentDir, id), { force: true }),
      onForgotten: (ids) => this.#files.forget(ids.map((id) => ({ id, key: this.#keyOf(id) }))),
    });
    const { receipts } = this.#sessions;
    const search: SharedSearch = {
      withWords: (words) => this.#withWords(words),
      deleted: (ids) => this.#sessions.removed(ids),
    };
    this.shared = new HostRecords({ bridge: this.#bridge, agent, mirrors, receipts, search });
    this.#files = new EmbeddedSessionStore({ ...options, agentDir, shared: this.#sessions });
  }

  openWriter(sessionKey: string, options: Parameters<SessionStore["openWriter"]>[1]): SessionWriter {
    const open = (): SessionWriter =>
      this.#sessions.opening(sessionKey, this.#known(sessionKey), (changed) => {
        this.#take(changed);
        return this.#files.openWriter(sessionKey, options);
      });
    return again(open);
  }

  openReader(sessionKey: string, sessionId?: string): SessionReader {
    this.#refreshKey(sessionKey);
    return this.#files.openReader(sessionKey, sessionId);
  }

  list(): SessionRecord[] {
    this.#refresh();
    return this.#files.list();
  }

  find(sessionKey: string): SessionRecord | undefined {
    this.#refreshKey(sessionKey);
    return this.#files.find(sessionKey);
  }

  search(query: string, options?: Parameters<SessionStore["search"]>[1]): SearchHit[] {
    if (options?.sessionKey !== undefined) {
      this.#refreshKey(options.sessionKey);
      return this.#files.search(query, options);
    }
    return this.#files.search(query, { ...options, among: this.#searched(query, options?.allows) });
  }

  renew(sessionKey: string, options: { cwd: string }): SessionRecord {
    const renew = (): SessionRecord => {
      this.#refreshKey(sessionKey);
      return this.#files.renew(sessionKey, options);
    };
    return again(renew);
  }

  reserveId(): string {
    return this.#files.reserveId();
  }

  inFolder(folder: string): SessionRecord[] {
    this.#refresh();
    return this.#files.inFolder(folder);
  }

  firstKey(folder: string): string {
    this.#refresh();
    return this.#files.firstKey(folder);
  }

  hold(sessionKey: string, folder?: string): SessionHold {
    this.#refreshKey(sessionKey);
    const hold = this.#files.hold(sessionKey, folder);
    try {
      const row = this.#files.catalog.known(sessionKey);
      const holder = row && this.#sessions.writerOf(row.id);
      if (!holder) return hold;
      throw heldElsewhere(sessionKey, holder);
    } catch (error) {
      hold.release();
      throw error;
    }
  }

  begin(folder: string): SessionHold {
    this.#refresh();
    return this.#files.begin(folder);
  }

  create(sessionKey: string, options: { cwd: string; sessionId?: string; folder?: string }): SessionRecord {
    this.#refreshKey(sessionKey);
    return this.#files.create(sessionKey, options);
  }

  async fork(
    sessionKey: string,
    newKey: string,
    options?: { entryId?: string; sessionId?: string },
  ): Promise<SessionRecord> {
    this.#refreshKey(sessionKey);
    this.#refreshKey(newKey);
    return this.#files.fork(sessionKey, newKey, options);
  }

  rotate(writer: SessionWriter, successor: Successor, carry: readonly NewEntry[]): SessionWriter {
    this.#refreshKey(writer.record.sessionKey);
    return this.#files.rotate(writer, successor, carry);
  }

  delete(sessionKey: string, also: readonly string[] = []): { sessions: number; bytes: number } {
    for (const key of [sessionKey, ...also]) this.#refreshKey(key);
    return this.#files.delete(sessionKey, also);
  }

  export(sessionKey: string, format: "jsonl" | "markdown"): AsyncIterable<Uint8Array> {
    this.#refreshKey(sessionKey);
    return this.#files.export(sessionKey, format);
  }

  async import(source: string | NativeHistory, options?: ImportOptions): Promise<SessionRecord> {
    this.#refresh();
    return this.#files.import(source, options);
  }

  close(): void {
    this.#files.close();
    this.#bridge.end(this);
  }

  /** The folder is there before its index is opened: an index that finds transcripts when it is new reports that it was lost. */
  #index(): SessionIndex {
    const { folder, index } = this.#files.catalog;
    ensurePrivateDir(folder);
    return index;
  }

  /** Local sessions of a key, the current one first. */
  #known(sessionKey: string): string[] {
    const index = this.#index();
    return index.use(generations, sessionKey).map(({ id }) => id);
  }

  /** The key of a local session; empty where the index does not know it. */
  #keyOf(sessionId: string): string {
    return this.#index().use(sessionRow, sessionId)?.key ?? "";
  }

  #refreshKey(sessionKey: string): void {
    this.#take(this.#sessions.refreshKey(sessionKey, this.#known(sessionKey)));
  }

  #refresh(): void {
    const index = this.#index();
    const known = (): string[] => index.use(allSessions).map(({ id }) => id);
    this.#take(this.#sessions.refresh(known));
  }

  /** Ids of the sessions with the words of a query; only those are fetched. */
  #searched(query: string, allows?: (sessionKey: string) => boolean): string[] {
    this.#index();
    const { ids, changed } = this.#sessions.searched(query, {
      limit: MOST_FETCHED,
      sessions: allows && this.#idsOf(allows),
    });
    this.#take(changed);
    return ids;
  }

  #idsOf(allows: (sessionKey: string) => boolean): string[] {
    const sessions = this.list().filter(({ sessionKey }) => allows(sessionKey));
    return sessions.map(({ sessionId }) => sessionId);
  }

  #withWords(words: string): FoundSession[] {
    const wanted = new Map(this.#searched(words).map((id, place) => [id, place]));
    const place = ({ sessionId }: SessionRecord): number => wanted.get(sessionId) ?? 0;
    return this.#files
      .list()
      .filter(({ sessionId }) => wanted.has(sessionId) && !this.#sessions.isWrittenHere(sessionId))
      .toSorted((one, other) => place(one) - place(other))
      .map(({ sessionKey, sessionId, bytes }) => ({
        sessionKey,
        sessionId,
        bytes,
        open: () => this.#files.openReader(sessionKey, sessionId),
      }));
  }

  #take(changed: readonly string[]): void {
    const { index } = this.#files.catalog;
    for (const id of changed) {
      index.ensure(id);
      // The writer that opens it next reports what was set aside.
      if (this.#sessions.isRepaired(id)) index.forgetNotices(id);
    }
  }
}

/** Once more where another host made a session under the key in this moment. */
function again<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!isPagurusError(error) || error.code !== "session_exists") throw error;
    return work();
  }
}
