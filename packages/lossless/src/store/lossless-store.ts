/**
 * The store of the lossless engine: one database per agent. It keeps every entry of its sessions' transcripts exactly,
 * searches them, and has the rows of the summaries. It is derived data: a damaged file is set aside and rebuilt from the
 * transcripts. Every member that does not return a promise takes a few milliseconds at most.
 */
import { dirname } from "node:path";
import type { TranscriptCursor, TranscriptEntry } from "@pagurus/contract/session/transcript";
import type { SentenceEncoder } from "../encoder/encoder-thread.ts";
import { Adoptions } from "./entries/adopt.ts";
import { isUnmerged } from "./search/backlog.ts";
import type { Database } from "@pagurus/core/data/sqlite";
import { deletedIds } from "@pagurus/core/platform/deletions";
import { loadOnce } from "@pagurus/core/platform/load-once";
import { Encoding } from "./search/encoding.ts";
import { Indexing } from "./search/indexing.ts";
import { ingest, moveLeaf } from "./entries/ingest.ts";
import * as ledger from "./ledger.ts";
import * as log from "./log-state.ts";
import { dropSessions, needsScrub } from "./delete-stored.ts";
import { backup, sizeReport, walBytes } from "./store-maintenance.ts";
import * as nodes from "./node-rows.ts";
import { isDamage, type DamagedPart } from "./damage.ts";
import * as files from "./open-database.ts";
import { payloadStubs } from "./entries/payloads.ts";
import type { FoundPassages, PassageQuery } from "./search/search-passages.ts";
import type { Home } from "./search/placing.ts";
import { prepareEntry } from "./entries/prepare-entry.ts";
import { assertMissing, repairPart } from "./repair-entry.ts";
import * as sessions from "./session-values.ts";
import { StoreThread } from "./worker-thread.ts";
import { Paths } from "./entries/entry-tree.ts";
import type {
  AdoptOptions,
  Debt,
  EntryInfo,
  Frontier,
  IngestResult,
  NewFrontier,
  NewNode,
  NodeState,
  Page,
  PageOptions,
  PayloadStub,
  Pin,
  SearchHit,
  SearchQuery,
  SessionInfo,
  SizeReport,
  Spend,
  StoreNotice,
  StoredEntry,
  SummaryNode,
  VerifyReport,
  Walk,
  WalkOptions,
} from "./store-types.ts";
import * as walk from "./entries/path-walk.ts";

const wordSearch = loadOnce(() => import("./search/store-search.ts"));
const passageSearch = loadOnce(() => import("./search/search-passages.ts"));

/** Writes between two checks of the log's length, and the length from which it is moved into the file. */
const TIDY_EVERY = 8;
const TIDY_BYTES = 8 * 1024 * 1024;

export class LosslessStore {
  readonly file: string;
  /** Notices from opening the store. */
  readonly notices: readonly StoreNotice[];
  readonly #db: Database;
  readonly #paths: Paths;
  readonly #thread: StoreThread;
  readonly #adoptions: Adoptions;
  readonly #indexing: Indexing;
  readonly #encoding: Encoding | undefined;
  readonly #home: Home;
  /** Sessions whose transcripts are adopted at this moment. */
  readonly adopting: readonly string[];
  /** Identity of the opened file; another file may have its name by now. */
  readonly #identity: number | undefined;
  #writes = 0;
  #damage: unknown;

  constructor({ file, db, notices }: files.OpenedDatabase, encoder?: SentenceEncoder) {
    this.file = file;
    this.#identity = files.identityOf(file);
    this.notices = notices;
    this.#db = db;
    this.#paths = new Paths(db);
    const thread = new StoreThread(file, (error) => this.#noteDamage(error));
    this.#thread = thread;
    db.inTurn = (write) => thread.inTurn(write);
    this.#adoptions = new Adoptions({ db, file, thread });
    this.adopting = this.#adoptions.sessions;
    this.#indexing = new Indexing(db, thread);
    const encoding = encoder && new Encoding({ db, thread, encoder, onWrite: () => this.#tidy() });
    this.#encoding = encoding;
    this.#home = { db, paths: this.#paths, encode: encoding?.query };
    this.#dropDeleted();
    if (needsScrub(db)) this.#scrub();
    if (isUnmerged(db)) this.#indexing.mergeSoon();
  }

  /** Removes sessions that were deleted and that a crash, or a deletion under way in another process, left here. */
  #dropDeleted(): void {
    const gone = deletedIds(dirname(this.file)).filter((id) => this.has(id));
    if (gone.length === 0) return;
    this.#guarded(() => dropSessions(this.#db, gone));
    this.#paths.forget();
    this.#scrub();
  }

  /** Finishes an interrupted deletion; after a failure the next opening tries again. */
  #scrub(): void {
    this.#thread.ask("scrub", null).catch(() => undefined);
  }

  /** Records damage that was found where it cannot be handled, for `takeDamage`. */
  #noteDamage(error: unknown): void {
    if (isDamage(error)) this.#damage ??= error;
  }

