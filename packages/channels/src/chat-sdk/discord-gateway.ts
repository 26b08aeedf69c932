/**
 * The socket by which Discord reports messages as they are written. After a short absence its session is resumed, and Discord reports what came
 * meanwhile; after a longer one a new session begins. A heartbeat that is answered shows that all from before it has arrived.
 */
import { setTimeout as pause } from "node:timers/promises";
import { WebSocket, type RawData } from "ws";
import { asString, fieldOf, isRecord, recordOf, stringOf } from "@pagurus/core/data/record-fields";

/** Messages of servers and of direct chats, with their texts. */
const INTENTS = 512 + 4_096 + 32_768;
const OP = {
  dispatch: 0,
  heartbeat: 1,
  identify: 2,
  resume: 6,
  reconnect: 7,
  invalid: 9,
  hello: 10,
  answered: 11,
} as const;
/** Discord asks for a pause between a refused resumption and a new session, ms. */
const REFUSED_MS = 1_000;
/** How long the login may take, ms. */
const LOGIN_MS = 30_000;
const MOST_BYTES = 16 * 2 ** 20;
/** Messages that wait for the listener. */
const MOST_WAITING = 5_000;
/** Why Discord ends a connection that would end the same way again. */
const CLOSES: Readonly<Record<number, string>> = {
  4_004: "the token is not valid",
  4_013: "the intents are not valid",
  4_014: "the bot may not read messages: turn on the Message Content Intent in the developer portal",
};

/** By which a connection is continued. */
export interface GatewaySession {
  id: string;
  /** Address at which it is continued. */
  url: string;
  /** Number of the last event that counts as received. */
  sequence: number;
  /** Id of the bot's account. */
  account: string;
}

/** The session in what a channel has kept; undefined for anything else. */
export function sessionIn(kept: unknown): GatewaySession | undefined {
  const [id, url, account] = ["id", "url", "account"].map((field) => asString(fieldOf(kept, field)));
  const sequence = fieldOf(kept, "sequence");
  if (id === undefined || url === undefined || account === undefined) return undefined;
  return typeof sequence === "number" ? { id, url, account, sequence } : undefined;
}

export interface GatewayListener {
  /** A new message, in the form of the REST interface, and the number of its event. */
  message(raw: Record<string, unknown>, sequence: number): void;
  /** What was written before this time, ms since the epoch, has arrived. */
  seen(at: number): void;
}

export class DiscordGateway {
  /** Resolves with the reason when the connection has ended. */
  readonly ended: Promise<string>;
  readonly #socket: WebSocket;
  readonly #token: string;
  /** Resolves with whether the session continues. */
  readonly #ready = Promise.withResolvers<boolean>();
  #session: GatewaySession | undefined;
  #listener: GatewayListener | undefined;
  #waiting: { raw: Record<string, unknown>; sequence: number }[] = [];
  #sequence: number | null = null;
  #beating: NodeJS.Timeout | undefined;
  /** When the last heartbeat was sent that has no answer so far, ms since the epoch. */
  #beatAt: number | undefined;
  #isReady = false;
  #isEnded = false;
  #end: (reason: string) => void = () => undefined;

