/**
 * Telegram, by the Bot API. Messages are polled (`getUpdates`), so no address of this host has to be public: Telegram keeps an update for a
 * day until the next request names a later one, which is sent when the host has written it. What is sent has no id of ours there.
 */
import { defined } from "@pagurus/core/data/defined";
import { SYSTEM_CLOCK, type Clock } from "@pagurus/core/data/clock";
import type { ChannelParts } from "../channel-parts.ts";
import { TelegramAdapter, type TelegramMessage, type TelegramUpdate } from "@chat-adapter/telegram";
import type { ChannelConfig } from "@pagurus/core/config/config-types";
import type {
  Attachment,
  Channel,
  ChannelCapabilities,
  ChannelPort,
  IncomingMessage,
  OutgoingMessage,
} from "@pagurus/contract/channel/channel";
import { channelFailure } from "../channel-failure.ts";
import { errorText } from "@pagurus/core/data/error-text";
import { ChatConnection, type ChatService } from "./chat-connection.ts";
import { silent } from "./chat-failure.ts";
import { ChatPlace } from "./chat-place.ts";
import { addressOf, secretOf, type Env } from "./chat-settings.ts";

/** Longest text of one message, UTF-16 units. */
const MOST_CHARS = 4_096;
/** How long a request waits for a message, s. */
const POLL_S = 25;
/** Telegram forgets what was not fetched within this time, ms. */
const KEPT_MS = 24 * 60 * 60_000;
/** Interval at which the time of the connection is kept where nothing arrives, ms. */
const IDLE_SEEN_MS = 10 * 60_000;
/** Largest file that a bot can fetch and the host takes, bytes. */
const MOST_FILE_BYTES = 12 * 2 ** 20;
/** Largest file that a bot can send, bytes. */
const MOST_SENT_BYTES = 50 * 2 ** 20;

/** The adapter's requests and parser, without its own polling, which confirms before anything is on a disk. */
class BotApi extends TelegramAdapter {
  constructor(url: string, token: string) {
    // The name is that of the account: an explicit one would also come from the environment.
    super({ apiUrl: url, botToken: token, mode: "polling", mentionOnReply: true, logger: silent });
  }

  /** Throws the adapter's error for a wrong token or a service that is not there. */
  async login(): Promise<void> {
    await this.ensureBotIdentity();
  }

  /** Id of a message as `postMessage` returns it. */
  messageRef(chatId: string, messageId: number): string {
    return this.encodeMessageId(chatId, messageId);
  }

  /** Updates from a number on; a negative number counts from the end. */
  updates(offset: number | undefined, seconds: number, signal: AbortSignal): Promise<TelegramUpdate[]> {
    const parts = { timeout: seconds, allowed_updates: ["message"] };
    return this.telegramFetch("getUpdates", offset === undefined ? parts : { ...parts, offset }, { signal });
  }
}

/** Throws `config_invalid`, `credential_missing`. */
export function createTelegramChannel(
  id: string,
  config: ChannelConfig,
  env: Env,
  { clock = SYSTEM_CLOCK }: ChannelParts = {},
): Channel {
  const token = secretOf(id, config, "token", env);
  const url = addressOf(id, config, "https://api.telegram.org");
  return {
    id,
    kind: "telegram",
    sendsFiles: true,
    maxChars: MOST_CHARS,
    connect: (port, signal) => connect(new Telegram(id, new BotApi(url, token), clock), port, signal),
  };
}

async function connect(service: Telegram, port: ChannelPort, signal: AbortSignal): Promise<ChatConnection> {
  const { id, api } = service;
  const place = new ChatPlace(port.cursor);
  try {
    await api.login();
    if (place.seenBefore === undefined) {
      const [newest] = await api.updates(-1, 0, signal);
      place.at = newest && newest.update_id + 1;
    } else if (Date.now() - place.seenBefore > KEPT_MS)
      port.missed(
        `Not connected since ${new Date(place.seenBefore).toISOString()}: Telegram keeps messages for 24 hours, so older ones did not arrive.`,
      );
    const connection = new ChatConnection(service, port, place, signal);
    if (!connection.signal.aborted) await connection.receive(undefined);
    void poll(api, connection);
    return connection;
  } catch (error) {
    throw channelFailure(id, "cannot log in at Telegram", error);
  }
}

/** Until the connection ends. Never rejects. */
async function poll(api: BotApi, connection: ChatConnection): Promise<void> {
  const { signal, place } = connection;
  try {
    while (!signal.aborted) {
      for (const update of await api.updates(place.at, POLL_S, signal))
        await connection.receive(messageOf(api, connection.place, update.message), update.update_id + 1);
      if (Date.now() - place.writtenAt > IDLE_SEEN_MS) await connection.receive(undefined);
    }
  } catch (error) {
    connection.end(errorText(error));
  }
}

