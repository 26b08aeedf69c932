/**
 * Holds the engine's store and recovers from damage: a damaged text is read again from the transcript; for any other
 * damage the file is set aside and a new one is built from the transcripts. The call that met the damage is then retried,
 * so that no turn fails or degrades because of a derived file.
 */
import type { RuntimeContext } from "@pagurus/contract/engine/runtime-context";
import { toPagurusError } from "@pagurus/contract/errors";
import type { SentenceEncoder } from "./encoder/encoder-thread.ts";
import { LosslessSession } from "./lossless-session.ts";
import { sessionPolicy, type LosslessSettings } from "./lossless-settings.ts";
import { damagedPart, isDamage } from "./store/damage.ts";
import { rebuilt } from "./store/open-database.ts";
import { openLosslessStore, type LosslessStore } from "./store/lossless-store.ts";

/** Limit on cached sessions; the least recently used one is dropped and read again at its next turn. */
const MOST_OPEN_SESSIONS = 64;
/** Repairs in one call before the whole file is replaced. */
const MOST_REPAIRS = 64;
/** Limit on files set aside by one engine: a disk that damages each new one needs a person. */
const MOST_REPLACED = 8;

export class Sessions {
  readonly store: LosslessStore;
  readonly settings: LosslessSettings;
  readonly #open = new Map<string, LosslessSession>();
  /** Announced forks: child session to parent session. */
  readonly forks = new Map<string, string>();

  constructor(store: LosslessStore, settings: LosslessSettings) {
    this.store = store;
    this.settings = settings;
  }

  of(sessionId: string): LosslessSession {
    const known = this.#open.get(sessionId) ?? new LosslessSession(this.store, sessionId, this.settings);
    known.forkOf ??= this.forks.get(sessionId);
    this.forks.delete(sessionId);
    this.#open.delete(sessionId);
    this.#open.set(sessionId, known);
    if (this.#open.size > MOST_OPEN_SESSIONS) this.#forgetOne(sessionId);
    return known;
  }

  /** Drops the least recently used idle session: a busy one would get a second work queue. */
  #forgetOne(except: string): void {
    for (const [id, session] of this.#open) {
      if (id === except || !session.isIdle) continue;
      this.#open.delete(id);
      return;
    }
  }

  async idle(): Promise<void> {
    await Promise.all([...this.#open.values()].map((session) => session.idle()));
  }

  policy(sessionKey: string | undefined): "kept" | "ignored" | "stateless" {
    return sessionPolicy(this.settings, sessionKey);
  }
}

export interface StoreHolderOptions {
  agentDir: string;
  settings: LosslessSettings;
  /** Orders passages by what they mean. */
  encoder?: SentenceEncoder | undefined;
  /** Called with each store as soon as it is open. */
  onStore?: ((store: LosslessStore) => void) | undefined;
}

export class StoreHolder {
  readonly #options: StoreHolderOptions;
  #sessions: Sessions;
  #replacing: Promise<void> | undefined;
  #replaced = 0;
  #isFailureReported = false;
  /** Notices that are not reported yet, since no call had a context. */
  #unreported: string[];

  /** Throws `store_read_failed`, `store_write_failed`. */
  constructor(options: StoreHolderOptions) {
    this.#options = options;
    const store = openLosslessStore(options.agentDir, options.encoder);
    this.#unreported = store.notices.flatMap(({ kind, detail }) =>
      kind === "rebuilt_corrupt" ? [detail] : [],
    );
    this.#sessions = new Sessions(store, options.settings);
    options.onStore?.(store);
  }

  get sessions(): Sessions {
    return this.#sessions;
  }

  /** Runs a task with the store, and retries it after damage that could be repaired. */
  async run<T>(
    context: RuntimeContext | undefined,
    work: (sessions: Sessions) => Promise<T> | T,
  ): Promise<T> {
    let repaired = 0;
    for (;;) {
      await this.#replacing;
      const sessions = this.#sessions;
      try {
        const noted = sessions.store.beginTask();
        if (noted !== undefined) throw noted;
        const answer = await work(sessions);
        if (repaired > 0) this.#unreported.push(repairedSentence(sessions.store.file, repaired));
        this.#report(context);
        return answer;
      } catch (error) {
        // Another call sets the file aside meanwhile; this one restarts with the new file.
        await this.#replacing?.catch(() => undefined);
        if (sessions !== this.#sessions) continue;
        if (!isDamage(error)) throw error;
        sessions.store.takeDamage();
        if (repaired < MOST_REPAIRS && (await repair(sessions.store, error, context))) repaired += 1;
        else if (this.#replaced < MOST_REPLACED) await this.#replace(sessions);
        else throw error;
      }
    }
  }

  async close(): Promise<void> {
    await this.#replacing;
    await this.#sessions.idle();
    await this.#sessions.store.close();
  }

  #report(context: RuntimeContext | undefined): void {
    if (!context?.degraded) return;
    const failure = this.#options.encoder?.failure;
    if (failure && !this.#isFailureReported) this.#unreported.push(failure.message);
    this.#isFailureReported = failure !== undefined;
    for (const sentence of this.#unreported.splice(0)) context.degraded(sentence);
  }

  #replace(sessions: Sessions): Promise<void> {
    this.#replacing ??= this.#replaceStore(sessions).finally(() => {
      this.#replacing = undefined;
    });
    return this.#replacing;
  }

  async #replaceStore({ store, forks }: Sessions): Promise<void> {
    const { agentDir, settings, encoder, onStore } = this.#options;
    this.#replaced += 1;
    await closeStore(store);
    const aside = store.setAside();
    const next = openLosslessStore(agentDir, encoder);
    if (aside !== undefined) await carryOver(aside, next);
    this.#sessions = new Sessions(next, settings);
    for (const [child, parent] of forks) this.#sessions.forks.set(child, parent);
    if (aside !== undefined) this.#unreported.push(rebuilt(store.file, aside).detail);
    onStore?.(next);
  }
}

function repairedSentence(file: string, count: number): string {
  const what = count === 1 ? `A text in ${file} was` : `${count} texts in ${file} were`;
  const read = count === 1 ? "was" : "were";
  return `${what} not what was stored and ${read} read again from the transcript; check the disk.`;
}

async function repair(
  store: LosslessStore,
  error: unknown,
  context: RuntimeContext | undefined,
): Promise<boolean> {
  const part = damagedPart(error);
  if (!part || !context) return false;
  try {
    return await store.repair(part, context.transcript);
  } catch (failure) {
    // There is more damage than this text: the whole file is rebuilt.
    if (isDamage(failure)) return false;
    throw failure;
  }
}

async function closeStore(store: LosslessStore): Promise<void> {
  try {
    await store.close();
  } catch (error) {
    // It is set aside anyway; data that SQLite can no longer flush is in the transcripts.
    if (toPagurusError(error).code === "turn_aborted") return;
  }
}

/** Takes over pins and other data that no transcript has, as far as the damaged file is readable. */
async function carryOver(aside: string, store: LosslessStore): Promise<void> {
  const { carriedFrom, carryAll, NOTHING } = await import("./command/carry.ts");
  let carried = NOTHING;
  try {
    carried = carriedFrom(aside) ?? NOTHING;
  } catch {
    // The notice about the new file names the old one.
    carried = NOTHING;
  }
  carryAll(store, carried);
}
