/** Requests of the Chat SDK's adapter of Discord, with its parser, without its gateway and its queue. */
import { createHash } from "node:crypto";
import { DiscordAdapter } from "@chat-adapter/discord";
import type { Attachment } from "@pagurus/contract/channel/channel";
import { fieldOf, recordOf, recordsOf, stringOf } from "@pagurus/core/data/record-fields";
import { withDeadline } from "@pagurus/core/platform/deadline";
import { channelFailure } from "../channel-failure.ts";
import { silent } from "./chat-failure.ts";

const REQUEST_MS = 30_000;
/** Messages of one page. */
const PAGE = 100;
/** Discord's ids count ms since then. */
const EPOCH_MS = 1_420_070_400_000;
const TIME_BITS = 22n;
/** Discord takes up to 25 characters. */
const NONCE_CHARS = 24;
/** Types of channels that are threads. */
const THREADS: readonly unknown[] = [10, 11, 12];
/** Where files of messages are. */
const FILE_HOSTS: readonly string[] = ["cdn.discordapp.com", "media.discordapp.net"];
const NAMELESS = "0".repeat(64);

/** Where a message was written. */
export interface DiscordChat {
  /** The channel that it is in, or that its thread is in; undefined in a direct chat. */
  group?: string;
  thread?: string;
}

/** A message as Discord has it. */
export type RawMessage = Record<string, unknown>;

/** When something was made, by its id; ms since the epoch. */
export function timeOf(id: string): number {
  return Number(BigInt(id) >> TIME_BITS) + EPOCH_MS;
}

/** The least id of that time. */
function idAt(at: number): string {
  return String(BigInt(Math.max(0, Math.floor(at) - EPOCH_MS)) << TIME_BITS);
}

/** What the service answered, as an error of the adapters. */
export interface DiscordFailure {
  status: number | undefined;
  /** How long it asks to wait, s. */
  retryAfter: number | undefined;
}

export function failureOf(error: unknown): DiscordFailure {
  const status = fieldOf(fieldOf(error, "originalError"), "status");
  const text = error instanceof Error ? error.message : "";
  const wait = /"retry_after": ?([\d.]+)/.exec(text)?.[1];
  return {
    status: typeof status === "number" ? status : undefined,
    retryAfter: wait === undefined ? undefined : Number(wait),
  };
}

/** What was read before, or is read now; a failure is not kept. */
function readOnce<T>(known: Map<string, Promise<T>>, id: string, read: () => Promise<T>): Promise<T> {
  const found = known.get(id);
  if (found) return found;
  const reading = read();
  known.set(id, reading);
  reading.catch(() => known.delete(id));
  return reading;
}

export class DiscordRequests extends DiscordAdapter {
  readonly #id: string;
  readonly #chats = new Map<string, Promise<DiscordChat>>();
  readonly #direct = new Map<string, Promise<string>>();

  constructor(id: string, url: string, token: string) {
    // What is not named here would come from the environment.
    super({
      apiUrl: url,
      botToken: token,
      applicationId: "0",
      publicKey: NAMELESS,
      mentionRoleIds: [],
      respondToChannelIds: [],
      logger: silent,
    });
    this.#id = id;
  }

