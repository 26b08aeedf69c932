/** What the engine holds of a session while the process lives, and the little that it keeps with it in the store. */
import type { AgentMessage } from "../../contract/message.ts";
import type { CompactionEntry } from "../../contract/transcript.ts";
import type { RuntimeContext } from "../../contract/runtime-context.ts";
import { draftEpoch, publishDraft } from "./publish.ts";
import { readSummary } from "../../contract/summary.ts";
import { textOf } from "../../compaction/message-text.ts";
import { readRecord } from "./record.ts";
import { adoptSummary, recoverEpoch, restoreEpoch, shareEpoch } from "./restore.ts";
import { messageTokens } from "../../tokens/messages.ts";
import type { Volatile } from "./epoch.ts";
import { sharesOf, type LosslessSettings, type Shares } from "./settings.ts";
import type { LosslessStore } from "./store/store.ts";
import { resultChars, SessionView } from "./view.ts";

/** Turns whose keys are remembered; the host offers none again that is older. */
const MOST_KEYS = 256;
/** Uncorrected tokens that are read of a history without a summary. */
const READ_TRIGGERS = 2;

interface State {
  keys: string[];
  volatile: Volatile[];
}

function stateOf(value: unknown): State {
  const { keys, volatile } = (value ?? {}) as Partial<State>;
  return { keys: keys ?? [], volatile: volatile ?? [] };
}

/** The host's correction of estimates, learned from a message that is counted once. */
const PROBE: AgentMessage = {
  role: "user",
  content: "the harbour office keeps a list of ships\n".repeat(2_000),
};

export class LosslessSession {
  readonly view: SessionView;
  readonly store: LosslessStore;
  readonly settings: LosslessSettings;
  /** Of the newest call that had one. */
  context: RuntimeContext | undefined;
  /** Turn whose beginning was followed in the transcript. */
  syncedTurn: string | undefined;
  /** The live turn as it was last given. */
  live: readonly AgentMessage[] = [];
  /** The live turn's input, which the first call of a turn does not give. */
  liveAnchor: string | undefined;
  /** The session that this one was forked from, while its epoch is not taken over. */
  forkOf: string | undefined;
  /** The newest context that the host was asked to compact, and no compaction came of it yet. */
  wanted: { turnId: string; tokens: number } | undefined;
  #state: State | undefined;
  #working: Promise<unknown> = Promise.resolve();
  /** Pieces of work that have begun or wait. */
  #pieces = 0;

  constructor(store: LosslessStore, sessionId: string, settings: LosslessSettings) {
    this.store = store;
    this.settings = settings;
    this.view = new SessionView(store, sessionId, settings.trigger * READ_TRIGGERS);
  }

  get sessionId(): string {
    return this.view.sessionId;
  }

  /** Work that must find the session as it has left it at its last step: one piece after the other. Not to be nested. */
  exclusive<T>(work: () => Promise<T>): Promise<T> {
    this.#pieces += 1;
    const mine = this.#working.then(work).finally(() => {
      this.#pieces -= 1;
    });
    this.#working = mine.catch(() => undefined);
    return mine;
  }

  /** Nothing is under way, and no turn is live: it can be forgotten and read anew. */
  get isIdle(): boolean {
    return this.#pieces === 0 && this.live.length === 0;
  }

  /** Resolves once nothing is under way. */
  async idle(): Promise<void> {
    while (this.#pieces > 0) await this.#working;
  }

  #load(): State {
    this.#state ??= stateOf(this.store.session(this.sessionId) && this.store.sessionState(this.sessionId));
    return this.#state;
  }

  knowsTurn(key: string): boolean {
    return this.#load().keys.includes(key);
  }

  /** Remembers that a turn was taken, and what of it no entry holds. */
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
    state.volatile = [...state.volatile.filter(({ after }) => this.#isPlace(after)), ...volatile];
    this.store.setSessionState(this.sessionId, state);
  }

  /** The host's summary of a turn that was split is the head of the next turns. */
  #placeOf(message: AgentMessage, entryId: string): string {
    const { epoch } = this.view;
    const isHead = message.role === "user" && epoch && readSummary(textOf(message)) === epoch.head;
    return isHead ? epoch.id : entryId;
  }

  #isPlace(after: string): boolean {
    const { epoch } = this.view;
    return this.view.has(after) || after === epoch?.splitInputId || after === epoch?.id;
  }

  /** Messages that no entry holds and that stay in their place, by the entry (the head: the epoch's id) before them. */
  volatileAfter(): ReadonlyMap<string, AgentMessage[]> {
    const places = new Map<string, AgentMessage[]>();
    for (const { message, after } of this.#load().volatile)
      places.set(after, [...(places.get(after) ?? []), message]);
    return places;
  }

  shares(tokenBudget: number): Shares {
    return sharesOf(this.settings, tokenBudget);
  }

  /** Provider's tokens for each estimated one. */
  factor(context: RuntimeContext | undefined): number {
    if (!context) return 1;
    return context.tokens(PROBE) / messageTokens(PROBE);
  }

  /**
   * Follows the transcript; a compaction of somebody else, a rewind or a fork becomes an epoch of ours. Call in
   * `exclusive`.
   */
  async follow(
    context: RuntimeContext,
    options: { sessionKey?: string | undefined; signal?: AbortSignal | undefined },
  ): Promise<number> {
    this.context = context;
    // Another process may have taken a turn since.
    this.#state = undefined;
    this.view.trimAt(resultChars(context));
    const { stored, compacted } = await this.view.sync(context.transcript, options);
    if (this.view.broken) await recoverEpoch(this.store, this.view, this.headSizes(context));
    if (!this.view.epoch && this.forkOf !== undefined) shareEpoch(this.store, this.view, this.forkOf);
    if (compacted) await this.#takeCompaction(context);
    this.syncedTurn = context.turnId;
    return stored;
  }

  /** Uncorrected tokens that the head and the user's words in it may have. */
  headSizes(context: RuntimeContext | undefined): { headTokens: number; userTokens: number } {
    const { head, users } = this.shares(context?.tokenBudget ?? this.settings.trigger);
    const factor = this.factor(context);
    return { headTokens: Math.floor(head / factor), userTokens: Math.floor(users / factor) };
  }

  /** Once begun it is done: the next call would not find the compaction again. */
  async #takeCompaction(context: RuntimeContext): Promise<void> {
    const { store, view } = this;
    const walk = store.walkBack(this.sessionId, { kinds: ["compaction"], maxMessages: 1 });
    const [newest] = walk.items;
    if (newest?.entry?.type !== "compaction") return;
    const entry: CompactionEntry = newest.entry;
    const { epoch } = view;
    const record = epoch ? undefined : readRecord(entry, this.sessionId);
    if (record && restoreEpoch(store, view, record)) return;
    if (!epoch) {
      const { firstKeptEntryId, splitTurnInputId: splitInputId } = entry;
      await adoptSummary(store, view, { text: entry.summary, firstKeptEntryId, splitInputId });
      return;
    }
    if (entry.summary === epoch.head || newest.position < epoch.madeAt) return;
    const index = view.indexOf(entry.firstKeptEntryId);
    if (index <= 0) return;
    // Its cut is taken over; what it says is kept as an entry, and our own summaries say more.
    const draft = await draftEpoch(store, view, {
      cut: index,
      firstKeptEntryId: view.items[index]?.placeId ?? entry.firstKeptEntryId,
      splitInputId: entry.splitTurnInputId,
      ...this.headSizes(context),
    });
    publishDraft(store, view, draft, Date.now());
  }
}
