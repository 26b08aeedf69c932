/** Which session a conversation of the program belongs to, and what happens when the two meet. */
import type { Pagurus } from "../../../contract/host.ts";
import { toPagurusError } from "../../../contract/errors.ts";
import type { AgentMessage } from "../../../contract/message.ts";
import type { Logger } from "../../../platform/log.ts";
import type { WireRequest } from "../dialect/dialect.ts";
import { assistantWords, callIds, historySaid, saysSomethingBefore, userKey } from "./said.ts";

export interface ThreadsOptions {
  pagurus: Pick<Pagurus, "sessions" | "renew">;
  /** Key of the session that the program's first conversation is. */
  sessionKey: string;
  agentId: string;
  /** Runtime id. */
  runtime: string;
  cwd: string;
  logger: Logger;
  /** Told to the user when the terminal is ours again. */
  tell(sentence: string): void;
}

/** Pieces of the session that the program's conversation is compared with. */
const MOST_KNOWN = 4_000;
/** How long another writer of the session is waited for, ms. */
const LOCK_WAIT_MS = 1_000;
const SHORT_ID = 8;

export class WrapThreads {
  readonly #options: ThreadsOptions;
  /** Sessions by the program's name for the conversation. */
  readonly #keys = new Map<string, string>();
  #current: string;

  constructor(options: ThreadsOptions) {
    this.#options = options;
    this.#current = options.sessionKey;
  }

  /** The session that is followed now. */
  get current(): string {
    return this.#current;
  }

  /** The session that has a request's conversation already; undefined where none has. Never throws. */
  async held(request: WireRequest): Promise<string | undefined> {
    const thread = request.native.threadId ?? "";
    const known = this.#keys.get(thread);
    if (known !== undefined || this.#keys.size > 0) return known;
    try {
      const isHere = (this.#store.find(this.#current)?.entryCount ?? 0) > 0;
      const missing = isHere ? await this.#missing(this.#current, historySaid(request)) : undefined;
      if (!missing) return undefined;
      this.#append(this.#current, missing);
      this.#keys.set(thread, this.#current);
      return this.#current;
    } catch {
      // A session that cannot be read is told of by the turn that needs it.
      return undefined;
    }
  }

  /**
   * The session of a request's conversation. One that begins anew while the program runs is `/new` here too; one with a history
   * that our session does not know becomes it, where it is empty. `isBusy`: a conversation goes on in a session, and one that
   * begins beside it has a session of its own. Throws what renewing throws.
   */
  async sessionFor(
    request: WireRequest,
    isBusy: (sessionKey: string) => boolean = () => false,
  ): Promise<string> {
    const thread = request.native.threadId ?? "";
    const known = this.#keys.get(thread);
    if (known !== undefined) return (this.#current = known);
    const hasHistory = saysSomethingBefore(request);
    const isNext = !hasHistory && !isBusy(this.#current);
    if (this.#keys.size > 0 && isNext) await this.#renew();
    else if (this.#keys.size > 0) this.#current = `${this.#options.sessionKey}/${shortOf(thread)}`;
    this.#keys.set(thread, this.#current);
    if (hasHistory) await this.#adopt(this.#current, thread, historySaid(request));
    return this.#current;
  }

  async #renew(): Promise<void> {
    const { pagurus, agentId, cwd } = this.#options;
    await pagurus.renew({ sessionKey: this.#current, agentId, reason: "new", cwd });
    // What these conversations were is not what the key holds from now on.
    for (const [thread, key] of this.#keys) if (key === this.#current) this.#keys.delete(thread);
  }

  /** Never throws: a conversation that cannot be taken over goes on without its older part. */
  async #adopt(sessionKey: string, thread: string, messages: AgentMessage[]): Promise<void> {
    const { logger, runtime } = this.#options;
    try {
      const record = this.#store.find(sessionKey);
      if (record && record.entryCount > 0) {
        const missing = await this.#missing(sessionKey, messages);
        if (missing) this.#append(sessionKey, missing);
        else this.#leftOut(sessionKey, "the session has a conversation of its own");
        return;
      }
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

  async #import(sessionKey: string, thread: string, messages: AgentMessage[]): Promise<void> {
    const { runtime, cwd } = this.#options;
    const importAs = (nativeId: string): Promise<unknown> =>
      this.#store.import({ runtime, nativeId, cwd, messages }, { sessionKey });
    try {
      await importAs(thread === "" ? sessionKey : thread);
    } catch (error) {
      // It was taken over before, into another session or one that has been renewed since.
      if (toPagurusError(error).code !== "session_exists") throw error;
      await importAs(`${thread}-${Date.now().toString(36)}`);
    }
  }

  /** What the program's conversation holds behind what the session knows of it; undefined where it knows nothing. */
  async #missing(sessionKey: string, messages: readonly AgentMessage[]): Promise<AgentMessage[] | undefined> {
    const known = new Set<string>();
    const reader = this.#store.openReader(sessionKey);
    try {
      for await (const entry of reader.cursor.backward()) {
        if (entry.type === "message") for (const key of keysOf(entry.message)) known.add(key);
        if (known.size > MOST_KNOWN) break;
      }
    } finally {
      reader.close();
    }
    const isKnown = (message: AgentMessage | undefined): boolean =>
      message === undefined || keysOf(message).every((key) => known.has(key));
    // Two that follow each other: the same few words are said in many conversations.
    const last = messages.findLastIndex((message, at) => isKnown(message) && isKnown(messages[at - 1]));
    return last < 0 ? undefined : messages.slice(last + 1);
  }

  /** What was said while nobody followed the program. Throws `session_locked`. */
  #append(sessionKey: string, messages: readonly AgentMessage[]): void {
    if (messages.length === 0) return;
    const { runtime, cwd, logger } = this.#options;
    const writer = this.#store.openWriter(sessionKey, { cwd, create: false, deadlineMs: LOCK_WAIT_MS });
    try {
      for (const message of messages)
        writer.append({ type: "message", message: { timestamp: Date.now(), ...message } });
    } finally {
      writer.close();
    }
    logger.info("wrapped program's conversation caught up with", {
      runtime,
      sessionKey,
      count: messages.length,
    });
  }

  #leftOut(sessionKey: string, why: string): void {
    this.#options.logger.warn("wrapped program's older conversation left out", {
      runtime: this.#options.runtime,
      sessionKey,
    });
    this.#options.tell(
      `What the program's conversation held before is not in the session ${sessionKey}, and the model did not see it: ${why.replace(/\.$/, "")}. Name a new session with --session to take it over.`,
    );
  }
}

/** What a message says, in pieces that stay the same wherever it is read. */
function keysOf(message: AgentMessage): string[] {
  if (message.role === "toolResult") return [`result ${message.toolCallId}`];
  if (message.role === "user") return [`user ${userKey(message)}`];
  const words = assistantWords(message);
  return [...(words === "" ? [] : [`answer ${words}`]), ...callIds(message).map((id) => `call ${id}`)];
}

/** The end of it: ids begin with the time, and two of the same minute would be one. */
function shortOf(thread: string): string {
  return thread.replaceAll(/[^\w]/g, "").slice(-SHORT_ID);
}
