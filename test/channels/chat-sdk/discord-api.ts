/** A server that speaks as much of Discord's REST interface and gateway as the channel uses, in the shapes that its documentation shows. */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocketServer, type WebSocket } from "ws";
import { LocalService, type Call, type Reply } from "./local-service.ts";

const BOT = { id: "7000000000000000001", username: "crab", discriminator: "0001", bot: true };
const EPOCH_MS = 1_420_070_400_000;
const HEARTBEAT_MS = 5_000;
const GUILD = "300";

export interface Person {
  id: string;
  username: string;
}

interface Channel {
  id: string;
  type: number;
  guild_id?: string;
  parent_id?: string;
  recipient?: string;
}

export interface Posted {
  id: string;
  channel_id: string;
  author: object;
  nonce?: string;
  type: number;
  content: string;
  /** Each state that it had. */
  texts: string[];
  files: { name: string; text: string }[];
  [field: string]: unknown;
}

export class DiscordApi extends LocalService {
  static readonly token = "MTIz.test-token";
  readonly posted: Posted[] = [];
  readonly typing: string[] = [];
  readonly files = new Map<string, Buffer>();
  /** Answers of the next messages that are sent, once each, before the real one. */
  readonly failing: Reply[] = [];
  /** Drops the connection of the next message that is sent, after it has been taken. */
  losesAnswer = false;
  /** Where the sessions that begin from now on are continued. */
  resumeUrl: string | undefined;
  readonly #channels = new Map<string, Channel>();
  readonly #sockets = new Set<WebSocket>();
  readonly #upgrades = new WebSocketServer({ noServer: true });
  readonly #byNonce = new Map<string, Posted>();
  readonly #events: string[] = [];
  #sessions = new Set<string>();
  #count = 0;
  #last = 0n;

  static async open(channels: readonly string[] = []): Promise<DiscordApi> {
    const made = new DiscordApi();
    for (const id of channels) made.#channels.set(id, { id, type: 0, guild_id: GUILD, parent_id: "999" });
    await made.start();
    return made;
  }

  thread(id: string, parent: string): void {
    this.#channels.set(id, { id, type: 11, guild_id: GUILD, parent_id: parent });
  }

  /** Whether a bot is logged in. */
  get isConnected(): boolean {
    return this.#sockets.size > 0;
  }

  #nextId(): string {
    const now = BigInt(Date.now() - EPOCH_MS) << 22n;
    this.#last = now > this.#last ? now : this.#last + 1n;
    return String(this.#last);
  }

