/** An IRC server that knows accounts (CAP, SASL, account-tag, WHOIS), which ngircd does not. */
import { once } from "node:events";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { parseLine } from "../../packages/channels/src/irc/irc-line.ts";
import { until } from "../runner/until.ts";

export interface Someone {
  user: string;
  account?: string;
}

export class IrcService {
  /** Lines of the client, in order. */
  readonly lines: string[] = [];
  /** Who is there, by nick. */
  readonly people = new Map<string, Someone>();
  /** Sent in one piece with the end of the registration. */
  early: string[] = [];
  capabilities = "sasl=PLAIN account-tag message-tags server-time";
  /** Number of the reply that refuses each join. */
  joinRefusal: string | undefined;
  /** Sent after each join. */
  joinReplies: string[] = [];
  readonly #server: Server;
  #syncs = 0;
  /** The connection that wrote last. */
  socket: Socket | undefined;

  constructor() {
    this.#server = createServer((socket) => {
      socket.on("error", () => undefined);
      this.socket = socket;
      createInterface(socket).on("line", (line) => {
        this.socket = socket;
        this.#take(line);
      });
    });
  }

  async start(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return `irc://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  send(...lines: string[]): void {
    for (const line of lines) this.socket?.write(`${line}\r\n`);
  }

  /** Resolves when all that the client sent up to now was answered, and the client has read the answers. */
  async read(): Promise<void> {
    for (const _way of ["what it sent", "the answers"]) {
      this.#syncs += 1;
      const pong = `PONG sync-${this.#syncs}`;
      this.send(`PING sync-${this.#syncs}`);
      await until(() => this.lines.some((line) => line.replace(":", "") === pong), `no ${pong}`);
    }
  }

  #take(text: string): void {
    this.lines.push(text);
    const { command = "", params = [] } = parseLine(text) ?? {};
    const [first = "", second = ""] = params;
    if (command === "CAP" && first === "LS") this.#offer();
    if (command === "CAP" && first === "REQ") this.send(`:irc.test CAP * ACK :${second}`);
    if (command === "AUTHENTICATE" && first === "PLAIN") this.send("AUTHENTICATE +");
    else if (command === "AUTHENTICATE") this.#login(first);
    if (command === "CAP" && first === "END") this.#welcome();
    if (command === "PING") this.send(`:irc.test PONG irc.test :${first}`);
    if (command === "WHOIS") this.#whois(first);
    if (command === "JOIN" && this.joinRefusal !== undefined)
      this.send(`:irc.test ${this.joinRefusal} crab ${first} :not now`);
    if (command === "JOIN") this.send(...this.joinReplies);
    if (command === "PRIVMSG" && !first.startsWith("#") && !this.people.has(first))
      this.send(`:irc.test 401 crab ${first} :No such nick`);
  }

  /** In two lines, as a server with many does. */
  #offer(): void {
    const [first = "", ...rest] = this.capabilities.split(" ");
    this.send(`:irc.test CAP * LS * :${first}`, `:irc.test CAP * LS :${rest.join(" ")}`);
  }

  #login(text: string): void {
    const isRight = Buffer.from(text, "base64").toString() === "crab\0crab\0secret";
    this.send(isRight ? ":irc.test 903 crab :Logged in" : ":irc.test 904 crab :SASL authentication failed");
  }

  #welcome(): void {
    this.send(":irc.test 001 crab :Welcome", ":irc.test 005 crab CHANTYPES=# NICKLEN=20 :are supported");
    this.socket?.write(`${[":irc.test 376 crab :End of MOTD", ...this.early].join("\r\n")}\r\n`);
  }

  #whois(nick: string): void {
    const someone = this.people.get(nick);
    if (!someone) this.send(`:irc.test 401 crab ${nick} :No such nick`);
    else this.send(`:irc.test 311 crab ${nick} ${someone.user} host.test * :${nick}`);
    if (someone?.account !== undefined)
      this.send(`:irc.test 330 crab ${nick} ${someone.account} :is logged in as`);
    this.send(`:irc.test 318 crab ${nick} :End of WHOIS`);
  }

  /** What the client sent to a nick or a channel. */
  sentTo(target: string): string[] {
    return this.lines.flatMap((line) => {
      const { command, params = [] } = parseLine(line) ?? {};
      return command === "PRIVMSG" && params[0] === target ? [params[1] ?? ""] : [];
    });
  }

  close(): void {
    this.socket?.destroy();
    this.#server.close();
  }
}
