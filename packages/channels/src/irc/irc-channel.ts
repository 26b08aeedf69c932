/**
 * IRC, which keeps nothing: what is written while the host is away is lost, and a line that a cut swallowed is not known. So it promises
 * at-most-once, and reports each time of which it does not know that all arrived: from the last ping that was answered, since what the server
 * had passed on before that came before the answer. An answer is sent as lines of 512 bytes at the pace that servers allow.
 */
import { errorText } from "@pagurus/core/data/error-text";
import { randomUUID } from "node:crypto";
import { SYSTEM_CLOCK, type Clock } from "@pagurus/core/data/clock";
import type { ChannelConfig } from "@pagurus/core/config/config-types";
import type {
  Channel,
  ChannelCapabilities,
  ChannelConnection,
  ChannelPort,
  IncomingMessage,
  OutgoingMessage,
} from "@pagurus/contract/channel/channel";
import { isPagurusError } from "@pagurus/contract/errors";
import type { ChannelParts } from "../channel-parts.ts";
import { channelFailure, channelRefusal } from "../channel-failure.ts";
import { IrcJoins } from "./irc-joins.ts";
import { isAbout, linesOf, plainLineText, type IrcLine } from "./irc-line.ts";
import { logIn, type IrcSession } from "./irc-login.ts";
import { IrcPeople, nickOf } from "./irc-people.ts";
import { ircSettings, type IrcSettings } from "./irc-settings.ts";
import { IrcSocket } from "./irc-socket.ts";

/** Longest text of one message, characters: about ten lines, which take 12 seconds. */
const MOST_CHARS = 4_000;
/** A line as the server passes it on, with its end, bytes. */
const LINE_BYTES = 512;
/** Longest user and host names that a server puts before a line, with `:`, `!`, `~`, `@` and a space. */
const SOURCE_BYTES = 10 + 63 + 5;
/** Interval at which the time of the connection is kept, ms; after a message it is shorter. */
const SEEN_MS = 30_000;
const SEEN_AFTER_MESSAGE_MS = 1_000;
/** Messages that wait to be taken; a server that is meant well passes on a few a second. */
const MOST_WAITING = 1_000;
/** Errors that refuse a message. */
const REFUSALS = new Set([
  "401",
  "402",
  "403",
  "404",
  "405",
  "407",
  "411",
  "413",
  "414",
  "415",
  "477",
  "486",
  "489",
  "531",
]);

/** Throws `config_invalid`, `credential_missing`. */
export function createIrcChannel(
  id: string,
  config: ChannelConfig,
  env: Readonly<Record<string, string | undefined>>,
  { clock = SYSTEM_CLOCK }: ChannelParts = {},
): Channel {
  const settings = ircSettings(id, config, env);
  return {
    id,
    kind: "irc",
    connect: (port, signal) => IrcConnection.open({ settings, port, clock }, signal),
  };
}

interface IrcParts {
  settings: IrcSettings;
  port: ChannelPort;
  clock: Clock;
}

class IrcConnection implements ChannelConnection {
  readonly capabilities: ChannelCapabilities = {
    inbound: "at-most-once",
    outbound: "at-most-once",
    maxChars: MOST_CHARS,
  };
  readonly ended: Promise<string>;
  readonly #settings: IrcSettings;
  readonly #clock: Clock;
  readonly #socket: IrcSocket;
  readonly #port: ChannelPort;
  readonly #people: IrcPeople;
  readonly #joins: IrcJoins;
  readonly #channelTypes: string;
  #nick: string;
  /** Up to this time everything has arrived, ISO 8601. */
  #seenUntil = "";
  #seeing: (() => void) | undefined;
  #isSeenSoon = false;
  #reading: Promise<void> = Promise.resolve();
  /** Messages that are not taken so far. */
  #waiting = 0;
  #isFlooded = false;

  private constructor({ settings, port, clock }: IrcParts, socket: IrcSocket, session: IrcSession) {
    this.#settings = settings;
    this.#clock = clock;
    this.#socket = socket;
    this.#port = port;
    this.#people = new IrcPeople(socket, session.capabilities.has("account-tag"));
    this.#joins = new IrcJoins(socket, settings.join, (sentence) => port.missed(sentence), clock);
    this.#nick = session.nick;
    this.#channelTypes = session.channelTypes;
    // What arrived is written before the next connection reads the cursor.
    this.ended = socket.ended.then(async (reason) => {
      await this.#reading;
      return reason;
    });
  }

  static async open(parts: IrcParts, signal: AbortSignal): Promise<IrcConnection> {
    const { settings, clock } = parts;
    const { id, host } = settings;
    const socket = new IrcSocket(settings, clock);
    const onAbort = (): void => socket.close("the host stops");
    signal.addEventListener("abort", onAbort, { once: true });
    void socket.ended.then(() => signal.removeEventListener("abort", onAbort));
    if (signal.aborted) onAbort();
    try {
      const session = await logIn(socket, settings, clock);
      const connection = new IrcConnection(parts, socket, session);
      await connection.#begin(session);
      return connection;
    } catch (error) {
      socket.close("the start failed");
      throw channelFailure(id, `cannot log in at ${host}`, error);
    }
  }

