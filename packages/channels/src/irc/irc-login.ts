/** Registers at an IRC server: capabilities, SASL, nick. */
import type { Clock } from "@pagurus/core/data/clock";
import type { IrcLine } from "./irc-line.ts";
import type { IrcSettings } from "./irc-settings.ts";
import type { IrcSocket } from "./irc-socket.ts";

const LOGIN_MS = 30_000;
const WANTED = ["account-tag", "message-tags"];
/** Attempts with another nick while the wanted one is in use. */
const MOST_NICKS = 4;
/** Replies that end the attempt: the nick or the password is refused, or this host is banned. */
const REFUSALS = new Set([
  "432",
  "436",
  "437",
  "461",
  "462",
  "463",
  "464",
  "465",
  "902",
  "904",
  "905",
  "906",
]);
const SASL_CHUNK = 400;

export interface IrcSession {
  nick: string;
  capabilities: ReadonlySet<string>;
  /** First characters of the names of channels. */
  channelTypes: string;
  /** Messages and changes of nicks that arrived before the registration had been read to its end. */
  early: readonly IrcLine[];
}

class Login {
  readonly #socket: IrcSocket;
  readonly #settings: IrcSettings;
  readonly #done = Promise.withResolvers<IrcSession>();
  readonly #offered: string[] = [];
  #capabilities: readonly string[] = [];
  #nick: string;
  #nicks = 0;
  #channelTypes = "#&";
  readonly #early: IrcLine[] = [];

  constructor(socket: IrcSocket, settings: IrcSettings) {
    this.#socket = socket;
    this.#settings = settings;
    this.#nick = settings.nick;
  }

  async run(clock: Clock): Promise<IrcSession> {
    const { nick, serverPassword } = this.#settings;
    const socket = this.#socket;
    const stop = socket.listen((line) => this.#take(line));
    const cancel = clock.after(LOGIN_MS, () => this.#fail("the server does not answer"));
    void socket.ended.then((reason) => this.#fail(reason));
    if (serverPassword !== undefined) socket.now("PASS", serverPassword);
    socket.now("CAP", "LS", "302");
    socket.now("NICK", nick);
    socket.now("USER", nick, "0", "*", nick);
    try {
      return await this.#done.promise;
    } finally {
      cancel();
      stop();
    }
  }

  #fail(reason: string): void {
    this.#done.reject(new Error(reason));
  }

  #take(line: IrcLine): void {
    const { command, params } = line;
    if (command === "PRIVMSG" || command === "NICK") this.#early.push(line);
    else if (REFUSALS.has(command)) this.#fail(params.slice(1).join(" "));
    else if (command === "CAP") this.#cap(params);
    else if (command === "AUTHENTICATE") this.#authenticate();
    else if (command === "903") this.#socket.now("CAP", "END");
    else if (command === "433") this.#otherNick();
    else if (command === "001") this.#nick = params[0] ?? this.#nick;
    else if (command === "005") this.#support(params);
    else if (command === "376" || command === "422") this.#ready();
  }

  #ready(): void {
    const capabilities = new Set(this.#capabilities);
    // A server that knows no capabilities registers us without the login.
    if (this.#settings.login && !capabilities.has("sasl")) this.#fail("the server has no SASL login");
    else {
      const [nick, channelTypes, early] = [this.#nick, this.#channelTypes, this.#early];
      this.#done.resolve({ nick, capabilities, channelTypes, early });
    }
  }

  #cap([, kind, ...rest]: readonly string[]): void {
    const names = (rest.at(-1) ?? "").split(" ").filter((name) => name !== "");
    if (kind === "LS") {
      this.#offered.push(...names);
      if (rest.length > 1 && rest[0] === "*") return;
      this.#request();
    } else if (kind === "ACK") {
      this.#capabilities = names;
      if (names.includes("sasl") && this.#settings.login) this.#socket.now("AUTHENTICATE", "PLAIN");
      else this.#socket.now("CAP", "END");
    } else if (kind === "NAK") this.#socket.now("CAP", "END");
  }

  #request(): void {
    const offered = new Map(this.#offered.map((text) => [text.split("=")[0], text.split("=")[1] ?? ""]));
    const mechanisms = offered.get("sasl");
    const hasPlain =
      mechanisms !== undefined && (mechanisms === "" || mechanisms.split(",").includes("PLAIN"));
    const names = WANTED.filter((name) => offered.has(name));
    if (this.#settings.login && hasPlain) names.push("sasl");
    if (names.length > 0) this.#socket.now("CAP", "REQ", names.join(" "));
    else this.#socket.now("CAP", "END");
  }

  #authenticate(): void {
    const { account = "", password = "" } = this.#settings.login ?? {};
    const text = Buffer.from(`${account}\0${account}\0${password}`).toString("base64");
    for (let at = 0; at < text.length; at += SASL_CHUNK)
      this.#socket.now("AUTHENTICATE", text.slice(at, at + SASL_CHUNK));
    if (text.length % SASL_CHUNK === 0) this.#socket.now("AUTHENTICATE", "+");
  }

  #otherNick(): void {
    this.#nicks += 1;
    if (this.#nicks > MOST_NICKS) this.#fail(`the nick ${this.#settings.nick} is in use`);
    this.#nick = `${this.#settings.nick}${"_".repeat(this.#nicks)}`;
    this.#socket.now("NICK", this.#nick);
  }

  #support(params: readonly string[]): void {
    const types = params.find((param) => param.startsWith("CHANTYPES="));
    if (types !== undefined) this.#channelTypes = types.slice("CHANTYPES=".length);
  }
}

/** Throws an error with the server's reason. */
export function logIn(socket: IrcSocket, settings: IrcSettings, clock: Clock): Promise<IrcSession> {
  return new Login(socket, settings).run(clock);
}
