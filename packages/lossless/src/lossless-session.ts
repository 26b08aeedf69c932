/** In-memory state of a session, and the small part of it that is kept in the store. */
import type { AgentMessage } from "@pagurus/contract/message";
import type { CompactionEntry } from "@pagurus/contract/session/transcript";
import type { RuntimeContext } from "@pagurus/contract/engine/runtime-context";
import type { Draft, HeadSizes } from "./summary/publish.ts";
import { readSummary } from "@pagurus/contract/engine/summary";
import { textOf } from "@pagurus/core/compaction/message-text";
import { loadOnce } from "@pagurus/core/platform/load-once";
import { messageTokens } from "@pagurus/core/tokens/message-tokens";
import { BEFORE_ALL, type Volatile } from "./epoch.ts";
import { sharesOf, type LosslessSettings, type Shares } from "./lossless-settings.ts";
import type { LosslessStore } from "./store/lossless-store.ts";
import { resultChars, SessionView } from "./session-in-memory.ts";

/** Loaded when a session has a summary, or gets one: a short conversation has none. */
const publishing = loadOnce(() => import("./summary/publish.ts"));
const restoring = loadOnce(() => import("./summary/restore.ts"));

/** Limit on remembered turn keys; the host never offers an older turn again. */
const MOST_KEYS = 256;
/** Limit on the history that is read without a summary, as a multiple of the trigger. */
const READ_TRIGGERS = 2;

interface State {
  keys: string[];
  volatile: Volatile[];
  /** How often blocks of recalled passages were taken out of an epoch. */
  drops?: { epoch: string; count: number };
  /** Entry of another program's compaction that is not followed, since what it removed fits. */
  declined?: string;
}

/**
 * Message that is counted once to learn the host's correction of estimates. Images have a fixed estimate, so that many of them are
 * counted at once, and rounding does not matter.
 */
const PROBE: AgentMessage = {
  role: "user",
  content: Array.from({ length: 16 }, () => ({ type: "image", data: "", mimeType: "image/png" })),
};

export class LosslessSession {
  readonly view: SessionView;
  readonly sessionId: string;
  readonly store: LosslessStore;
  readonly settings: LosslessSettings;
  /** Context of the newest call that had one. */
  context: RuntimeContext | undefined;
  /** Turn whose start was synced from the transcript. */
  syncedTurn: string | undefined;
  /** The live turn as last received. */
  live: readonly AgentMessage[] = [];
  /** The live turn's input, which the first call of a turn does not pass. */
  liveAnchor: string | undefined;
  /** Parent of a fork, until its epoch is taken over. */
  forkOf: string | undefined;
  /** Draft of the newest preview, and what it was made of. */
  preview: { key: string; draft: Draft | undefined } | undefined;
  /** The newest compaction request to the host that is still pending. */
  wanted: { turnId: string; tokens: number } | undefined;
  /** Only the path's end is shown, since the store does not have the rest yet. */
  isEarly = false;
  /** The adoption of the rest. */
  #adopting: Promise<unknown> | undefined;
  #state: State | undefined;
  /** The log was read in this process; new entries of it come with the path. */
  #hasReadLog = false;
  /** Entries that are stored and were not looked at so far: of the log, and compactions of others. */
  readonly #unread = { log: false, compaction: false };
  /** The newest compaction was looked at in this process. */
  #hasLooked = false;
  /** The state was changed while only the path's end was shown. */
  #isChangedEarly = false;
  /** Turn that the conversation consists of. */
  #newIn: string | undefined;
  #working: Promise<unknown> = Promise.resolve();
  /** Number of running and queued tasks. */
  #pieces = 0;

  constructor(store: LosslessStore, sessionId: string, settings: LosslessSettings) {
    this.store = store;
    this.sessionId = sessionId;
    this.settings = settings;
    this.view = new SessionView(store, sessionId, settings.trigger * READ_TRIGGERS);
  }