/** Undefined for what no person wrote. */
function messageOf(
  api: BotApi,
  place: ChatPlace,
  raw: TelegramMessage | undefined,
): IncomingMessage | undefined {
  // Channels and anonymous members are no persons, and bots that answer bots never end.
  if (!raw?.from || raw.from.is_bot) return undefined;
  const { id, text, author, isMention = false, attachments } = api.parseMessage(raw);
  const files = attachments.filter(({ size = 0, fetchData }) => fetchData && size <= MOST_FILE_BYTES);
  const fetchAttachments = (): Promise<Attachment[]> =>
    Promise.all(
      files.map(async ({ name, mimeType = "application/octet-stream", type, fetchData }) => ({
        name: name ?? type,
        mimeType,
        bytes: new Uint8Array((await fetchData?.()) ?? []),
      })),
    );
  const isGroup = raw.chat.type !== "private";
  const topic = topicOf(raw);
  return {
    id,
    from: author.userId,
    name: author.fullName,
    text: withoutAddress(text, api.userName),
    writtenAt: raw.date * 1_000,
    ...(isGroup && { group: String(raw.chat.id), isMention }),
    ...relationOf(api, place, raw),
    // In a direct chat only the answer is in the topic: the conversation is that with its person.
    ...(isGroup && topic !== undefined && { thread: topic }),
    ...defined({ reply: topic }),
    ...(files.length > 0 && { fetchAttachments }),
  };
}

/** Which message it replies to, and whether its words are of now. */
function relationOf(
  api: BotApi,
  place: ChatPlace,
  raw: TelegramMessage & { forward_origin?: unknown; forward_date?: unknown },
): Pick<IncomingMessage, "replyTo" | "form"> {
  const { reply_to_message: answered, message_thread_id: topic, edit_date: edited } = raw;
  const isForwarded = raw.forward_origin !== undefined || raw.forward_date !== undefined;
  // Each message of a topic refers to the one that began it.
  const isReply = answered !== undefined && answered.message_id !== topic;
  const ref = isReply ? api.messageRef(String(raw.chat.id), answered.message_id) : "";
  return {
    ...(isReply && { replyTo: place.idOf(ref) ?? ref }),
    ...(isForwarded
      ? { form: "forwarded" as const }
      : edited !== undefined && { form: "correction" as const }),
  };
}

/** Replies of a group without topics have a thread of their own, too, which people do not see as one. */
function topicOf(raw: TelegramMessage & { is_topic_message?: boolean }): string | undefined {
  const { message_thread_id: topic, is_topic_message: isTopic } = raw;
  return isTopic === true && topic !== undefined ? String(topic) : undefined;
}

/** "@crab_bot what is this" is "what is this", and `/stop@crab_bot` is `/stop`. */
function withoutAddress(text: string, name: string): string {
  const own = name.replaceAll(/[^\w]/g, "");
  return text
    .replace(new RegExp(`^\\s*@${own}[:,]?\\s+`, "i"), "")
    .replace(new RegExp(`^(/\\w+)@${own}(?!\\w)`, "i"), "$1");
}

class Telegram implements ChatService {
  readonly id: string;
  readonly capabilities: ChannelCapabilities = {
    inbound: "exactly-once",
    outbound: "at-least-once",
    maxChars: MOST_CHARS,
    maxFileBytes: MOST_SENT_BYTES,
    edits: true,
  };
  readonly clock: Clock;
  readonly api: BotApi;

  constructor(id: string, api: BotApi, clock: Clock) {
    this.id = id;
    this.api = api;
    this.clock = clock;
  }

  async post({ to, text, attachment, reply }: OutgoingMessage): Promise<string> {
    const files = attachment && [
      { filename: attachment.name, mimeType: attachment.mimeType, data: Buffer.from(attachment.bytes) },
    ];
    const message = { raw: text, ...defined({ files }) };
    return (await this.api.postMessage(this.#thread(to, reply), message)).id;
  }

  async edit(ref: string, { to, text }: OutgoingMessage): Promise<void> {
    try {
      await this.api.editMessage(this.#thread(to), ref, { raw: text });
    } catch (error) {
      // An attempt before this one has arrived.
      if (!errorText(error).includes("message is not modified")) throw error;
    }
  }

  typing(to: string, topic?: string): Promise<void> {
    return this.api.startTyping(this.#thread(to, topic));
  }

  #thread(chatId: string, topic?: string): string {
    return this.api.encodeThreadId({
      chatId,
      ...(topic !== undefined && { messageThreadId: Number(topic) }),
    });
  }
}
