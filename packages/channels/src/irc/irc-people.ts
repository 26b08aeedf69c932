/**
 * Who is who on IRC. A nick proves nothing: anyone can take it. Where the server knows that someone has logged in, the address is
 * `account:<name>`; else it is `nick!user@host`, which is as good as that host. An answer goes to a nick only while the server says that
 * it is still the same person.
 */
import type { IrcLine } from "./irc-line.ts";
import type { IrcSocket } from "./irc-socket.ts";

const ACCOUNT = "account:";
/** How long the reply to a WHOIS is used again, ms. */
const KNOWN_MS = 30_000;
const MOST_KNOWN = 1_000;

interface Person {
  nick: string;
  mask: string;
  account: string | undefined;
}

export class IrcPeople {
  readonly #socket: IrcSocket;
  readonly #hasAccountTag: boolean;
  /** Accounts by mask, for servers without the tag. */
  readonly #known = new Map<string, { account: string | undefined; at: number }>();
  /** Nick that last wrote, by account. */
  readonly #nicks = new Map<string, string>();

  constructor(socket: IrcSocket, hasAccountTag: boolean) {
    this.#socket = socket;
    this.#hasAccountTag = hasAccountTag;
  }

  /** Address of who sent a line. Throws when the connection has ended. */
  async senderOf({ source, tags }: IrcLine): Promise<string> {
    const nick = nickOf(source);
    const account = this.#hasAccountTag ? tags["account"] : await this.#accountOf(source, nick);
    if (account === undefined || account === "" || account === "*") return source;
    if (this.#nicks.size > MOST_KNOWN) this.#nicks.clear();
    this.#nicks.set(account.toLowerCase(), nick);
    return `${ACCOUNT}${account.toLowerCase()}`;
  }

  async #accountOf(mask: string, nick: string): Promise<string | undefined> {
    const known = this.#known.get(mask);
    if (known && performance.now() - known.at < KNOWN_MS) return known.account;
    const person = await this.#whois(nick);
    const account = person?.mask === mask ? person.account : undefined;
    if (this.#known.size > MOST_KNOWN) this.#known.clear();
    this.#known.set(mask, { account, at: performance.now() });
    return account;
  }

  /** Nick of an address; undefined where that person is not there now. Throws when the connection has ended. */
  async nickOf(address: string): Promise<string | undefined> {
    const isAccount = address.startsWith(ACCOUNT);
    const account = address.slice(ACCOUNT.length).toLowerCase();
    const nick = isAccount ? (this.#nicks.get(account) ?? account) : nickOf(address);
    const person = await this.#whois(nick);
    if (!person) return undefined;
    const isSame = isAccount ? person.account?.toLowerCase() === account : person.mask === address;
    return isSame ? person.nick : undefined;
  }

  async #whois(nick: string): Promise<Person | undefined> {
    if (!/^[^\s,*?!@:]+$/.test(nick)) return undefined;
    const replies = await this.#socket.settle([["WHOIS", nick]]);
    const about = (command: string): readonly string[] | undefined =>
      replies.find((line) => line.command === command && line.params[1]?.toLowerCase() === nick.toLowerCase())
        ?.params;
    const [, name, user, host] = about("311") ?? [];
    if (name === undefined || user === undefined || host === undefined) return undefined;
    return { nick: name, mask: `${name}!${user}@${host}`, account: about("330")?.[2] };
  }
}

export function nickOf(source: string): string {
  return source.split("!")[0] ?? source;
}
