/** A person at an IRC server, with a socket and no library. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { Ngircd } from "../../servers/ngircd.ts";

/** Pause before the nick is asked for again, ms. */
const RETRY_MS = 200;
/** How long the server may take to close a connection, ms. */
const CLOSES_MS = 2_000;
const TRIES = 1_200;

export class IrcPerson {
  readonly nick: string;
  /** Lines as they arrived. */
  readonly lines: string[] = [];
  readonly #server: Ngircd;
  #socket: Socket | undefined;
  #pings = 0;

  constructor(nick: string, server: Ngircd) {
    this.nick = nick;
    this.#server = server;
  }

  async connect(): Promise<void> {
    const socket = connect(this.#server.port, "127.0.0.1");
    this.#socket = socket;
    socket.on("error", () => undefined);
    await once(socket, "connect");
    const lines = createInterface(socket);
    // A server that ends the connection is seen by what does not come.
    lines.on("error", () => undefined);
    lines.on("line", (line) => {
      if (line.startsWith("PING")) this.send(line.replace("PING", "PONG"));
      // The person of the test before may not be gone yet.
      if (/ 433 /.test(line)) setTimeout(() => this.send(`NICK ${this.nick}`), RETRY_MS);
      this.lines.push(line);
    });
    this.send(`PASS ${Ngircd.password}`);
    this.send(`NICK ${this.nick}`);
    this.send(`USER ${this.nick} 0 * :${this.nick}`);
    await this.#until(() => this.lines.some((line) => / 376 /.test(line)), "registered");
  }

  send(line: string): void {
    if (this.#socket?.writable === true) this.#socket.write(`${line}\r\n`);
  }

  say(to: string, text: string): void {
    this.send(`PRIVMSG ${to} :${text}`);
  }

  /** Waits until the server has worked through what was sent. */
  async settled(): Promise<void> {
    this.#pings += 1;
    const token = `t${this.#pings}`;
    this.send(`PING ${token}`);
    await this.#until(
      () => this.lines.some((line) => line.includes(" PONG ") && line.endsWith(token)),
      "PONG",
    );
  }

  /** Texts that a nick sent to this person, or to a channel. */
  got(from: string, to: string = this.nick): string[] {
    return this.lines.flatMap((line) => {
      const [, nick, target, text = ""] = /^:([^!]+)![^ ]+ PRIVMSG ([^ ]+) :([^]*)$/.exec(line) ?? [];
      return nick === from && target === to ? [text] : [];
    });
  }

  async until(from: string, count: number, to?: string): Promise<string[]> {
    await this.#until(() => this.got(from, to).length >= count, `${count} messages of ${from}`);
    return this.got(from, to);
  }

  /** Waits until a nick has sent a text that fits; returns it. */
  async untilSeen(from: string, wanted: RegExp): Promise<string> {
    const found = (): string | undefined => this.got(from).find((text) => wanted.test(text));
    await this.#until(() => found() !== undefined, String(wanted));
    return found() ?? "";
  }

  /** Waits until the server shows that a nick has joined a channel where this person is. */
  async joins(nick: string, channel: string): Promise<void> {
    const joined = new RegExp(`^:${nick}![^ ]+ JOIN :?${channel}$`);
    await this.#until(() => this.lines.some((line) => joined.test(line)), `${nick} in ${channel}`);
  }

  /** Fails where nothing more arrives: a busy machine may take long for each line. */
  async #until(isThere: () => boolean, what: string): Promise<void> {
    let { length } = this.lines;
    for (let tries = 0; !isThere(); tries += 1) {
      if (this.lines.length > length) tries = 0;
      ({ length } = this.lines);
      if (tries > TRIES)
        throw new Error(`${this.nick} waits for: ${what}; it got: ${this.lines.slice(-3).join(" | ")}`);
      await pause(25);
    }
  }

  /** Waits until the server shows the nick as connected, or as gone. */
  async sees(nick: string, isThere = true): Promise<void> {
    for (;;) {
      const answer = (await this.#answer(`ISON ${nick}`, "303")).at(-1);
      if (answer?.toLowerCase().includes(`:${nick}`) === isThere) return;
      await pause(50);
    }
  }

  /** Waits until the server lists a nick in a channel. */
  async seesIn(nick: string, channel: string): Promise<void> {
    const listed = new RegExp(` 353 .*:(?:.*[ @+])?${nick}(?: |$)`);
    while (!(await this.#answer(`NAMES ${channel}`, "366")).some((line) => listed.test(line)))
      await pause(50);
  }

  /** What arrives after a command, up to its last reply. */
  async #answer(command: string, last: string): Promise<string[]> {
    const from = this.lines.length;
    this.send(command);
    const end = (): number => this.lines.findIndex((line, at) => at >= from && line.includes(` ${last} `));
    await this.#until(() => end() >= 0, command);
    return this.lines.slice(from, end() + 1);
  }

  async end(): Promise<void> {
    const socket = this.#socket;
    if (!socket || socket.closed) return;
    const closed = once(socket, "close");
    if (socket.writable) socket.end("QUIT\r\n");
    // After a line that is too long this server neither closes the connection nor reads from it.
    const timer = setTimeout(() => socket.destroy(), CLOSES_MS);
    await closed;
    clearTimeout(timer);
  }
}