  /** Call at the start of a task: what is done in pauses waits until there was none for a while. Returns what `takeDamage` does. */
  beginTask(): unknown {
    this.#dropDeleted();
    this.#thread.noteUse();
    return this.takeDamage();
  }

  /** Returns the first damage found since the last call; undefined when there was none. */
  takeDamage(): unknown {
    const damage = this.#damage;
    this.#damage = undefined;
    return damage;
  }

  /** Restores a damaged part from the transcript; false when the transcript does not have it. */
  repair(part: DamagedPart, transcript: TranscriptCursor): Promise<boolean> {
    return this.#failing(() => repairPart(this.#db, part, transcript));
  }

  /** Throws when the entry is in the table but the index of ids does not find it. Reads the whole table. */
  assertMissing(entryId: string): void {
    this.#guarded(() => assertMissing(this.#db, entryId));
  }

  /** Renames a damaged file; call after `close`. Undefined when another process did it already. */
  setAside(): string | undefined {
    return files.identityOf(this.file) === this.#identity ? files.setAside(this.file) : undefined;
  }

  /** Damaged databases that were set aside, now or earlier. */
  damagedFiles(): string[] {
    return files.damagedFiles(this.file);
  }

  /**
   * Ends the worker between two transactions; the next process to open the store continues its work. Adoptions and other
   * running work are rejected with `turn_aborted`.
   */
  async close(): Promise<void> {
    this.#indexing.stop();
    this.#encoding?.stop();
    await Promise.all([this.#adoptions.stop(), this.#thread.close()]);
    this.#db.close();
  }

  // Sessions

  /** Every session, in order of creation. */
  sessions(): SessionInfo[] {
    return this.#guarded(() => sessions.listSessions(this.#db));
  }

  /** Of all sessions, in order of creation. */
  sessionIds(): string[] {
    return this.#guarded(() => sessions.allSessionIds(this.#db));
  }

  /** Ids of the sessions with one of these keys, earlier ones of a key too; in order of creation. */
  sessionIdsOf(keys: readonly string[]): string[] {
    return this.#guarded(() => sessions.sessionIdsOf(this.#db, keys));
  }

  /** As `session(id) !== undefined`, at a small part of its cost. */
  has(sessionId: string): boolean {
    return this.#guarded(() => this.#db.get("SELECT 1 FROM sessions WHERE id = ?", sessionId) !== undefined);
  }

  session(sessionId: string): SessionInfo | undefined {
    return this.#guarded(() => sessions.getSession(this.#db, sessionId));
  }

  /** Creates the session (empty until entries are ingested or adopted), or updates its key. */
  openSession(sessionId: string, options: { sessionKey?: string } = {}): SessionInfo {
    return this.#guarded(() => sessions.openSession(this.#db, sessionId, options.sessionKey));
  }

  /** The engine's own state of a session, as JSON; undefined before the first write. */
  sessionState(sessionId: string): unknown {
    return this.#guarded(() => sessions.getState(this.#db, sessionId));
  }

  setSessionState(sessionId: string, state: unknown): void {
    this.#guarded(() => sessions.setState(this.#db, sessionId, state));
  }

  /** A named value of the engine in this database; undefined when there is none. */
  meta(name: string): string | undefined {
    return this.#guarded(() => sessions.getMeta(this.#db, name));
  }

  setMeta(name: string, value: string): void {
    this.#guarded(() => sessions.setMeta(this.#db, name, value));
  }

  // Ingest

  /**
   * Stores entries in one transaction; existing ones are skipped. Each entry's parent is known or comes before it. The
   * session's leaf becomes the last new entry; a `rewind` moves it. Creates the session if needed. Texts are indexed after
   * the turn, before the next search. Throws `entry_not_found` for an unknown parent (adopt first), `store_write_failed`.
   */
  ingestTurn(sessionId: string, entries: readonly TranscriptEntry[]): IngestResult {
    const prepared = entries.map(prepareEntry);
    const result = this.#guarded(() =>
      this.#db.transaction(() => ingest(this.#db, sessions.ensureSession(this.#db, sessionId), prepared)),
    );
    this.#indexing.left(result.stored);
    this.#encoding?.soon();
    this.#tidy();
    return result;
  }

  /** Makes an entry of the session its leaf (null: an empty conversation). Throws `entry_not_found`. */
  moveLeaf(sessionId: string, entryId: string | null): void {
    this.#guarded(() =>
      this.#db.transaction(() => moveLeaf(this.#db, sessions.ensureSession(this.#db, sessionId), entryId)),
    );
  }

