/** The channels of the configuration: connects them, answers their work, and asks their people the permission questions. */
import type { PagurusConfig } from "@pagurus/core/config/config-types";
import { toPagurusError } from "@pagurus/contract/errors";
import type { Pagurus } from "@pagurus/contract/host/host";
import { SYSTEM_CLOCK, type Clock } from "@pagurus/core/data/clock";
import type { Database } from "@pagurus/core/data/sqlite";
import type { Approvals } from "@pagurus/inbox/approvals";
import type { Dispatcher } from "@pagurus/inbox/dispatcher";
import type { EventLog } from "@pagurus/inbox/event-log";
import type { Inbox } from "@pagurus/inbox/inbox";
import type { Work } from "@pagurus/inbox/work";
import type { Logger } from "@pagurus/core/platform/log";
import { ChannelLink } from "./channel-link.ts";
import { ChannelEvents } from "./channel-events.ts";
import { channelSettings } from "./channel-settings.ts";
import { ChannelStore, type AnswerPart, type Place } from "./channel-store.ts";
import { createChannel, type Env } from "./create-channel.ts";
import { Incoming } from "./incoming.ts";
import { GroupLines } from "./group-lines.ts";
import { folderOf, handedFiles, handsOver } from "./handed-files.ts";
import type { WebhookRoutes } from "./webhook/webhook-routes.ts";
import { answerOf, splitText } from "./turn-answer.ts";
import { defined } from "@pagurus/core/data/defined";

/** Longest part of an answer where the channel does not say, characters. */
const MOST_CHARS = 4_000;
/** Pause before answers that could not be written are tried again, ms. */
const RETRY_MS = 2_000;

type ChannelConfigs = NonNullable<PagurusConfig["channels"]>;

export interface ChannelHostOptions {
  config: PagurusConfig;
  db: Database;
  inbox: Inbox;
  events: EventLog;
  approvals: Approvals;
  dispatcher: Dispatcher;
  pagurus: Pagurus;
  logger: Logger;
  env: Env;
  /** Where webhooks arrive. */
  webhooks: WebhookRoutes;
  /** Folder of turns without a workspace of their own. */
  cwd: string;
  /** Default: the machine's. */
  clock?: Clock;
}

export class ChannelHost {
  readonly #options: ChannelHostOptions;
  readonly #clock: Clock;
  readonly #store: ChannelStore;
  readonly #events: ChannelEvents;
  readonly #links = new Map<string, ChannelLink>();
  readonly #stopping = new AbortController();
  #following: Promise<void> | undefined;
  #answering: Promise<void> = Promise.resolve();
  /** Open questions may be of work whose place was not known when they were asked. */
  #isAskedLate = false;
  /** The next look at answers that could not be queued. */
  #retry: (() => void) | undefined;
  /** Work whose answer could not be read, and whose channel's log has it. */
  readonly #unread = new Set<string>();

  private constructor(options: ChannelHostOptions) {
    this.#options = options;
    this.#clock = options.clock ?? SYSTEM_CLOCK;
    this.#store = new ChannelStore(options.db);
    this.#events = new ChannelEvents(options.db);
  }

  /** Starts the configured channels; undefined where there is none. A channel that cannot be used says so in its state. */
  static async start(options: ChannelHostOptions): Promise<ChannelHost | undefined> {
    const channels = Object.entries(options.config.channels ?? {}).filter(
      ([, { enabled }]) => enabled !== false,
    );
    if (channels.length === 0) return undefined;
    const host = new ChannelHost(options);
    for (const [id, config] of channels) await host.#add(id, config);
    await host.#begin();
    return host;
  }