  /** Runs tasks one after the other, so that a task sees no changes by others between its steps. Must not be nested. */
  exclusive<T>(work: () => Promise<T>): Promise<T> {
    this.#pieces += 1;
    const mine = this.#working.then(work).finally(() => {
      this.#pieces -= 1;
    });
    this.#working = mine.catch(() => undefined);
    return mine;
  }

  /** True when no task runs and no turn is live, so that the session can be dropped and loaded again. */
  get isIdle(): boolean {
    return this.#pieces === 0 && this.live.length === 0;
  }

  /** Resolves when no task is running. */
  async idle(): Promise<void> {
    while (this.#pieces > 0) await this.#working;
  }

  #load(): State {
    if (this.#state) return this.#state;
    const value = this.store.sessionState(this.sessionId);
    const { keys = [], volatile = [], ...others } = (value ?? {}) as Partial<State>;
    this.#state = { ...others, keys, volatile };
    return this.#state;
  }

  knowsTurn(key: string): boolean {
    return this.#load().keys.includes(key);
  }

  /** Records that a turn was stored, and its messages without entries. */
  takeTurn(key: string): void {
    const state = this.#load();
    const volatile: Volatile[] = [];
    let after = this.liveAnchor;
    for (const message of this.live) {
      if (message.entryId !== undefined) after = this.#placeOf(message, message.entryId);
      else if (after !== undefined) volatile.push({ message, after });
    }
    this.live = [];
    state.keys = [...state.keys, key].slice(-MOST_KEYS);
    const { length } = state.volatile;
    const kept = state.volatile.filter(
      ({ after, recall }) => this.#isPlace(after) && (!recall || recall.epoch === this.view.epoch?.id),
    );
    state.volatile = [...kept, ...volatile];
    this.#isChangedEarly ||= this.isEarly;
    if (kept.length < length || volatile.length > 0) this.#keepState(state);
    else this.store.setSessionState(this.sessionId, state);
  }

  /** The host's summary of a split turn counts as the head of the next turns. */
  #placeOf(message: AgentMessage, entryId: string): string {
    const { epoch } = this.view;
    const isHead = message.role === "user" && epoch && readSummary(textOf(message)) === epoch.head;
    return isHead ? epoch.id : entryId;
  }

  #isPlace(after: string): boolean {
    const { epoch } = this.view;
    return (
      this.view.has(after) || after === epoch?.splitInputId || after === epoch?.id || after === BEFORE_ALL
    );
  }

  /** Messages without entries that stay in place, but for blocks of recalled passages, by the entry before them (for the head: the epoch's id). */
  volatileAfter(): ReadonlyMap<string, AgentMessage[]> {
    const places = new Map<string, AgentMessage[]>();
    for (const { message, after, recall } of this.#load().volatile)
      if (!recall) places.set(after, [...(places.get(after) ?? []), message]);
    return places;
  }

  /** Blocks of recalled passages of an epoch, oldest first. */
  blocks(epoch: string): Volatile[] {
    return this.#load().volatile.filter(({ recall }) => recall?.epoch === epoch);
  }

  /** Adds a block in its place. */
  addBlock(block: Volatile): void {
    this.#setVolatile([...this.#load().volatile, block]);
  }

  /** The newest block of a turn, of any epoch, also one that is kept aside. */
  blockOf(turnId: string): Volatile | undefined {
    return this.#load().volatile.findLast(({ recall }) => recall?.turnId === turnId);
  }

  /** Takes blocks out of an epoch, others in their place: what follows has another prefix, so the context counts as a new one. */
  dropBlocks(gone: readonly Volatile[], epoch: string, instead: readonly Volatile[] = []): void {
    const state = this.#load();
    state.drops = { epoch, count: 1 + (state.drops?.epoch === epoch ? state.drops.count : 0) };
    this.replaceBlock(gone, instead);
  }

  /** Takes blocks that no context of this epoch had yet, or that are kept aside, out of the state, others in their place. */
  replaceBlock(gone: readonly Volatile[], instead: readonly Volatile[]): void {
    const { volatile } = this.#load();
    this.#setVolatile([...volatile.filter((each) => !gone.includes(each)), ...instead]);
  }

  /** Name of the epoch, and of the context's unchanging beginning, which also changes where a block goes. */
  get projection(): { epoch: string; fingerprint: string } {
    const { epoch: { id: epoch } = { id: "whole" } } = this.view;
    const { drops } = this.#load();
    return { epoch, fingerprint: drops?.epoch === epoch ? `${epoch}.${drops.count}` : epoch };
  }

  #setVolatile(volatile: Volatile[]): void {
    const state = this.#load();
    state.volatile = volatile;
    this.#keepState(state);
  }

  /** Stores a state that the session's log lacks. */
  #keepState(state: State): void {
    this.#isChangedEarly ||= this.isEarly;
    this.store.transaction(() => {
      this.store.setSessionState(this.sessionId, state);
      this.store.owe(this.sessionId, "state");
    });
  }

  shares(tokenBudget: number): Shares {
    return sharesOf(this.settings, tokenBudget, this.view.isTalk);
  }

  /** Provider tokens per estimated token. */
  factor(context: RuntimeContext | undefined): number {
    if (!context) return 1;
    return context.tokens(PROBE) / messageTokens(PROBE);
  }

  /**
   * Syncs with the transcript; another engine's compaction, a rewind or a fork becomes an epoch of ours. Call in
   * `exclusive`.
   */
  async follow(
    context: RuntimeContext,
    options: { sessionKey?: string | undefined; signal?: AbortSignal | undefined; isWhole?: boolean },
  ): Promise<number> {
    this.context = context;
    this.isEarly = false;
    if (options.isWhole === true) await this.#adopting;
    // Another process may have stored a turn since.
    this.#state = undefined;
    this.view.trimAt(resultChars(context));
    const { store, view, sessionId } = this;
    const isStored = store.has(sessionId);
    const { turnId } = context;
    const mayBeEarly = options.isWhole !== true && !this.#hasReadLog && turnId !== this.#newIn;
    const { stored, compacted, logged } = await view.sync(context.transcript, {
      ...options,
      onLong: mayBeEarly ? () => this.#takeOver(context, options) : undefined,
    });
    this.syncedTurn = turnId;
    // A later call does it where a step fails: the entries do not come again.
    this.#unread.log ||= logged;
    this.#unread.compaction ||= compacted;
    if (this.isEarly) return stored;
    if (view.broken) await (await restoring()).recoverEpoch(store, view, this.headSizes(context));
    if (!view.epoch && this.forkOf !== undefined) (await restoring()).shareEpoch(store, view, this.forkOf);
    // A conversation that has nothing but its first turn has no log yet.
    if (!isStored && !view.epoch && view.items[0]?.turnId === turnId) this.#newIn = turnId;
    const isNew = turnId !== undefined && turnId === this.#newIn;
    if (!isNew && (this.#unread.log || !this.#hasReadLog)) await this.#readLog(context);
    // One of before was not looked at where a search of another session stored it, or the process ended.
    const isUnseen = !isNew && !this.#hasLooked && !view.epoch;
    if (this.#unread.compaction || isUnseen) await this.#takeCompaction(context, !isStored);
    this.#unread.compaction = false;
    this.#hasLooked = true;
    await this.writeLog(context);
    return stored;
  }

  /** Shows the end of a long path at once, and stores the rest in the background. */
  async #takeOver(
    { transcript, turnId }: RuntimeContext,
    { sessionKey }: { sessionKey?: string | undefined },
  ): Promise<boolean> {
    const { store, view, sessionId } = this;
    if (turnId === undefined) return false;
    const { tailOf } = await import("./log/take-over.ts");
    const tail = await tailOf(transcript, sessionId);
    if (!tail) return false;
    view.showTail(tail);
    // What was changed here since, or is not in the log so far, is newer.
    const isOwed = store.owed(sessionId).some(({ kind }) => kind === "state");
    if (!this.#isChangedEarly && !isOwed) this.#state = { ...tail.state, keys: this.#load().keys };
    this.isEarly = true;
    const key = sessionKey === undefined ? {} : { sessionKey };
    // It ends with the turn's cursor at the latest; the next call continues it.
    this.#adopting ??= store.adopt(sessionId, transcript, { ...key, index: "later" }).then(
      () => (this.#adopting = undefined),
      () => (this.#adopting = undefined),
    );
    return true;
  }

  /** Stores the rest of a path that is shown by its end, outside of `exclusive`. Throws the errors of the store and the cursor. */
  async catchUp(context: RuntimeContext, signal: AbortSignal | undefined): Promise<void> {
    await this.#adopting;
    await this.store.adopt(this.sessionId, context.transcript, signal ? { signal } : {});
    await this.exclusive(() => this.follow(context, { signal, isWhole: true }));
  }

  /** Brings the store up to the session's log. */
  async #readLog(context: RuntimeContext): Promise<void> {
    const { store, view } = this;
    const { readLog } = await import("./log/read-log.ts");
    const { stateChanged } = await readLog(store, view, context.transcript);
    this.#hasReadLog = true;
    this.#unread.log = false;
    if (stateChanged) this.#state = undefined;
    if (view.broken) await (await restoring()).recoverEpoch(store, view, this.headSizes(context));
  }

  /** Writes what the session's log lacks. What cannot be written now is written at a later call. */
  async writeLog({ remember, allowDeferredCompactionExecution: isDeferred }: RuntimeContext): Promise<void> {
    const { store, sessionId } = this;
    // Where the log was not read, an entry at its end would hide those of other hosts before it.
    if (!remember || this.isEarly || store.owed(sessionId).length === 0) return;
    const { writeLog } = await import("./log/write-log.ts");
    writeLog({ store, sessionId, remember, isLive: !isDeferred && this.#hasReadLog });
  }

  /** Limits on the head and on the user's messages in it. */
  headSizes(context: RuntimeContext | undefined): HeadSizes {
    const { head, users, hidesTalk } = this.shares(context?.tokenBudget ?? this.settings.trigger);
    const factor = this.factor(context);
    return { headTokens: Math.floor(head / factor), userTokens: Math.floor(users / factor), hidesTalk };
  }

  /** Whether the whole history is there and below the trigger, so that nothing of an imported session has to be left out. */
  #fits(context: RuntimeContext): boolean {
    const { epoch, complete, items } = this.view;
    if (epoch || !complete || !this.#hasItsBeginning()) return false;
    const tokens = items.reduce((sum, item) => sum + item.tokens, 0) * this.factor(context);
    return tokens <= this.shares(context.tokenBudget).trigger;
  }

  /** False for a path that begins with a summary: what it says is nowhere else. */
  #hasItsBeginning(): boolean {
    for (let position = 0; ; position += 1) {
      const kind = this.store.at(this.sessionId, position)?.kind;
      if (kind === undefined || kind === "compaction") return false;
      if (kind === "message") return true;
    }
  }

  #decline(entryId: string): void {
    const state = this.#load();
    state.declined = entryId;
    this.#keepState(state);
  }

  /** Adopts a compaction. Not abortable: the next call would not find the compaction again. */
  async #takeCompaction(context: RuntimeContext, isNew: boolean): Promise<void> {
    const { store, view, sessionId } = this;
    // Also one that a search of another session stored: the engine had no turn of it so far.
    const isImport =
      isNew || (store.sessionState(sessionId) === undefined && store.frontier(sessionId).version === 0);
    const newest = store.newestCompaction(sessionId);
    if (newest?.entry?.type !== "compaction") return;
    const entry: CompactionEntry = newest.entry;
    const { epoch } = view;
    if (epoch && entry.summary === epoch.head) return;
    if (isImport && this.#fits(context)) this.#decline(newest.entryId);
    if (this.#load().declined === newest.entryId) return;
    if (!epoch) {
      const { firstKeptEntryId, splitTurnInputId: splitInputId } = entry;
      const { adoptSummary } = await restoring();
      await adoptSummary(store, view, { text: entry.summary, firstKeptEntryId, splitInputId });
      return;
    }
    if (newest.position < epoch.madeAt) return;
    const index = view.indexOf(entry.firstKeptEntryId);
    if (index <= 0) return;
    // Its cut is adopted; its text is stored as an entry, and our own summaries have more detail.
    const { draftEpoch, publishDraft } = await publishing();
    const draft = await draftEpoch(store, view, {
      cut: index,
      firstKeptEntryId: view.items[index]?.placeId ?? entry.firstKeptEntryId,
      splitInputId: entry.splitTurnInputId,
      ...this.headSizes(context),
    });
    publishDraft(store, view, draft, { now: Date.now() });
  }
}