  #direct(person: string): string {
    const id = `8${person}`;
    this.#channels.set(id, { id, type: 1, recipient: person });
    return id;
  }

  /** A message of a person: to the bot, or in a channel or thread. */
  say(from: Person, content: string, more: { channel?: string; [field: string]: unknown } = {}): void {
    const { channel = this.#direct(from.id), ...fields } = more;
    const mentions = [...content.matchAll(/<@!?(\d+)>/g)].map(([, id]) => ({ id }));
    const message = {
      id: this.#nextId(),
      channel_id: channel,
      author: { discriminator: "0", global_name: null, ...from },
      type: 0,
      content,
      mentions,
      attachments: [],
      timestamp: new Date().toISOString(),
      edited_timestamp: null,
      texts: [content],
      files: [],
      ...fields,
    };
    this.posted.push(message);
    this.#dispatch("MESSAGE_CREATE", { ...message, guild_id: this.#channels.get(channel)?.guild_id });
  }

  /** What the bot has written in a channel, or to a person. */
  got(channel: string): string[] {
    return this.posted
      .filter(({ channel_id: id, author }) => author === BOT && (id === channel || id === `8${channel}`))
      .map(({ texts }) => texts.at(-1) ?? "");
  }

  mention(): string {
    return `<@${BOT.id}>`;
  }

  #dispatch(type: string, content: object): void {
    const frame = JSON.stringify({ op: 0, t: type, s: this.#events.length + 1, d: content });
    this.#events.push(frame);
    for (const socket of this.#sockets) socket.send(frame);
  }

  protected override upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.#upgrades.handleUpgrade(request, socket, head, (client) => {
      client.send(JSON.stringify({ op: 10, d: { heartbeat_interval: HEARTBEAT_MS } }));
      client.on("message", (data: Buffer) =>
        this.#frame(client, JSON.parse(data.toString()) as { op: number; d: unknown }),
      );
      client.on("close", () => this.#sockets.delete(client));
    });
  }

  #frame(client: WebSocket, { op, d }: { op: number; d: unknown }): void {
    const {
      token,
      session_id: id = "",
      seq = 0,
    } = (d ?? {}) as { token?: string; session_id?: string; seq?: number };
    if (op === 1) client.send(JSON.stringify({ op: 11 }));
    if (op !== 2 && op !== 6) return;
    if (token !== DiscordApi.token) return client.close(4_004, "Authentication failed.");
    if (op === 6 && !this.#sessions.has(id)) return client.send(JSON.stringify({ op: 9, d: false }));
    this.#sockets.add(client);
    if (op === 2) return this.#ready(client);
    for (const frame of this.#events.slice(seq)) client.send(frame);
    client.send(JSON.stringify({ op: 0, t: "RESUMED", s: this.#events.length, d: {} }));
  }

  #ready(client: WebSocket): void {
    this.#count += 1;
    const session = `session-${this.#count}`;
    this.#sessions.add(session);
    const content = {
      v: 10,
      user: BOT,
      session_id: session,
      resume_gateway_url: this.resumeUrl ?? this.url.replace("http", "ws"),
    };
    client.send(JSON.stringify({ op: 0, t: "READY", s: this.#events.length, d: content }));
  }

  /** Sessions that ended cannot be continued. */
  forgetSessions(): void {
    this.#sessions = new Set();
  }

  override cut(): void {
    super.cut();
    for (const socket of this.#sockets) socket.terminate();
  }

  /** Ends the bot's socket alone. */
  disconnect(): void {
    for (const socket of this.#sockets) socket.close(4_000, "reconnect");
  }

  override async stop(): Promise<void> {
    this.forgetSessions();
    for (const socket of this.#sockets) socket.terminate();
    await super.stop();
  }

  protected override async answer({ method, path, body, headers }: Call): Promise<Reply> {
    const url = new URL(path, "http://discord.test");
    const file = /^\/files\/(.+)$/.exec(url.pathname);
    if (file) return { status: 200, body: this.files.get(file[1] ?? "") ?? Buffer.of() };
    if (headers.authorization !== `Bot ${DiscordApi.token}`) return refused(401, "401: Unauthorized", 0);
    if (url.pathname === "/gateway/bot") return ok({ url: this.url.replace("http", "ws"), shards: 1 });
    if (url.pathname === "/users/@me/channels")
      return ok({
        id: this.#direct((JSON.parse(body.toString()) as { recipient_id: string }).recipient_id),
        type: 1,
      });
    if (url.pathname === `/guilds/${GUILD}/threads/active`)
      return ok({ threads: [...this.#channels.values()].filter(({ type }) => type === 11) });
    const [, id = "", rest = ""] = /^\/channels\/(\d+)(.*)$/.exec(url.pathname) ?? [];
    const channel = this.#channels.get(id);
    if (!channel) return refused(404, "Unknown Channel", 10_003);
    if (rest === "") return ok(channel);
    if (rest === "/typing") {
      this.typing.push(id);
      return { status: 200, body: {} };
    }
    if (rest === "/messages" && method === "GET") return ok(this.#listed(id, url.searchParams));
    const failure = this.failing.shift();
    if (failure) return failure;
    const asked = await contentOf(headers["content-type"] ?? "", body);
    return rest === "/messages"
      ? this.#post(id, asked)
      : this.#replace(rest.replace("/messages/", ""), asked);
  }

  /** The newest first, as many as were asked for of those that follow an id. */
  #listed(id: string, query: URLSearchParams): object[] {
    const after = BigInt(query.get("after") ?? 0);
    return this.posted
      .filter((each) => each.channel_id === id && BigInt(each.id) > after)
      .slice(0, Number(query.get("limit")))
      .toReversed();
  }

  #post(channel: string, { content = "", nonce, files }: Content): Reply {
    if (content.length > 2_000) return refused(400, "Must be 2000 or fewer in length.", 50_035);
    if (content === "" && files.length === 0) return refused(400, "Cannot send an empty message", 50_006);
    const known = this.#byNonce.get(nonce ?? "");
    const made: Posted = known ?? {
      id: this.#nextId(),
      channel_id: channel,
      author: BOT,
      ...(nonce === undefined ? {} : { nonce }),
      type: 0,
      content,
      texts: [content],
      files,
    };
    if (!known) this.posted.push(made);
    if (nonce !== undefined) this.#byNonce.set(nonce, made);
    if (this.losesAnswer) {
      this.losesAnswer = false;
      this.cut();
    }
    return ok(made);
  }

  #replace(id: string, { content = "" }: Content): Reply {
    const found = [...this.posted, ...this.#byNonce.values()].find((each) => each.id === id);
    if (!found) return refused(404, "Unknown Message", 10_008);
    found.texts.push(content);
    return ok(found);
  }
}

interface Content {
  content?: string;
  nonce?: string;
  files: { name: string; text: string }[];
}

async function contentOf(type: string, body: Buffer): Promise<Content> {
  if (!type.startsWith("multipart/")) return { ...(JSON.parse(body.toString()) as Content), files: [] };
  const form = await new Response(new Uint8Array(body), { headers: { "content-type": type } }).formData();
  const file = form.get("files[0]") as File;
  const payload = JSON.parse(form.get("payload_json") as string) as Content;
  return { ...payload, files: [{ name: file.name, text: await file.text() }] };
}

function ok(body: unknown): Reply {
  return { status: 200, body };
}

function refused(status: number, message: string, code: number): Reply {
  return { status, body: { message, code } };
}