  /**
   * Syncs the session with the transcript's active path: everything the first time, only new entries afterwards, and the
   * leaf. A worker thread writes long transcripts in batches; a crash or an abort keeps the written batches, and the next
   * call continues after them.
   */
  async adopt(
    sessionId: string,
    cursor: TranscriptCursor,
    options: AdoptOptions = {},
  ): Promise<IngestResult> {
    this.openSession(sessionId, options.sessionKey === undefined ? {} : { sessionKey: options.sessionKey });
    return this.#failing(() => this.#adoptions.run(sessionId, cursor, options)).finally(() => {
      this.#encoding?.soon();
      this.#tidy();
    });
  }

  // Reading

  /** The newest entries of the path, within a budget. Throws `session_not_found`, `entry_not_found`. */
  walkBack(sessionId: string, options: WalkOptions = {}): Walk<StoredEntry> {
    return this.#guarded(() => walk.walkBack(this.#db, sessionId, options));
  }

  /** The newest compaction of the path, in time that does not depend on its length. Throws `session_not_found`. */
  newestCompaction(sessionId: string): StoredEntry | undefined {
    return this.#guarded(() => walk.newestCompaction(this.#db, sessionId));
  }

  /** As `walkBack`, but without contents: ids, roles, tokens. */
  outlineBack(sessionId: string, options: WalkOptions = {}): Walk<EntryInfo> {
    return this.#guarded(() => walk.outlineBack(this.#db, sessionId, options));
  }

  /**
   * A span of one branch, both ends included, oldest first, in pages. Throws `session_not_found`, `entry_not_found`.
   */
  range(sessionId: string, from: string, to: string, options: PageOptions = {}): Page {
    return this.#guarded(() => walk.range(this.#db, this.#paths, sessionId, { from, to }, options));
  }

  /** As `range`, without contents and without pages. */
  outline(
    sessionId: string,
    from: string,
    to: string,
    options: Pick<PageOptions, "kinds"> = {},
  ): EntryInfo[] {
    return this.#guarded(() => walk.outline(this.#db, this.#paths, sessionId, { from, to }, options));
  }

  /** One entry by id, on or off the path; of any session when none is named. */
  get(entryId: string, sessionId?: string): StoredEntry | undefined {
    return this.#guarded(() => walk.getEntry(this.#db, entryId, sessionId));
  }

  /** Entries in the order of the ids; unknown ids are skipped. */
  getMany(entryIds: readonly string[], sessionId?: string): StoredEntry[] {
    return this.#guarded(() => walk.getEntries(this.#db, entryIds, sessionId));
  }

  /** The JSON of the message (for other kinds: of the entry), byte for byte as ingested. */
  getJson(entryId: string, sessionId?: string): string | undefined {
    return this.#guarded(() => walk.getJson(this.#db, entryId, sessionId));
  }

  /** Place, tokens and kind of an entry of the session, and whether it is on its active path. */
  locate(sessionId: string, entryId: string): (EntryInfo & { onPath: boolean }) | undefined {
    return this.#guarded(() => walk.locate(this.#db, this.#paths, sessionId, entryId));
  }

  /** The path's entry at a position (0-based, every kind); undefined after the end. */
  at(sessionId: string, position: number): EntryInfo | undefined {
    return this.#guarded(() => walk.infoAt(this.#db, this.#paths, sessionId, position));
  }

  /** The large opaque parts (images, signatures) of an entry, in order. */
  payloads(entryId: string, sessionId?: string): PayloadStub[] {
    return this.#guarded(() => payloadStubs(this.#db, entryId, sessionId));
  }

  /** Searches; best first. Bounded whatever the store's size, and yields to other work in between. */
  async search(query: SearchQuery): Promise<SearchHit[]> {
    const { search } = await wordSearch();
    await this.indexed();
    return this.#failing(() => search(this.#home, query));
  }

  /** Excerpts of messages that answer a query, best first, read lazily. Bounded like a search. */
  async passages(query: PassageQuery): Promise<FoundPassages> {
    const { isIndexedFor, passages } = await passageSearch();
    if (!this.#guarded(() => isIndexedFor(this.#home, query))) await this.indexed();
    return this.#failing(() => passages(this.#home, query));
  }

  /** Changes with each write to the database, by any process. */
  get revision(): string {
    return this.#guarded(() => this.#db.revision());
  }

  /** Resolves when every message of talk has a vector; at once without an encoder. Throws the encoder's error. */
  async encoded(): Promise<void> {
    await this.#failing(async () => this.#encoding?.done());
  }

  /** Resolves when every stored text is indexed. */
  indexed(): Promise<void> {
    return this.#failing(() => this.#indexing.done());
  }

  // Summaries

  /** Adds a summary; false when its id exists already. Throws `session_not_found`, `entry_not_found`. */
  addNode(node: NewNode): boolean {
    return this.#guarded(() => nodes.addNode(this.#db, node));
  }

  node(nodeId: string): SummaryNode | undefined {
    return this.#guarded(() => nodes.getNode(this.#db, nodeId));
  }

  /** Nodes of a session, in order of creation. */
  nodes(
    sessionId: string,
    filter: { state?: NodeState; depth?: number; condensed?: false } = {},
  ): SummaryNode[] {
    return this.#guarded(() => nodes.nodesOf(this.#db, sessionId, filter));
  }

  /** The condensed nodes that include this one. */
  nodeParents(nodeId: string): SummaryNode[] {
    return this.#guarded(() => nodes.parentsOf(this.#db, nodeId));
  }

  setNodeState(nodeId: string, state: NodeState): boolean {
    return this.#guarded(() => nodes.setNodeState(this.#db, nodeId, state));
  }

  /** `details` false: without them, at a small part of the cost. */
  frontier(sessionId: string, { details = true }: { details?: boolean } = {}): Frontier {
    return this.#guarded(() => nodes.getFrontier(this.#db, sessionId, details));
  }

  /**
   * Compare and swap: false when the frontier no longer has the expected version. Added nodes become `published`, removed
   * nodes that are in no other frontier `replaced`.
   */
  publishFrontier(sessionId: string, expectedVersion: number, frontier: NewFrontier): boolean {
    return this.#guarded(() => nodes.publishFrontier(this.#db, sessionId, expectedVersion, frontier));
  }

  putDebt(debt: Debt): void {
    this.#guarded(() => ledger.putDebt(this.#db, debt));
  }

  /** Removes the debts of a session whose extracts are no longer shown. */
  forgetDebts(sessionId: string): void {
    this.#guarded(() => ledger.forgetDebts(this.#db, sessionId));
  }

  settleDebt(debtId: string): boolean {
    return this.#guarded(() => ledger.settleDebt(this.#db, debtId));
  }

  debts(filter: { sessionId?: string; dueAt?: number } = {}): Debt[] {
    return this.#guarded(() => ledger.listDebts(this.#db, filter));
  }

  /** Takes or extends a lease over due work; false while another owner's has not expired. */
  takeLease(request: ledger.LeaseRequest): boolean {
    return this.#guarded(() => ledger.takeLease(this.#db, request));
  }

  releaseLease(leaseId: string, owner: string): boolean {
    return this.#guarded(() => ledger.releaseLease(this.#db, leaseId, owner));
  }

  addSpend(spend: Spend): void {
    this.#guarded(() => ledger.addSpend(this.#db, spend));
  }

  spentSince(since: number, sessionId?: string): { calls: number; tokens: number; cost: number } {
    return this.#guarded(() => ledger.spentSince(this.#db, since, sessionId));
  }

  /** Pins an entry; false when it was pinned already. */
  pin(sessionId: string, pin: Pin): boolean {
    return this.#guarded(() => ledger.pin(this.#db, sessionId, pin));
  }

  unpin(sessionId: string, entryId: string): boolean {
    return this.#guarded(() => ledger.unpin(this.#db, sessionId, entryId));
  }

  pins(sessionId: string): Pin[] {
    return this.#guarded(() => ledger.pinsOf(this.#db, sessionId));
  }

  /** Notes what the session's log lacks. */
  owe(sessionId: string, kind: log.OwedKind, ref = ""): void {
    this.#guarded(() => log.owe(this.#db, sessionId, kind, ref));
  }

  owed(sessionId: string): log.Owed[] {
    return this.#guarded(() => log.owedOf(this.#db, sessionId));
  }

  settleOwed(owed: readonly log.Owed[]): void {
    this.#guarded(() => log.settleOwed(this.#db, owed));
  }

  /** Up to where the session's log was read; undefined where it never was. */
  logEnd(sessionId: string): log.LogEnd | undefined {
    return this.#guarded(() => log.logEnd(this.#db, sessionId));
  }

  setLogEnd(sessionId: string, end: log.LogEnd): void {
    this.#guarded(() => log.setLogEnd(this.#db, sessionId, end));
  }

  /** Runs several of the synchronous members above in one transaction: all or nothing. */
  transaction<T>(work: () => T): T {
    return this.#guarded(() => this.#db.transaction(work));
  }

  // Maintenance

  /** Checks the file, the counts of references and the index against the texts, in the worker thread. */
  verify(): Promise<VerifyReport> {
    return this.#failing(() => this.#thread.ask("verify", null));
  }

  /** Writes a complete copy to a file, mode 0600. Throws `store_write_failed`. */
  backup(target: string): Promise<void> {
    return backup(this.#db, target);
  }

  sizeReport(): SizeReport {
    return sizeReport(this.#db, this.file);
  }

  /**
   * Deletes sessions and every text that no other session uses, down to the bytes in the file. Ends their adoptions.
   * Crash-safe: an interrupted deletion is finished at the next opening.
   */
  async deleteSession(sessionIds: readonly string[]): Promise<{ entries: number; texts: number }> {
    await this.#adoptions.stop(sessionIds);
    return this.#failing(() => this.#thread.ask("forget", sessionIds)).finally(() => this.#paths.forget());
  }

  /** Converts SQLite's errors about a full disk, a lock or damage; records damage. */
  #guarded<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw this.#failure(error);
    }
  }

  /** As `#guarded`, for promises. */
  async #failing<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw this.#failure(error);
    }
  }

  #failure(error: unknown): unknown {
    this.#noteDamage(error);
    return sessions.asStoreFailure(this.file, error);
  }

  /** Moves the log into the file, in the worker, since it takes noticeably long. */
  #tidy(): void {
    this.#writes += 1;
    if (this.#writes % TIDY_EVERY !== 0 || walBytes(this.file) < TIDY_BYTES) return;
    // After a failure the log is moved later, or by SQLite itself when it has grown much longer.
    this.#thread.ask("tidy", null).catch(() => undefined);
  }
}

/**
 * Opens `<agentDir>/lossless.db`, created if missing. A damaged file is moved aside (`lossless.db.damaged-<time>`) and a
 * new one created, which `notices` reports; damage that is found later is the error `store_read_failed` with
 * `details.damaged`. With an encoder, messages of talk are encoded in the background, and searches use it. Throws
 * `store_read_failed`, `store_write_failed`.
 */
export function openLosslessStore(agentDir: string, encoder?: SentenceEncoder): LosslessStore {
  const opened = files.openDatabase(agentDir);
  const { file } = opened;
  try {
    return new LosslessStore(opened, encoder);
  } catch (error) {
    opened.db.close();
    if (!isDamage(error)) throw sessions.asStoreFailure(file, error);
    const notice = files.rebuilt(file, files.setAside(file));
    return new LosslessStore({ ...files.openDatabase(agentDir), notices: [notice] }, encoder);
  }
}
