/**
 * Discord, by its gateway and its REST interface. The gateway reports messages while it is open; what was written meanwhile is read from the
 * channels, each message once by its id. A message that is posted again within some minutes is the same one there (`nonce`).
 */
import { SYSTEM_CLOCK, type Clock } from "@pagurus/core/data/clock";
import type { ChannelParts } from "../channel-parts.ts";
import type { ChannelConfig } from "@pagurus/core/config/config-types";
import type {
  Attachment,
  Channel,
  ChannelCapabilities,
  ChannelPort,
  IncomingMessage,
  OutgoingMessage,
} from "@pagurus/contract/channel/channel";
import { fieldOf, recordOf, recordsOf, stringOf } from "@pagurus/core/data/record-fields";
import { channelFailure, channelRefusal } from "../channel-failure.ts";
import { errorText } from "@pagurus/core/data/error-text";
import { ChatConnection, type ChatService } from "./chat-connection.ts";
import { limitError } from "./chat-failure.ts";
import { ChatPlace } from "./chat-place.ts";
import { addressOf, secretOf, type Env } from "./chat-settings.ts";
import { DiscordGateway, sessionIn } from "./discord-gateway.ts";
import { DiscordRequests, failureOf, timeOf, type DiscordChat, type RawMessage } from "./discord-requests.ts";

/** Longest text of one message, characters. */
const MOST_CHARS = 2_000;
/** Largest file that the host takes, and that a bot can send, bytes. */
const MOST_FILE_BYTES = 12 * 2 ** 20;
const MOST_SENT_BYTES = 10 * 2 ** 20;
/** How far Discord's clock may be from ours, and how late a message may be in the list of its channel, ms. */
const CLOCK_SLACK_MS = 60_000;
/** Longest time whose messages are read after an absence, ms. */
const OLDEST_MS = 7 * 24 * 60 * 60_000;
/** Messages that people write; others are notes of the service. */
const WRITTEN: readonly unknown[] = [0, 19];
/** Statuses that a repeat does not change: 401 is a token that is not valid any more, which a new login reports. */
const REFUSALS: readonly unknown[] = [400, 403, 404, 413];
const LIMITED = 429;

interface Settings {
  id: string;
  token: string;
  /** Ids of the channels where it is spoken to. */
  groups: readonly string[];
  /** Ids of people whose direct chats are read after an absence, beside those who have written before. */
  people: readonly string[];
  clock: Clock;
}

/** Throws `config_invalid`, `credential_missing`. */
export function createDiscordChannel(
  id: string,
  config: ChannelConfig,
  env: Env,
  { clock = SYSTEM_CLOCK }: ChannelParts = {},
): Channel {
  const token = secretOf(id, config, "token", env);
  const url = addressOf(id, config, "https://discord.com/api/v10");
  const people = (config.allow ?? []).filter((address) => /^\d+$/.test(address));
  const settings = { id, token, groups: Object.keys(config.groups ?? {}), people, clock };
  return {
    id,
    kind: "discord",
    sendsFiles: true,
    joinsFile: true,
    maxChars: MOST_CHARS,
    connect: (port, signal) => connect(settings, new DiscordRequests(id, url, token), port, signal),
  };
}

async function connect(
  settings: Settings,
  api: DiscordRequests,
  port: ChannelPort,
  signal: AbortSignal,
): Promise<ChatConnection> {
  const { id, token } = settings;
  const place = new ChatPlace(port.cursor);
  try {
    const url = await api.gatewayUrl();
    const { gateway, isContinued } = await DiscordGateway.open(url, token, sessionIn(place.session));
    const connection = new ChatConnection(new Discord(settings, api), port, place, signal);
    void gateway.ended.then((reason) => connection.end(reason));
    const stop = (): void => gateway.close("it was closed");
    if (connection.signal.aborted) stop();
    connection.signal.addEventListener("abort", stop, { once: true });
    const follower = new Follower(settings, api, { connection, gateway, isContinued, port });
    await follower.begin();
    void follower.follow();
    return connection;
  } catch (error) {
    throw channelFailure(id, "cannot log in at Discord", error);
  }
}

interface Followed {
  connection: ChatConnection;
  gateway: DiscordGateway;
  /** Discord reports what came since the last connection. */
  isContinued: boolean;
  port: ChannelPort;
}