  /** Address of the gateway. Throws the adapter's error for a wrong token or a service that is not there. */
  async gatewayUrl(): Promise<string> {
    return stringOf(fieldOf(await this.#json("/gateway/bot", "GET"), "url")).replace(/\/$/, "");
  }

  /** Messages of a channel that were written since a time (ms since the epoch), oldest first. */
  async *since(channelId: string, at: number): AsyncGenerator<RawMessage> {
    for (let after = idAt(at); ;) {
      const found = await this.#json(`/channels/${channelId}/messages?limit=${PAGE}&after=${after}`, "GET");
      const page = recordsOf(found).toReversed();
      for (const raw of page) yield { ...raw };
      if (page.length < PAGE) return;
      after = stringOf(page.at(-1)?.["id"]);
    }
  }

  /** Throws the adapter's error where the bot does not see the channel. */
  chatOf(channelId: string): Promise<DiscordChat> {
    return readOnce(this.#chats, channelId, () => this.#readChat(channelId));
  }

  async #readChat(channelId: string): Promise<DiscordChat> {
    const channel = recordOf(await this.#json(`/channels/${channelId}`, "GET"));
    if (channel["guild_id"] === undefined) return {};
    if (!THREADS.includes(channel["type"])) return { group: channelId };
    return { group: stringOf(channel["parent_id"]), thread: channelId };
  }

  /** The threads of a channel in which something was written lately. */
  async threadsIn(channelId: string): Promise<string[]> {
    const guild = stringOf(fieldOf(await this.#json(`/channels/${channelId}`, "GET"), "guild_id"));
    if (guild === "") return [];
    const active = fieldOf(await this.#json(`/guilds/${guild}/threads/active`, "GET"), "threads");
    return recordsOf(active)
      .filter(({ parent_id: parent }) => parent === channelId)
      .map(({ id }) => stringOf(id));
  }

  /** The direct chat with a person; made where there is none. */
  direct(userId: string): Promise<string> {
    return readOnce(
      this.#direct,
      userId,
      async () => this.decodeThreadId(await this.openDM(userId)).channelId,
    );
  }

  /** Posts a message, once also where it is tried again within some minutes. Returns its id. */
  async post(channelId: string, id: string, text: string, file?: Attachment): Promise<string> {
    const nonce = createHash("sha256").update(id).digest("hex").slice(0, NONCE_CHARS);
    const body = { content: text, nonce, enforce_nonce: true, allowed_mentions: { parse: [] } };
    const path = `/channels/${channelId}/messages`;
    return stringOf(
      fieldOf(file ? await this.#upload(path, body, file) : await this.#json(path, "POST", body), "id"),
    );
  }

  async replace(channelId: string, messageId: string, text: string): Promise<void> {
    const body = { content: text, allowed_mentions: { parse: [] } };
    await this.#json(`/channels/${channelId}/messages/${messageId}`, "PATCH", body);
  }

  /** The adapter's requests with files go to a fixed address. */
  async #upload(path: string, body: object, { name, mimeType, bytes }: Attachment): Promise<unknown> {
    const form = new FormData();
    form.append("payload_json", JSON.stringify(body));
    form.append("files[0]", new Blob([new Uint8Array(bytes)], { type: mimeType }), name);
    const response = await fetch(`${this.apiBaseUrl}${path}`, {
      method: "POST",
      headers: { authorization: `Bot ${await this.resolveBotToken()}` },
      body: form,
      signal: AbortSignal.timeout(REQUEST_MS),
    });
    if (response.ok) return await response.json();
    const text = (await response.text()).slice(0, 500);
    const failure = channelFailure(this.#id, "could not send a file", `${response.status} ${text}`);
    throw Object.assign(failure, { originalError: { status: response.status } });
  }

  async type(channelId: string): Promise<void> {
    await this.discordFetch(`/channels/${channelId}/typing`, "POST");
  }

  /** A file of a message, from the places where Discord keeps them. */
  async file(address: string): Promise<Uint8Array> {
    const url = new URL(address);
    const isTheirs = url.protocol === "https:" && FILE_HOSTS.includes(url.hostname);
    if (!isTheirs && url.origin !== new URL(this.apiBaseUrl).origin)
      throw channelFailure(this.#id, "does not fetch a file", "it is not at an address of Discord");
    const response = await fetch(url, { redirect: "error", signal: AbortSignal.timeout(REQUEST_MS) });
    if (!response.ok) throw channelFailure(this.#id, "could not fetch a file", `status ${response.status}`);
    return new Uint8Array(await response.arrayBuffer());
  }

  async #json(path: string, method: string, body?: object): Promise<unknown> {
    return withDeadline(async () => (await this.discordFetch(path, method, body)).json(), {
      ms: REQUEST_MS,
      label: "A request to Discord",
    });
  }
}
