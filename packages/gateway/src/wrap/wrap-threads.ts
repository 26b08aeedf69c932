/** Maps the program's conversations to sessions, and imports what a session lacks. */
import type { Pagurus } from "@pagurus/contract/host/host";
import { toPagurusError } from "@pagurus/contract/errors";
import type { AgentMessage } from "@pagurus/contract/message";
import type { Logger } from "@pagurus/core/platform/log";
import { Pace } from "@pagurus/core/platform/pace";
import type { WireRequest } from "../dialect/wire-dialect.ts";
import { conversationOf } from "../request/order.ts";
import { namesIn, sessionsNamed, type WrapClaims } from "./wrap-claims.ts";
import { hasSummary, storedBeginning, SUMMARY_ENTRY, summaryBeginning } from "./wrap-summaries.ts";
import {
  assistantWords,
  callIdsOf,
  historyMessages,
  hasMessagesBefore,
  userKey,
} from "./request-messages.ts";

export interface ThreadsOptions {
  pagurus: Pick<Pagurus, "sessions" | "renew">;
  /** Session key of the program's first conversation. */
  sessionKey: string;
  agentId: string;
  /** Runtime id. */
  runtime: string;
  cwd: string;
  /** Workspace whose conversations are used, if the user has named none; each is claimed for this program alone. */
  folder?: string | undefined;
  claims?: Pick<WrapClaims, "take" | "begin"> | undefined;
  logger: Logger;
  /** Reports a sentence to the user after the program has left the terminal. */
  notify(sentence: string): void;
}

/** Maximum number of keys of the session that the program's conversation is compared with. */
const MOST_KNOWN = 4_000;
/** Timeout for another writer's lock on the session, ms. */
const LOCK_WAIT_MS = 1_000;
const SHORT_ID = 8;
/** Maximum number of the folder's conversations that are compared with one that the program resumes. */
const MOST_ALIKE = 20;
/** Minimum number of messages that two conversations must share: short texts occur in many. */
const LEAST_ALIKE = 2;
/** Length of a text that occurs in no other conversation, characters. */
const LONG_TEXT = 400;

export class WrapThreads {
  readonly #options: ThreadsOptions;
  /** Sessions by the program's name for the conversation. */
  readonly #keys = new Map<string, string>();
  /** Summaries that are not in their sessions yet. */
  readonly #summaries: { sessionKey: string; begins: string }[] = [];
  #current: string;

  constructor(options: ThreadsOptions) {
    this.#options = options;
    this.#current = options.sessionKey;
  }

  /** The session that is followed now. */
  get current(): string {
    return this.#current;
  }