/** Receives what was written while the channel was away, and then what is reported. */
class Follower {
  readonly #settings: Settings;
  readonly #api: DiscordRequests;
  readonly #followed: Followed;
  #handling: Promise<void> = Promise.resolve();

  constructor(settings: Settings, api: DiscordRequests, followed: Followed) {
    this.#settings = settings;
    this.#api = api;
    this.#followed = followed;
  }

  /** Notes what is there at the first connection, which is not for this host. Throws the errors of the requests. */
  async begin(): Promise<void> {
    const { connection } = this.#followed;
    const { place } = connection;
    if (place.seenBefore !== undefined || connection.signal.aborted) return;
    place.at = Date.now() - CLOCK_SLACK_MS;
    for (const chat of await this.#chats())
      for await (const { id } of this.#api.since(chat, place.at))
        place.take(stringOf(id), timeOf(stringOf(id)));
    await connection.receive(undefined);
  }

  /** Until the connection ends. Never rejects. */
  async follow(): Promise<void> {
    const { connection, gateway } = this.#followed;
    try {
      await this.#catchUp();
      gateway.listen({
        message: (raw, sequence) => this.#inOrder(() => this.#receive(raw, sequence)),
        seen: (at) => this.#inOrder(() => connection.receive(undefined, at - CLOCK_SLACK_MS)),
      });
    } catch (error) {
      connection.end(errorText(error));
    }
  }

  #inOrder(work: () => Promise<void>): void {
    const { connection } = this.#followed;
    this.#handling = this.#handling
      .then(() => (connection.signal.aborted ? undefined : work()))
      .catch((error: unknown) => connection.end(errorText(error)));
  }

  async #catchUp(): Promise<void> {
    const { connection, port, isContinued, gateway } = this.#followed;
    const { place, signal } = connection;
    const now = Date.now();
    const since = Math.max(place.at ?? now, now - OLDEST_MS);
    if (!isContinued && place.seenBefore !== undefined) reportAbsence(port, place.seenBefore, now);
    for (const chat of await this.#chats())
      for await (const raw of this.#api.since(chat, since)) {
        if (signal.aborted) return;
        await this.#receive(raw);
      }
    if (signal.aborted) return;
    // What a continued session reports comes after it.
    if (!isContinued) place.session = gateway.session;
    await connection.receive(undefined, now - CLOCK_SLACK_MS);
  }

  /** Channels in which something for this host may have been written. One that cannot be read is reported. */
  async #chats(): Promise<Set<string>> {
    const { groups, people } = this.#settings;
    const chats = new Set<string>(this.#followed.connection.place.chats);
    const found = await Promise.all([
      ...groups.map((group) =>
        this.#read(`the channel ${group}`, async () => [group, ...(await this.#api.threadsIn(group))]),
      ),
      ...people.map((person) =>
        this.#read(`the chat with ${person}`, async () => [await this.#api.direct(person)]),
      ),
    ]);
    for (const chat of found.flat()) chats.add(chat);
    return chats;
  }

  /** Empty, and reported, where the bot may not. */
  async #read<T>(what: string, work: () => Promise<T[]>): Promise<T[]> {
    try {
      return await work();
    } catch (error) {
      if (!REFUSALS.includes(failureOf(error).status)) throw error;
      this.#followed.port.missed(
        `Discord does not let the bot read ${what}: what is written there does not arrive.`,
      );
      return [];
    }
  }

  async #receive(raw: RawMessage, sequence?: number): Promise<void> {
    const { connection, gateway } = this.#followed;
    const { place } = connection;
    const { session } = gateway;
    const reached = session && sequence !== undefined ? { ...session, sequence } : place.session;
    const author = recordOf(raw["author"]);
    const isPerson = author["bot"] !== true && raw["webhook_id"] === undefined;
    const isNew = isPerson && WRITTEN.includes(raw["type"]) && !place.isTaken(stringOf(raw["id"]));
    const channelId = stringOf(raw["channel_id"]);
    const read = async (): Promise<DiscordChat[]> => [await this.#api.chatOf(channelId)];
    const [chat] = isNew ? await this.#read(`the channel ${channelId}`, read) : [];
    if (!chat) {
      // It is kept with the next message.
      place.session = reached;
      return;
    }
    if (chat.group === undefined) place.addChat(channelId);
    const said = messageOf(this.#api, session?.account ?? "", raw);
    const message = { ...said, ...relationOf(place, raw), ...chat, reply: channelId };
    // Until the message is on disk no other write may move the session past it.
    await connection.receive(message, undefined, timeOf(message.id), reached);
  }
}