  private constructor(url: string, token: string, session: GatewaySession | undefined) {
    this.#token = token;
    this.#session = session;
    this.#sequence = session?.sequence ?? null;
    this.#socket = new WebSocket(`${url}/?v=10&encoding=json`, {
      maxPayload: MOST_BYTES,
      handshakeTimeout: LOGIN_MS,
    });
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    this.#ready.promise.catch(() => undefined);
    this.#socket.on("message", (data) => this.#take(data));
    this.#socket.on("error", (error) => this.close(error.message));
    this.#socket.on("close", (code) => this.close(CLOSES[code] ?? `the connection was cut (${code})`));
  }

  /**
   * Resolves after the login, or when the session is continued; one that cannot be is given up. Throws where the login is refused or takes
   * too long.
   */
  static async open(
    url: string,
    token: string,
    session: GatewaySession | undefined,
  ): Promise<{ gateway: DiscordGateway; isContinued: boolean }> {
    const continued = session && (await DiscordGateway.#opened(url, token, session).catch(() => undefined));
    return continued ?? DiscordGateway.#opened(url, token, undefined);
  }

  static async #opened(
    url: string,
    token: string,
    session: GatewaySession | undefined,
  ): Promise<{ gateway: DiscordGateway; isContinued: boolean }> {
    const gateway = new DiscordGateway(session?.url ?? url, token, session);
    const timer = setTimeout(() => gateway.close("the login took too long"), LOGIN_MS);
    try {
      return { gateway, isContinued: await gateway.#ready.promise };
    } finally {
      clearTimeout(timer);
    }
  }

  /** Of the login; undefined before it. */
  get session(): GatewaySession | undefined {
    return this.#session;
  }

  /** Calls for what has arrived since the login, and for what arrives. */
  listen(listener: GatewayListener): void {
    for (const { raw, sequence } of this.#waiting) listener.message(raw, sequence);
    this.#waiting = [];
    this.#listener = listener;
  }

  /** Ends the connection with the reason; the first one counts. */
  close(reason: string): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    clearInterval(this.#beating);
    this.#ready.reject(new Error(reason));
    this.#end(reason);
    this.#socket.terminate();
  }

  #take(data: RawData): void {
    let frame: unknown;
    try {
      // With one frame for a message the library gives a buffer.
      frame = JSON.parse((data as Buffer).toString("utf8"));
    } catch {
      return this.close("Discord sent what is no JSON");
    }
    const { op, d: content, s: sequence, t: type } = recordOf(frame);
    if (typeof sequence === "number") this.#sequence = sequence;
    if (op === OP.hello) this.#begin(Number(fieldOf(content, "heartbeat_interval")));
    else if (op === OP.heartbeat) this.#sendBeat();
    else if (op === OP.answered) this.#answered();
    else if (op === OP.invalid && this.#session && !this.#isReady) void this.#identifyAgain();
    else if (op === OP.reconnect || op === OP.invalid) this.close("Discord asks for a new connection");
    else if (op === OP.dispatch && isRecord(content)) this.#report(type, content);
  }

  #begin(intervalMs: number): void {
    if (!(intervalMs >= 1)) return this.close("Discord named no interval of heartbeats");
    this.#beating = setInterval(() => this.#beat(), intervalMs);
    const token = this.#token;
    const session = this.#session;
    if (session) this.#send(OP.resume, { token, session_id: session.id, seq: session.sequence });
    else this.#identify();
  }

  #identify(): void {
    const properties = { os: process.platform, browser: "pagurus", device: "pagurus" };
    this.#send(OP.identify, { token: this.#token, intents: INTENTS, properties });
  }

  /** The session is too old. */
  async #identifyAgain(): Promise<void> {
    this.#session = undefined;
    this.#sequence = null;
    await pause(REFUSED_MS);
    this.#identify();
  }

  #beat(): void {
    if (this.#beatAt === undefined) this.#sendBeat();
    else this.close("Discord does not answer");
  }

  #sendBeat(): void {
    this.#beatAt ??= Date.now();
    this.#send(OP.heartbeat, this.#sequence);
  }

  #answered(): void {
    const at = this.#beatAt;
    this.#beatAt = undefined;
    if (at !== undefined) this.#listener?.seen(at);
  }

  #report(type: unknown, content: Record<string, unknown>): void {
    const sequence = this.#sequence ?? 0;
    if (type === "READY") {
      const account = stringOf(recordOf(content["user"])["id"]);
      const url = stringOf(content["resume_gateway_url"]).replace(/\/$/, "");
      this.#session = { id: stringOf(content["session_id"]), url, sequence, account };
      this.#loggedIn(false);
    } else if (type === "RESUMED") {
      this.#loggedIn(true);
    } else if (type === "MESSAGE_CREATE") {
      if (this.#listener) this.#listener.message(content, sequence);
      else if (this.#waiting.length < MOST_WAITING) this.#waiting.push({ raw: content, sequence });
      else this.close("more messages came at once than can wait");
    }
  }

  #loggedIn(isContinued: boolean): void {
    this.#isReady = true;
    this.#ready.resolve(isContinued);
  }

  #send(op: number, content: unknown): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify({ op, d: content }));
  }
}
