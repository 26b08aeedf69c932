/** The channels of the configuration: connects them, answers their work, and asks their people the permission questions. */
import type { PagurusConfig } from "../config/config-types.ts";
import type { Channel } from "../contract/channel/channel.ts";
import { PagurusError, toPagurusError } from "../contract/errors.ts";
import type { Pagurus } from "../contract/host/host.ts";
import type { Database } from "../data/sqlite.ts";
import type { Approvals } from "../inbox/approvals.ts";
import type { Dispatcher } from "../inbox/dispatcher.ts";
import type { EventLog } from "../inbox/event-log.ts";
import type { Inbox } from "../inbox/inbox.ts";
import type { Logger } from "../platform/log.ts";
import { ChannelLink } from "./channel-link.ts";
import { channelSettings } from "./channel-settings.ts";
import { ChannelStore, type Place } from "./channel-store.ts";
import { Incoming } from "./incoming.ts";
import { answerOf, splitText } from "./turn-answer.ts";

/** Longest part of an answer, characters. */
const MOST_CHARS = 4_000;
/** Pause before answers that could not be written are tried again, ms. */
const RETRY_MS = 2_000;

type Env = Readonly<Record<string, string | undefined>>;
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
  /** Folder of turns without a workspace of their own. */
  cwd: string;
}

/** Throws `config_invalid`, `credential_missing`. */
async function createChannel(id: string, config: ChannelConfigs[string], env: Env): Promise<Channel> {
  if (config.kind === "xmpp") {
    const { createXmppChannel } = await import("./xmpp/xmpp-channel.ts");
    return createXmppChannel(id, config, env);
  }
  throw new PagurusError(
    "config_invalid",
    `channels.${id}.kind is ${JSON.stringify(config.kind ?? null)}, which is no kind of channel that Pagurus has; use xmpp.`,
  );
}

export class ChannelHost {
  readonly #options: ChannelHostOptions;
  readonly #store: ChannelStore;
  readonly #links = new Map<string, ChannelLink>();
  readonly #stopping = new AbortController();
  #following: Promise<void> | undefined;
  #answering: Promise<void> = Promise.resolve();

  private constructor(options: ChannelHostOptions) {
    this.#options = options;
    this.#store = new ChannelStore(options.db);
  }

  /** Starts the configured channels; undefined where there is none. A channel that cannot be used says so in its state. */
  static async start(options: ChannelHostOptions): Promise<ChannelHost | undefined> {
    const channels = Object.entries(options.config.channels ?? {}).filter(
      ([, { enabled }]) => enabled !== false,
    );
    if (channels.length === 0) return undefined;
    const host = new ChannelHost(options);
    for (const [id, config] of channels) await host.#add(id, config);
    host.#begin();
    return host;
  }

  async #add(id: string, config: ChannelConfigs[string]): Promise<void> {
    const { env, cwd, logger } = this.#options;
    try {
      const channel = await createChannel(id, config, env);
      const queued = (name: string): void => this.#links.get(name)?.outgoing.wake();
      const parts = { ...this.#options, store: this.#store, queued };
      const incoming = new Incoming(parts, channelSettings(id, config, cwd));
      this.#links.set(id, new ChannelLink({ channel, store: this.#store, incoming, logger }));
    } catch (error) {
      const { code, message } = toPagurusError(error);
      logger.error("channel not started", { channel: id, code });
      this.#store.setState(id, message);
    }
  }

  #begin(): void {
    const { approvals, events } = this.#options;
    const from = events.newest;
    for (const { id, workId, question } of approvals.open()) this.#ask(workId, id, question.summary);
    this.#answerEnded();
    this.#following = this.#follow(from);
    for (const link of this.#links.values()) link.start();
  }

  async #follow(from: number): Promise<void> {
    const { events } = this.#options;
    for await (const { type, workId, data } of events.follow(from, {}, this.#stopping.signal)) {
      if (type === "work.ended") this.#answerEnded();
      if (type === "approval.asked") {
        const { id, summary } = data as { id: string; summary: string };
        this.#ask(workId, id, summary);
      }
    }
  }

  #ask(workId: string, id: string, summary: string): void {
    const place = this.#store.placeOf(workId);
    if (!place) return;
    const [question = ""] = splitText(`May I do this? ${summary}`, MOST_CHARS);
    this.#queue(`${id}-ask`, place, `${question}\n\nAnswer yes or no.`);
  }

  #queue(id: string, place: Place, text: string): void {
    this.#store.queue(id, place, text);
    this.#links.get(place.channel)?.outgoing.wake();
  }

  /** One after another, since each look finds all that has ended. */
  #answerEnded(): void {
    this.#answering = this.#answering
      .then(() => this.#answerAll())
      .catch((error: unknown) => {
        this.#options.logger.error("answers of channels not queued", { code: toPagurusError(error).code });
        if (!this.#stopping.signal.aborted) setTimeout(() => this.#answerEnded(), RETRY_MS).unref();
      });
  }

  async #answerAll(): Promise<void> {
    const { inbox, events, pagurus } = this.#options;
    for (const { workId, place } of this.#store.unanswered()) {
      const work = inbox.find(workId);
      // Its session was deleted: there is nothing to answer.
      if (!work) this.#store.answer(workId, place, []);
      if (work?.state !== "ended") continue;
      const text = await answerOf(pagurus.sessions(work.agentId), events, work);
      this.#store.answer(workId, place, splitText(text, MOST_CHARS));
      this.#links.get(place.channel)?.outgoing.wake();
    }
  }

  prune(before: number): void {
    this.#store.prune(before);
  }

  /** Ends the connections; what is queued is sent after the next start. */
  async stop(): Promise<void> {
    await Promise.all([...this.#links.values()].map((link) => link.stop()));
    this.#stopping.abort();
    await this.#following;
    await this.#answering;
  }
}