function reportAbsence(port: ChannelPort, from: number, to: number): void {
  const span = `from ${new Date(from).toISOString()} to ${new Date(to).toISOString()}`;
  port.missed(
    `Not connected ${span}: Discord lists no direct chats, so the first message of a person who had never written did not arrive.`,
  );
  if (to - from > OLDEST_MS) port.missed("What was written more than 7 days ago is not answered.");
}

function messageOf(api: DiscordRequests, account: string, raw: RawMessage): IncomingMessage {
  const { id, author } = api.parseMessage(raw);
  const content = stringOf(raw["content"]);
  const files = recordsOf(raw["attachments"]).filter(({ size }) => Number(size) <= MOST_FILE_BYTES);
  const fetchAttachments = (): Promise<Attachment[]> =>
    Promise.all(
      files.map(async (file) => ({
        name: stringOf(file["filename"]),
        mimeType: stringOf(file["content_type"]) || "application/octet-stream",
        bytes: await api.file(stringOf(file["url"])),
      })),
    );
  const answered = fieldOf(fieldOf(raw["referenced_message"], "author"), "id");
  const isMention = recordsOf(raw["mentions"]).some((user) => user["id"] === account);
  return {
    id,
    from: author.userId,
    name: author.fullName,
    text: withoutAddress(content, account),
    isMention: isMention || answered === account,
    ...(files.length > 0 && { fetchAttachments }),
  };
}

/** Type of a `message_reference` that passes on a message of someone else. */
const FORWARD = 1;

/** Which message it replies to, and whether its words are of now. */
function relationOf(
  place: ChatPlace,
  raw: RawMessage,
): Pick<IncomingMessage, "replyTo" | "form" | "writtenAt"> {
  const reference = recordOf(raw["message_reference"]);
  const isForwarded = reference["type"] === FORWARD;
  const ref = stringOf(reference["message_id"]);
  const edited = raw["edited_timestamp"];
  return {
    writtenAt: timeOf(stringOf(raw["id"])),
    ...(ref !== "" && !isForwarded && { replyTo: place.idOf(ref) ?? ref }),
    ...(isForwarded
      ? { form: "forwarded" as const }
      : typeof edited === "string" && { form: "correction" as const }),
  };
}

/** "<@12> what is this" is "what is this". */
function withoutAddress(text: string, id: string): string {
  return text.replace(new RegExp(`^\\s*<@!?${id}>[:,]?\\s*`), "");
}

class Discord implements ChatService {
  readonly id: string;
  readonly capabilities: ChannelCapabilities = {
    inbound: "exactly-once",
    outbound: "at-least-once",
    maxChars: MOST_CHARS,
    maxFileBytes: MOST_SENT_BYTES,
    edits: true,
  };
  readonly clock: Clock;
  readonly #api: DiscordRequests;

  constructor({ id, clock }: Settings, api: DiscordRequests) {
    this.id = id;
    this.clock = clock;
    this.#api = api;
  }

  post(message: OutgoingMessage): Promise<string> {
    const { id, text, attachment } = message;
    return this.#request(async () => this.#api.post(await this.#channelOf(message), id, text, attachment));
  }

  edit(ref: string, message: OutgoingMessage): Promise<void> {
    return this.#request(async () => this.#api.replace(await this.#channelOf(message), ref, message.text));
  }

  async typing(to: string, thread: string | undefined, isGroup: boolean): Promise<void> {
    await this.#api.type(thread ?? (isGroup ? to : await this.#api.direct(to)));
  }

  async #channelOf({ to, isGroup, thread, reply }: OutgoingMessage): Promise<string> {
    return reply ?? thread ?? (isGroup ? to : this.#api.direct(to));
  }

  /** Throws `channel_refused`, and the adapter's errors; one of a limit names how long to wait. */
  async #request<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const { status, retryAfter } = failureOf(error);
      if (REFUSALS.includes(status)) throw channelRefusal(this.id, errorText(error));
      throw status === LIMITED ? limitError(errorText(error), retryAfter) : error;
    }
  }
}