  async #add(id: string, config: ChannelConfigs[string]): Promise<void> {
    const { env, cwd, logger, pagurus, webhooks } = this.#options;
    const clock = this.#clock;
    try {
      const channel = await createChannel(id, config, {
        env,
        webhooks,
        clock,
        kinds: pagurus.plugins.channels(),
      });
      const queued = (name: string): void => this.#links.get(name)?.outgoing.wake();
      const sendsFiles = channel.sendsFiles === true;
      const lines = new GroupLines(this.#options.db);
      const promise = (): string | undefined => this.#store.state(id)?.state;
      const refused = (why: string): void => this.#events.note(id, "refused", why);
      const addedLate = (): void => {
        this.#isAskedLate = true;
        this.#answerEnded();
      };
      const calls = { queued, refused, addedLate, promise };
      const parts = { ...this.#options, ...calls, store: this.#store, lines, sendsFiles };
      const incoming = new Incoming(parts, channelSettings(id, config, cwd));
      this.#links.set(
        id,
        new ChannelLink({ channel, store: this.#store, events: this.#events, incoming, logger, clock }),
      );
    } catch (error) {
      const { code, message } = toPagurusError(error);
      logger.error("channel not started", { channel: id, code });
      this.#store.setState(id, message);
    }
  }

  async #begin(): Promise<void> {
    const from = await this.#options.events.newest();
    await this.#askOpen();
    this.#answerEnded();
    this.#following = this.#follow(from);
    for (const link of this.#links.values()) link.start();
  }

  async #follow(from: number): Promise<void> {
    const { events } = this.#options;
    for await (const { type, workId, data } of events.follow(from, {}, this.#stopping.signal)) {
      this.#grow(type, workId, data);
      if (type === "work.ended") this.#answerEnded();
      if (type === "approval.asked") {
        const { id, summary } = data as { id: string; summary: string };
        this.#ask(workId, id, summary);
      }
    }
  }

  /** Shows that an answer is being written, and what there is of it. */
  #grow(type: string, workId: string, data: object): void {
    if (type === "work.started" || type === "work.resumed" || type === "work.ended") {
      const place = this.#store.placeOf(workId);
      const outgoing = place && this.#links.get(place.channel)?.outgoing;
      if (!place || !outgoing) return;
      outgoing.typing(place, type !== "work.ended");
      if (type === "work.ended") outgoing.drafts.end(workId);
      // What an earlier process showed has words that this one does not get again; the answer replaces it.
      // A plugin that may change an answer sees it first.
      else if (!this.#store.drafts.find(workId) && !this.#options.pagurus.plugins.isDeliveryWatched())
        outgoing.drafts.begin(workId, place);
      return;
    }
    for (const { outgoing } of this.#links.values()) outgoing.drafts.event(workId, type, data);
  }

  async #askLate(): Promise<void> {
    if (!this.#isAskedLate) return;
    this.#isAskedLate = false;
    try {
      await this.#askOpen();
    } catch (error) {
      this.#isAskedLate = true;
      throw error;
    }
  }

  /** What is queued already is not asked again. */
  async #askOpen(): Promise<void> {
    for (const { id, workId, question } of await this.#options.approvals.open())
      this.#ask(workId, id, question.summary);
  }

  #ask(workId: string, id: string, summary: string): void {
    const place = this.#store.placeOf(workId);
    if (!place) return;
    const link = this.#links.get(place.channel);
    this.#store.ask({ id, summary }, place, Math.min(link?.maxChars ?? MOST_CHARS, MOST_CHARS));
    link?.outgoing.wake();
  }

  /** One after another, since each look finds all that has ended. */
  #answerEnded(): void {
    this.#answering = this.#answering
      .then(() => this.#answerAll())
      .catch((error: unknown) => {
        this.#options.logger.error("answers of channels not queued", { code: toPagurusError(error).code });
        this.#retryLater();
      });
  }

  #retryLater(): void {
    if (this.#retry || this.#stopping.signal.aborted) return;
    const again = (): void => {
      this.#retry = undefined;
      this.#answerEnded();
    };
    this.#retry = this.#clock.after(RETRY_MS, again, { ref: false });
  }

  /** Throws where the inbox or the channels' records cannot be used. */
  async #answerAll(): Promise<void> {
    await this.#askLate();
    for (const { workId, place } of this.#store.unanswered()) {
      if (this.#stopping.signal.aborted) return;
      const work = await this.#options.inbox.find(workId);
      // Its session was deleted: there is nothing to answer.
      if (!work) this.#store.answer(workId, place, []);
      if (work?.state === "ended") await this.#answer(work, place);
    }
  }

  /** An answer that cannot be read now is read again later, and keeps no other one back. */
  async #answer(work: Work, place: Place): Promise<void> {
    const link = this.#links.get(place.channel);
    const parts = await this.#partsOf(work, place, link).catch((error: unknown) => {
      const { code, message } = toPagurusError(error);
      this.#noteUnread(work, place, { code, message });
      // Without its agent it can never be read.
      return code === "config_invalid"
        ? partsOfText(`That failed: ${work.error?.message ?? message}`, link)
        : undefined;
    });
    if (!parts) return this.#retryLater();
    this.#store.answer(work.id, place, parts);
    this.#unread.delete(work.id);
    link?.outgoing.wake();
  }

  #noteUnread({ id }: Work, { channel }: Place, { code, message }: { code: string; message: string }): void {
    if (this.#unread.has(id)) return;
    this.#options.logger.error("answer of a channel not read", { channel, work: id, code });
    this.#events.note(channel, "lost", `the answer of the work ${id} cannot be read: ${message}`);
    this.#unread.add(id);
  }

  /** The text in messages of a size that people read, then the files; none of what a plugin holds back. Throws what reading the session throws. */
  async #partsOf(work: Work, place: Place, link: ChannelLink | undefined): Promise<AnswerPart[]> {
    const { config, env, cwd, events, pagurus } = this.#options;
    const { agentId } = work;
    const answer = await answerOf(pagurus.sessions(agentId), events, work);
    const from = { config, env, agentId, cwd: folderOf(work, cwd) };
    const { text, files } = handsOver(work) ? await handedFiles(answer, from) : { text: answer, files: [] };
    const delivered = await this.#delivered(text, work, place);
    if (delivered === undefined) return [];
    const parts = partsOfText(delivered, link);
    const last = parts.at(-1);
    const joined = link?.joinsFile === true && last ? files.shift() : undefined;
    if (last && joined) last.attachment = joined;
    return [...parts, ...files.map((attachment) => ({ text: "", attachment }))];
  }

  /** The text that plugins let pass; undefined where one holds the answer back, which the channel's log says. */
  async #delivered(text: string, work: Work, place: Place): Promise<string | undefined> {
    const { plugins } = this.#options.pagurus;
    if (!plugins.isDeliveryWatched()) return text;
    const { id: turnId, sessionKey, agentId } = work;
    const { channel, address: to, thread } = place;
    const answer = { channel, to, content: text, ...defined({ thread }) };
    const passed = await plugins.deliver(answer, { sessionKey, agentId, turnId });
    if ("content" in passed) return passed.content;
    this.#events.note(channel, "held", `the answer of the work ${turnId} was not sent: ${passed.cancelled}`);
    return undefined;
  }

  prune(before: number): void {
    this.#store.prune(before);
  }

  /** Ends the connections; what is queued is sent after the next start. */
  async stop(): Promise<void> {
    await Promise.all([...this.#links.values()].map((link) => link.stop()));
    this.#stopping.abort();
    this.#retry?.();
    await this.#following;
    await this.#answering;
  }
}

function partsOfText(text: string, link: ChannelLink | undefined): AnswerPart[] {
  return splitText(text, link?.maxChars ?? MOST_CHARS).map((part) => ({ text: part }));
}
