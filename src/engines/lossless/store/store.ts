/**
 * The store of the lossless engine: one database an agent. It keeps every entry of its sessions' transcripts exactly,
 * finds them, and holds the rows of the summaries. It is derived data: a damaged file is set aside and made anew, and
 * the transcripts are adopted again. Every member that is not a promise takes a few milliseconds at most.
 */
import type { TranscriptCursor, TranscriptEntry } from "../../../contract/transcript.ts";
import { Adoptions } from "./adopt.ts";
import { isUnmerged } from "./backlog.ts";
import type { Db } from "./db.ts";
import { Indexing } from "./indexing.ts";
import { ingest, moveLeaf } from "./ingest.ts";
import * as ledger from "./ledger.ts";
import { needsScrub } from "./delete.ts";
import { backup, sizeReport, walBytes } from "./maintenance.ts";
import * as nodes from "./nodes.ts";
import { damagedFiles, openDatabase } from "./open.ts";
import { payloadStubs } from "./payloads.ts";
import { passages, type Passage, type PassageQuery } from "./passages.ts";
import { prepare } from "./prepare.ts";
import { search } from "./search.ts";
import * as sessions from "./sessions.ts";
import { StoreThread } from "./thread.ts";
import { Paths } from "./tree.ts";
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
} from "./types.ts";
import * as walk from "./walk.ts";

/** Writes after which the length of the log is looked at, and the length from which it is moved into the file. */
const TIDY_EVERY = 8;
const TIDY_BYTES = 8 * 1024 * 1024;

export class LosslessStore {
  readonly file: string;
  /** What happened while it was opened. */
  readonly notices: readonly StoreNotice[];
  readonly #db: Db;
  readonly #paths: Paths;
  readonly #thread: StoreThread;
  readonly #adoptions: Adoptions;
  readonly #indexing: Indexing;
  #writes = 0;

  constructor(file: string, db: Db, notices: readonly StoreNotice[]) {
    this.file = file;
    this.notices = notices;
    this.#db = db;
    this.#paths = new Paths(db);
    const thread = new StoreThread(file);
    this.#thread = thread;
    db.inTurn = (write) => thread.inTurn(write);
    this.#adoptions = new Adoptions({ db, file, thread });
    this.#indexing = new Indexing(db, thread);
    // What was left of a deletion; a failure leaves it to the next opening.
    if (needsScrub(db)) thread.ask("scrub", null).catch(() => undefined);
    if (isUnmerged(db)) this.#indexing.mergeSoon();
  }

  /** Databases that were damaged and set aside, by this opening or an earlier one. */
  damagedFiles(): string[] {
    return damagedFiles(this.file);
  }