  async #begin({ early }: IrcSession): Promise<void> {
    const since = this.#port.cursor;
    // Until the report is made nothing moves the cursor: no message that arrives, and no ping after it.
    this.#seenUntil = since ?? this.#time();
    this.#isSeenSoon = true;
    this.#socket.listen((line) => this.#take(line));
    for (const line of early) this.#take(line);
    await this.#joins.joinAll();
    const now = this.#time();
    if (since !== undefined)
      this.#port.missed(
        `Not connected at some time from ${since} to ${now}: IRC keeps nothing, so what was written then may not have arrived.`,
      );
    await this.#socket.ping();
    this.#arrivedUntil(now);
    await this.#reading;
    this.#socket.throwIfEnded();
    this.#isSeenSoon = false;
    this.#seeLater(SEEN_MS);
    void this.#socket.ended.then(() => this.#seeing?.());
  }

  #time(): string {
    return new Date(this.#clock.now()).toISOString();
  }

  /** Reports, once for each flood. */
  #dropped(): void {
    if (this.#isFlooded) return;
    this.#isFlooded = true;
    this.#port.missed(`More than ${MOST_WAITING} lines came at once; those after them were not read.`);
  }

  #seeLater(ms: number): void {
    this.#seeing?.();
    if (this.#socket.isOpen) this.#seeing = this.#clock.after(ms, () => void this.#see(), { ref: false });
  }

  /** What the server passed on before it got the ping has arrived when it answers. */
  async #see(): Promise<void> {
    const now = this.#time();
    this.#isSeenSoon = false;
    try {
      await this.#socket.ping();
    } catch {
      // The connection has ended.
      return;
    }
    this.#arrivedUntil(now);
    if (!this.#isSeenSoon) this.#seeLater(SEEN_MS);
  }

  #arrivedUntil(time: string): void {
    this.#inOrder(() => {
      this.#seenUntil = time;
      return this.#port.receive(undefined, time);
    });
  }

  #take(line: IrcLine): void {
    const { command, source, params } = line;
    const isOwn = nickOf(source).toLowerCase() === this.#nick.toLowerCase();
    if (command === "NICK" && isOwn) this.#nick = params[0] ?? this.#nick;
    const [channel = "", kicked = ""] = params;
    const isOut = command === "KICK" && kicked.toLowerCase() === this.#nick.toLowerCase();
    // Servers may also part a client that has not asked for it.
    if (isOut || (command === "PART" && isOwn))
      this.#joins.ended(channel, `${command} of ${nickOf(source)}: ${params.at(-1) ?? ""}`);
    // Notices are never answered, so two programs cannot answer each other forever.
    if (command !== "PRIVMSG" || isOwn || !source.includes("!")) return;
    const text = spokenText(params[1] ?? "", nickOf(source));
    if (text === "") return;
    if (this.#waiting >= MOST_WAITING) {
      this.#dropped();
      return;
    }
    if (!this.#isSeenSoon) this.#seeLater(SEEN_AFTER_MESSAGE_MS);
    this.#isSeenSoon = true;
    this.#waiting += 1;
    this.#inOrder(async () => {
      this.#waiting -= 1;
      if (this.#waiting === 0) this.#isFlooded = false;
      const message = this.#messageOf(line, await this.#people.senderOf(line), text);
      await this.#port.receive(message, this.#seenUntil);
    });
  }

  #inOrder(work: () => Promise<void>): void {
    this.#reading = this.#reading.then(async () => {
      try {
        await work();
      } catch (error) {
        this.#socket.close(errorText(error));
      }
    });
  }

  #messageOf({ source, params, tags }: IrcLine, from: string, text: string): IncomingMessage {
    const [target = ""] = params;
    const message = { id: tags["msgid"] ?? randomUUID(), from, name: nickOf(source) };
    if (!this.#channelTypes.includes(target.charAt(0))) return { ...message, text: asCommand(text) };
    const group = target.toLowerCase();
    const name = this.#nick.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
    const spoken = new RegExp(`^@?${name}[:,]?\\s+`, "i");
    const isMention = new RegExp(`(?<![\\p{L}\\p{N}_-])${name}(?![\\p{L}\\p{N}_-])`, "iu").test(text);
    return { ...message, group, isMention, text: asCommand(text.replace(spoken, "")) };
  }

  async send({ to, isGroup, text }: OutgoingMessage): Promise<void> {
    const { id } = this.#settings;
    try {
      const target = isGroup ? to : await this.#people.nickOf(to);
      if (target === undefined) throw channelRefusal(id, `${to} is not there`);
      const space = LINE_BYTES - SOURCE_BYTES - Buffer.byteLength(`${this.#nick}PRIVMSG ${target} :\r\n`);
      const lines = linesOf(text, space);
      const replies = await this.#socket.settle(lines.map((line) => ["PRIVMSG", target, line] as const));
      // A channel that is joined meanwhile may be refused with the same numbers.
      const refused = replies.find((line) => REFUSALS.has(line.command) && isAbout(line, [target]));
      if (refused) throw channelRefusal(id, refused.params.slice(1).join(" "));
    } catch (error) {
      if (isPagurusError(error) && error.code === "channel_refused") throw error;
      this.#socket.close(errorText(error));
      throw channelFailure(id, "could not send a message", error);
    }
  }

  async close(): Promise<void> {
    this.#socket.now("QUIT", "");
    this.#socket.close("it was closed");
    await this.#reading;
  }
}

/** The text without formatting; of the requests that clients hide in texts only an action is one. */
function spokenText(text: string, nick: string): string {
  const [, kind, rest = ""] = /^\u0001(\S*) ?([^\u0001]*)\u0001?$/.exec(text) ?? [];
  if (kind === undefined) return plainLineText(text);
  return kind === "ACTION" ? `* ${nick} ${plainLineText(rest)}` : "";
}

/** Clients take `/name` for themselves, so `!name` is a command here. */
function asCommand(text: string): string {
  return text.replace(/^!(?=[a-z])/i, "/");
}