  /** The session that already contains a request's conversation; undefined if none does. Never throws. */
  async held(request: WireRequest): Promise<string | undefined> {
    const thread = conversationOf(request);
    const known = this.#keys.get(thread);
    if (known !== undefined || this.#keys.size > 0) return known;
    try {
      const resumed = await this.#resumed(thread, historyMessages(request));
      if (resumed && !resumed.inUse) this.#current = resumed.sessionKey;
      const isHere = (this.#store.find(this.#current)?.entryCount ?? 0) > 0;
      const missing = isHere ? await this.#missing(this.#current, historyMessages(request)) : undefined;
      if (!missing) return undefined;
      await this.#append(this.#current, missing);
      this.#keys.set(thread, this.#current);
      return this.#current;
    } catch {
      // A session that cannot be read is reported by the turn that needs it.
      return undefined;
    }
  }

  /**
   * The session of a request's conversation. A new conversation while the program runs is `/new` here too; one with a history that
   * our session does not have is imported if the session is empty. `isBusy`: whether a conversation in a session is still active;
   * one that begins in parallel gets a session of its own. Throws the errors of renewing.
   */
  async sessionFor(
    request: WireRequest,
    isBusy: (sessionKey: string) => boolean = () => false,
  ): Promise<string> {
    const thread = conversationOf(request);
    const known = this.#keys.get(thread);
    if (known !== undefined) return (this.#current = known);
    const hasHistory = hasMessagesBefore(request);
    const resumed = hasHistory ? await this.#resumed(thread, historyMessages(request)) : undefined;
    // A name made from words may be that of a request beside the conversation, which must not end it.
    const isNext = !hasHistory && !isBusy(this.#current) && request.native.contentId === undefined;
    if (resumed && !resumed.inUse) this.#current = resumed.sessionKey;
    else if (this.#keys.size > 0) await this.#another(thread, isNext);
    this.#keys.set(thread, this.#current);
    const source = resumed?.inUse === true ? resumed.sessionKey : undefined;
    if (hasHistory) await this.#adopt(this.#current, thread, historyMessages(request), source);
    return this.#current;
  }

  /** `isNext`: the program has left the previous conversation. */
  async #another(thread: string, isNext: boolean): Promise<void> {
    const { claims, sessionKey } = this.#options;
    if (claims) this.#current = await claims.begin();
    else if (isNext) await this.#renew();
    else this.#current = `${sessionKey}/${shortOf(thread)}`;
  }

  /**
   * The conversation of the folder that the program resumed by itself: found by the program's name for it, else by its messages,
   * unless another conversation of the program is in it. `inUse`: another live program has claimed it.
   */
  async #resumed(
    thread: string,
    history: AgentMessage[],
  ): Promise<{ sessionKey: string; inUse: boolean } | undefined> {
    const { claims, runtime, cwd, notify } = this.#options;
    if (!claims) return undefined;
    const sessionKey = (await this.#named(thread, history)) ?? (await this.#alike(history));
    if (sessionKey === undefined) return undefined;
    if (sessionKey === this.#current || (await claims.take(sessionKey))) return { sessionKey, inUse: false };
    this.#options.logger.info("resumed conversation is in use", { runtime, sessionKey, cwd });
    notify(
      `The conversation belongs to the session ${sessionKey}, which is in use; this program continues in a copy of its own.`,
    );
    return { sessionKey, inUse: true };
  }

  /** The session with the program's name for the conversation; among copies the one that has most of the messages. */
  async #named(thread: string, history: AgentMessage[]): Promise<string | undefined> {
    const records = sessionsNamed(this.#store, this.#options.runtime, thread);
    if (records.length < 2) return records[0]?.sessionKey;
    let [nearest, fewest] = [records[0]?.sessionKey, Infinity];
    for (const { sessionKey } of records) {
      const isKnown = await this.#known(sessionKey);
      const unknown = history.filter((message) => !isKnown(message)).length;
      if (unknown < fewest) [nearest, fewest] = [sessionKey, unknown];
    }
    return nearest;
  }

  async #alike(history: AgentMessage[]): Promise<string | undefined> {
    const { runtime } = this.#options;
    const folder = this.#store.find(this.#options.sessionKey)?.folder ?? this.#options.folder;
    const isLong = history.some((message) => message.role === "user" && userKey(message).length > LONG_TEXT);
    if (folder === undefined || history.length < (isLong ? 1 : LEAST_ALIKE)) return undefined;
    for (const record of this.#store.inFolder(folder).slice(0, MOST_ALIKE)) {
      if (record.entryCount === 0 || namesIn(record, runtime).length > 0) continue;
      if (await this.#missing(record.sessionKey, history)) return record.sessionKey;
    }
    return undefined;
  }

  async #renew(): Promise<void> {
    const { pagurus, agentId, cwd } = this.#options;
    await pagurus.renew({ sessionKey: this.#current, agentId, reason: "new", cwd });
    // The key's new generation does not contain these conversations.
    for (const [thread, key] of this.#keys) if (key === this.#current) this.#keys.delete(thread);
  }

  /** Never throws: a conversation that cannot be imported continues without its older part. `source`: the session to copy. */
  async #adopt(
    sessionKey: string,
    thread: string,
    messages: AgentMessage[],
    source: string | undefined,
  ): Promise<void> {
    const { logger, runtime } = this.#options;
    try {
      const record = this.#store.find(sessionKey);
      if (record && record.entryCount > 0) {
        const missing = await this.#missing(sessionKey, messages);
        if (missing) await this.#append(sessionKey, missing);
        else this.#leftOut(sessionKey, "the session has a conversation of its own");
        return;
      }
      if (source !== undefined && !record && (await this.#copy(source, sessionKey, messages))) return;
      await this.#import(sessionKey, thread, messages);
      logger.info("wrapped program's conversation imported", {
        runtime,
        sessionKey,
        count: messages.length,
      });
    } catch (error) {
      const { code, message } = toPagurusError(error);
      logger.warn("wrapped program's conversation not imported", { runtime, sessionKey, code });
      this.#leftOut(sessionKey, message);
    }
  }

  get #store(): ReturnType<Pagurus["sessions"]> {
    return this.#options.pagurus.sessions(this.#options.agentId);
  }

  /** Copies the finished turns of a session, then what the program has beyond them. False where the session has none. */
  async #copy(source: string, sessionKey: string, messages: readonly AgentMessage[]): Promise<boolean> {
    const entryId = await this.#lastFinal(source);
    if (entryId === undefined) return false;
    await this.#store.fork(source, sessionKey, { entryId });
    await this.#append(sessionKey, (await this.#missing(sessionKey, messages)) ?? messages);
    return true;
  }

  /** The newest entry before a live turn. */
  async #lastFinal(sessionKey: string): Promise<string | undefined> {
    const reader = this.#store.openReader(sessionKey);
    try {
      for await (const { type, id, turnId } of reader.cursor.backward())
        if (type === "turn_commit" || (type === "message" && turnId === undefined)) return id;
      return undefined;
    } finally {
      reader.close();
    }
  }

  async #import(sessionKey: string, thread: string, messages: AgentMessage[]): Promise<void> {
    const { runtime, cwd } = this.#options;
    const importAs = (nativeId: string): Promise<unknown> =>
      this.#store.import({ runtime, nativeId, cwd, messages }, { sessionKey });
    try {
      await importAs(thread === "" ? sessionKey : thread);
    } catch (error) {
      // It was imported before, into another session or one that has been renewed since.
      if (toPagurusError(error).code !== "session_exists") throw error;
      await importAs(`${thread}-${Date.now().toString(36)}`);
    }
  }

  /** Returns whether a message is among the newest ones of the session. */
  async #known(sessionKey: string): Promise<(message: AgentMessage) => boolean> {
    const known = new Set<string>();
    const beginnings: string[] = [];
    const reader = this.#store.openReader(sessionKey);
    const pace = new Pace();
    try {
      for await (const entry of reader.cursor.backward()) {
        if (pace.due) await pace.rest();
        if (entry.type === "message") for (const key of keysOf(entry.message)) known.add(key);
        const begins =
          entry.type === "custom" && entry.customType === SUMMARY_ENTRY
            ? storedBeginning(entry.data)
            : undefined;
        if (begins !== undefined) beginnings.push(begins);
        if (known.size > MOST_KNOWN) break;
      }
    } finally {
      reader.close();
    }
    return (message) => keysOf(message).every((key) => known.has(key)) || hasSummary(message, beginnings);
  }

  /**
   * The messages after the last one that the session has; undefined if it has none of them. It takes two consecutive messages, since short
   * texts occur in many conversations.
   */
  async #missing(sessionKey: string, messages: readonly AgentMessage[]): Promise<AgentMessage[] | undefined> {
    const has = await this.#known(sessionKey);
    const pace = new Pace();
    let hasNext = false;
    for (const [at, message] of [...messages.entries()].toReversed()) {
      if (pace.due) await pace.rest();
      const isKnown = has(message);
      if (isKnown && hasNext) return messages.slice(at + 2);
      hasNext = isKnown;
    }
    return hasNext ? messages.slice(1) : undefined;
  }

  /** Appends messages from while the program was not followed, and lets others run in between. Throws `session_locked`. */
  async #append(sessionKey: string, messages: readonly AgentMessage[]): Promise<void> {
    if (messages.length === 0) return;
    const { runtime, cwd, logger } = this.#options;
    const writer = this.#store.openWriter(sessionKey, { cwd, create: false, deadlineMs: LOCK_WAIT_MS });
    try {
      await new Pace().each(messages, (message) =>
        writer.append({ type: "message", message: { timestamp: Date.now(), ...message } }),
      );
    } finally {
      writer.close();
    }
    logger.info("wrapped program's conversation caught up with", {
      runtime,
      sessionKey,
      count: messages.length,
    });
  }

  /**
   * Stores the beginning of a summary that the program got, so that a later run recognizes the conversation. Never throws: a session
   * that another writer has open is tried again at the next call.
   */
  noteSummary(request: WireRequest, summary: string): void {
    const sessionKey = this.#keys.get(conversationOf(request));
    const begins = summaryBeginning(summary);
    if (sessionKey !== undefined && begins !== undefined) this.#summaries.push({ sessionKey, begins });
    this.storeSummaries();
  }

  storeSummaries(): void {
    const { cwd } = this.#options;
    for (const { sessionKey, begins } of this.#summaries.splice(0)) {
      try {
        const writer = this.#store.openWriter(sessionKey, { cwd, create: false, deadlineMs: 0 });
        try {
          writer.append({ type: "custom", customType: SUMMARY_ENTRY, data: { begins } });
        } finally {
          writer.close();
        }
      } catch {
        this.#summaries.push({ sessionKey, begins });
      }
    }
  }

  #leftOut(sessionKey: string, why: string): void {
    this.#options.logger.warn("wrapped program's older conversation left out", {
      runtime: this.#options.runtime,
      sessionKey,
    });
    this.#options.notify(
      `The program's earlier conversation is not in the session ${sessionKey}, and the model did not see it: ${why.replace(/\.$/, "")}. Name a new session with --session to import it.`,
    );
  }
}

/** Keys of a message's content that stay the same wherever it is read. */
function keysOf(message: AgentMessage): string[] {
  if (message.role === "toolResult") return [`result ${message.toolCallId}`];
  if (message.role === "user") return [`user ${userKey(message)}`];
  const words = assistantWords(message);
  return [...(words === "" ? [] : [`answer ${words}`]), ...callIdsOf(message).map((id) => `call ${id}`)];
}

/** The end of the id: ids begin with the time, and two of the same minute would be equal. */
function shortOf(thread: string): string {
  return thread.replaceAll(/[^\w]/g, "").slice(-SHORT_ID);
}