  /**
   * Ends the worker between two transactions; what it has not done is done by whoever opens the store next. Adoptions
   * and other work under way are rejected with `turn_aborted`.
   */
  async close(): Promise<void> {
    this.#indexing.stop();
    await Promise.all([this.#adoptions.stop(), this.#thread.close()]);
    this.#db.close();
  }

  // Sessions

  /** Every session, in the order in which the store met them. */
  sessions(): SessionInfo[] {
    return sessions.listSessions(this.#db);
  }

  session(sessionId: string): SessionInfo | undefined {
    return sessions.getSession(this.#db, sessionId);
  }

  /** Makes the session known (empty until something is ingested or adopted), or takes over its key. */
  openSession(sessionId: string, options: { sessionKey?: string } = {}): SessionInfo {
    return sessions.guarded(this.file, () => sessions.openSession(this.#db, sessionId, options.sessionKey));
  }

  /** What the engine keeps with a session (matched patterns, epoch), as JSON; undefined before the first write. */
  sessionState(sessionId: string): unknown {
    return sessions.getState(this.#db, sessionId);
  }

  setSessionState(sessionId: string, state: unknown): void {
    sessions.guarded(this.file, () => sessions.setState(this.#db, sessionId, state));
  }

  /** A named value of the engine in this database; undefined where there is none. */
  meta(name: string): string | undefined {
    return sessions.getMeta(this.#db, name);
  }

  setMeta(name: string, value: string): void {
    sessions.guarded(this.file, () => sessions.setMeta(this.#db, name, value));
  }

  // Taking in

  /**
   * Stores entries in one transaction; those that are there already are left alone. Each entry's parent is known or
   * comes before it. The session's leaf becomes the last new entry; a `rewind` moves it. Makes the session known. Words
   * are indexed behind the turn, and before the next search. Throws `entry_not_found` for an unknown parent (adopt
   * first), `store_write_failed`.
   */
  ingestTurn(sessionId: string, entries: readonly TranscriptEntry[]): IngestResult {
    const prepared = entries.map(prepare);
    const result = sessions.guarded(this.file, () =>
      this.#db.transaction(() => ingest(this.#db, sessions.ensureSession(this.#db, sessionId), prepared)),
    );
    this.#indexing.left(result.stored);
    this.#tidy();
    return result;
  }

  /** Makes an entry of the session its leaf (null: an empty conversation). Throws `entry_not_found`. */
  moveLeaf(sessionId: string, entryId: string | null): void {
    sessions.guarded(this.file, () =>
      this.#db.transaction(() => moveLeaf(this.#db, sessions.ensureSession(this.#db, sessionId), entryId)),
    );
  }

  /**
   * Brings the session up to the transcript's active path: everything at first sight, only what is new afterwards, and
   * the leaf where the transcript has it. Long transcripts are written by a worker thread, batch by batch; a crash or
   * an abort keeps the batches, and the next call goes on behind them.
   */
  async adopt(
    sessionId: string,
    cursor: TranscriptCursor,
    options: AdoptOptions = {},
  ): Promise<IngestResult> {
    this.openSession(sessionId, options.sessionKey === undefined ? {} : { sessionKey: options.sessionKey });
    return this.#adoptions.run(sessionId, cursor, options).finally(() => this.#tidy());
  }

  // Reading

  /** The newest end of the path, by budget. Throws `session_not_found`, `entry_not_found`. */
  walkBack(sessionId: string, options: WalkOptions = {}): Walk<StoredEntry> {
    return sessions.guarded(this.file, () => walk.walkBack(this.#db, sessionId, options));
  }

  /** As `walkBack` without reading a word: ids, roles, tokens. */
  outlineBack(sessionId: string, options: WalkOptions = {}): Walk<EntryInfo> {
    return sessions.guarded(this.file, () => walk.outlineBack(this.#db, sessionId, options));
  }

  /**
   * A span of one branch, both ends included, oldest first, in pages. Throws `session_not_found`, `entry_not_found`.
   */
  range(sessionId: string, from: string, to: string, options: PageOptions = {}): Page {
    return sessions.guarded(this.file, () =>
      walk.range(this.#db, this.#paths, sessionId, { from, to }, options),
    );
  }

  /** As `range`, without the words and not in pages. */
  outline(
    sessionId: string,
    from: string,
    to: string,
    options: Pick<PageOptions, "kinds"> = {},
  ): EntryInfo[] {
    return sessions.guarded(this.file, () =>
      walk.outline(this.#db, this.#paths, sessionId, { from, to }, options),
    );
  }

  /** One entry by id, on or off the path; of any session where none is named. */
  get(entryId: string, sessionId?: string): StoredEntry | undefined {
    return sessions.guarded(this.file, () => walk.getEntry(this.#db, entryId, sessionId));
  }

  /** In the order of the ids; unknown ones are left out. */
  getMany(entryIds: readonly string[], sessionId?: string): StoredEntry[] {
    return sessions.guarded(this.file, () => walk.getEntries(this.#db, entryIds, sessionId));
  }

  /** The JSON of the message (of another entry: of the entry) byte for byte as it was ingested. */
  getJson(entryId: string, sessionId?: string): string | undefined {
    return sessions.guarded(this.file, () => walk.getJson(this.#db, entryId, sessionId));
  }

  /** Place, tokens and kind of an entry of the session, and whether it is on its active path. */
  locate(sessionId: string, entryId: string): (EntryInfo & { onPath: boolean }) | undefined {
    return sessions.guarded(this.file, () => walk.locate(this.#db, this.#paths, sessionId, entryId));
  }

  /** The path's entry at a position (0-based, every kind); undefined behind the end. */
  at(sessionId: string, position: number): EntryInfo | undefined {
    return sessions.guarded(this.file, () => walk.infoAt(this.#db, this.#paths, sessionId, position));
  }

  /** The large opaque parts (images, signatures) of an entry, in order. */
  payloads(entryId: string, sessionId?: string): PayloadStub[] {
    return payloadStubs(this.#db, entryId, sessionId);
  }

  /** Best first. Bounded whatever the store's size, and gives way to other work in between. */
  async search(query: SearchQuery): Promise<SearchHit[]> {
    await this.indexed();
    return this.#failing(() => search({ db: this.#db, paths: this.#paths }, query));
  }

  /** Stretches of messages that answer a query, best first, each read when it is asked for. Bounded as a search is. */
  async passages(query: PassageQuery): Promise<Iterable<Passage>> {
    await this.indexed();
    return this.#failing(() => passages({ db: this.#db, paths: this.#paths }, query));
  }

  /** Resolves when every stored text can be found. */
  indexed(): Promise<void> {
    return this.#failing(() => this.#indexing.done());
  }

  // Summaries

  /** Adds a summary; false when its id is there already. Throws `session_not_found`, `entry_not_found`. */
  addNode(node: NewNode): boolean {
    return sessions.guarded(this.file, () => nodes.addNode(this.#db, node));
  }

  node(nodeId: string): SummaryNode | undefined {
    return nodes.getNode(this.#db, nodeId);
  }

  /** Nodes made in a session, in the order of making. */
  nodes(
    sessionId: string,
    filter: { state?: NodeState; depth?: number; condensed?: false } = {},
  ): SummaryNode[] {
    return nodes.nodesOf(this.#db, sessionId, filter);
  }

  /** The condensed nodes that stand for this one. */
  nodeParents(nodeId: string): SummaryNode[] {
    return nodes.parentsOf(this.#db, nodeId);
  }

  setNodeState(nodeId: string, state: NodeState): boolean {
    return sessions.guarded(this.file, () => nodes.setNodeState(this.#db, nodeId, state));
  }

  frontier(sessionId: string): Frontier {
    return nodes.getFrontier(this.#db, sessionId);
  }

  /**
   * Compare and swap: false when the frontier's version is not the expected one any more. Nodes that enter become
   * `published`, those that leave and are in no other frontier `replaced`.
   */
  publishFrontier(sessionId: string, expectedVersion: number, frontier: NewFrontier): boolean {
    return sessions.guarded(this.file, () =>
      nodes.publishFrontier(this.#db, sessionId, expectedVersion, frontier),
    );
  }

  putDebt(debt: Debt): void {
    sessions.guarded(this.file, () => ledger.putDebt(this.#db, debt));
  }

  /** Debts of a session whose extracts nobody shows any more. */
  forgetDebts(sessionId: string): void {
    sessions.guarded(this.file, () => ledger.forgetDebts(this.#db, sessionId));
  }

  settleDebt(debtId: string): boolean {
    return sessions.guarded(this.file, () => ledger.settleDebt(this.#db, debtId));
  }

  debts(filter: { sessionId?: string; dueAt?: number } = {}): Debt[] {
    return ledger.listDebts(this.#db, filter);
  }

  /** Takes or prolongs a lease over due work; false while another owner's has not run out. */
  takeLease(request: ledger.LeaseRequest): boolean {
    return sessions.guarded(this.file, () => ledger.takeLease(this.#db, request));
  }

  releaseLease(leaseId: string, owner: string): boolean {
    return sessions.guarded(this.file, () => ledger.releaseLease(this.#db, leaseId, owner));
  }

  addSpend(spend: Spend): void {
    sessions.guarded(this.file, () => ledger.addSpend(this.#db, spend));
  }

  spentSince(since: number, sessionId?: string): { calls: number; tokens: number; cost: number } {
    return ledger.spentSince(this.#db, since, sessionId);
  }

  /** False when it was pinned already. */
  pin(sessionId: string, pin: Pin): boolean {
    return sessions.guarded(this.file, () => ledger.pin(this.#db, sessionId, pin));
  }

  unpin(sessionId: string, entryId: string): boolean {
    return sessions.guarded(this.file, () => ledger.unpin(this.#db, sessionId, entryId));
  }

  pins(sessionId: string): Pin[] {
    return ledger.pinsOf(this.#db, sessionId);
  }

  /** Several of the members above (none that is a promise) as one transaction: all or nothing. */
  transaction<T>(work: () => T): T {
    return sessions.guarded(this.file, () => this.#db.transaction(work));
  }

  // Care

  /** Checks the file, the counts of references and the index against the texts, in the worker thread. */
  verify(): Promise<VerifyReport> {
    return this.#failing(() => this.#thread.ask("verify", null));
  }

  /** A whole copy in a file of its own, mode 0600. Throws `store_write_failed`. */
  backup(target: string): Promise<void> {
    return backup(this.#db, target);
  }

  sizeReport(): SizeReport {
    return sizeReport(this.#db, this.file);
  }

  /**
   * Forgets sessions and every word that no other session uses, down to the bytes in the file. Ends their adoptions.
   * Crash-safe: what a crash leaves undone is done at the next opening.
   */
  async deleteSession(sessionIds: readonly string[]): Promise<{ entries: number; texts: number }> {
    await this.#adoptions.stop(sessionIds);
    return this.#failing(() => this.#thread.ask("forget", sessionIds)).finally(() => this.#paths.forget());
  }

  /** As `sessions.guarded`. */
  async #failing<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw sessions.asStoreFailure(this.file, error);
    }
  }

  /** Moving the log into the file takes long enough to be felt, so the worker does it. */
  #tidy(): void {
    this.#writes += 1;
    if (this.#writes % TIDY_EVERY !== 0 || walBytes(this.file) < TIDY_BYTES) return;
    // The log is moved at the next occasion, or by SQLite itself when it has grown much longer.
    this.#thread.ask("tidy", null).catch(() => undefined);
  }
}

/**
 * Opens `<agentDir>/lossless.db`, made where there is none. A damaged file is moved aside
 * (`lossless.db.damaged-<time>`) and a new one made: `notices` says so; damage that shows later is the error
 * `store_read_failed` with `details.damaged`. Throws `store_read_failed`, `store_write_failed`.
 */
export function openLosslessStore(agentDir: string): LosslessStore {
  const { file, db, notices } = openDatabase(agentDir);
  return new LosslessStore(file, db, notices);
}
